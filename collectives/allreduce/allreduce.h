// SPDX-License-Identifier: BSD-3-Clause
// Allreduce and barrier, dimension by dimension along the group's grid, the last dimension first.
//
// Every algorithm but `disjoint` adds the contributions of a line in the order of their
// coordinates, and takes the dimensions in the same order; `disjoint` adds along its trees. So the
// result has the same bits on every member, and in every run with the same layout and algorithm. An
// operation that is associative but not commutative runs over a grid of the members in member
// order, and never by `disjoint`.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {
namespace allreduce {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* result = nullptr;
    const std::byte* values = nullptr;  // may be the result
    std::size_t count = 0;
    Operation operation{};
    Group* grid = nullptr;  // the group, or its members in member order
    std::size_t bytes() const { return count * operation.element; }
};
const AlgorithmsFor<Arguments>& algorithms();

class ByHosts;

}  // namespace allreduce

class Allreduce final : public Collective<allreduce::Arguments> {
  public:
    explicit Allreduce(Group& group);
    ~Allreduce();

    // Combines `count` elements at `values` of each member into `result`, in place if both are the
    // same. `algorithm` is a row of allreduce::algorithms(), or null to let the settings choose; if
    // the operation rules it out, the next row that fits is used.
    void start(void* result, const void* values, std::size_t count, const Operation& operation,
               const AlgorithmRow* algorithm = nullptr);
    void start(void* buffer, std::size_t count, const Operation& operation,
               const AlgorithmRow* algorithm = nullptr) {
        start(buffer, buffer, count, operation, algorithm);
    }
    // Complete when all members have started it.
    void start_barrier();

  private:
    std::unique_ptr<allreduce::ByHosts> by_hosts_;
};

}  // namespace torusmp::collectives
