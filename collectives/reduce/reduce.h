// SPDX-License-Identifier: BSD-3-Clause
// Reduce to one member.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {
namespace reduce {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* result = nullptr;  // at the root, may be `values`; elsewhere not to be written to
    std::byte* values = nullptr;  // written to only where it is the result
    std::size_t count = 0;
    Operation operation{};
    int root = 0;
    Group* grid = nullptr;  // the group, or its members in their order
    std::size_t bytes() const { return count * operation.element; }
};
const AlgorithmsFor<Arguments>& algorithms();

class ByHosts;

}  // namespace reduce

class Reduce final : public Collective<reduce::Arguments> {
  public:
    explicit Reduce(Group& group);
    ~Reduce();

    // `count` elements at `values` of each member, combined into `result` of the root, a member
    // number; null or `values` itself there: in place. The others' `result` is ignored. algorithm:
    // a row of reduce::algorithms(), or of the next one that fits where the operation rules it out;
    // null: as the settings say.
    void start(void* result, const void* values, std::size_t count, const Operation& operation,
               int root, const AlgorithmRow* algorithm = nullptr);

  private:
    std::unique_ptr<reduce::ByHosts> by_hosts_;
};

}  // namespace torusmp::collectives
