// SPDX-License-Identifier: BSD-3-Clause
// Reduce to one member.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {
namespace reduce {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* result = nullptr;  // at the root, may be `values`; must not be written elsewhere
    std::byte* values = nullptr;  // written only if it is the result
    std::size_t count = 0;
    Operation operation{};
    int root = 0;
    Group* grid = nullptr;  // the group, or its members in member order
    std::size_t bytes() const { return count * operation.element; }
};
const AlgorithmsFor<Arguments>& algorithms();

class ByHosts;

}  // namespace reduce

class Reduce final : public Collective<reduce::Arguments> {
  public:
    explicit Reduce(Group& group);
    ~Reduce();

    // Combines `count` elements at `values` of each member into `result` of the root, a member
    // number. The root reduces in place if its `values` is null or `result`. The others' `result`
    // is ignored. `algorithm` is a row of reduce::algorithms(), or null to let the settings choose;
    // if the operation rules it out, the next row that fits is used.
    void start(void* result, const void* values, std::size_t count, const Operation& operation,
               int root, const AlgorithmRow* algorithm = nullptr);

  private:
    std::unique_ptr<reduce::ByHosts> by_hosts_;
};

}  // namespace torusmp::collectives
