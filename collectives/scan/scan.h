// SPDX-License-Identifier: BSD-3-Clause
// Scan: each member gets the combination of the values of all members before it, in member order.
//
// The operation need not commute. The order in which values are combined depends only on the group
// and the size, so the bits are the same in every run with the same layout.
#pragma once

#include "collectives/algorithm/collective.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {

enum class ScanKind {
    inclusive,  // members 0 to this one
    exclusive   // members 0 to the one before; the buffer of member 0 is unchanged
};

namespace scan {

// The arguments of a call, as its algorithm sees them.
struct Arguments {
    std::byte* buffer = nullptr;
    std::size_t count = 0;
    Operation operation{};
    ScanKind kind = ScanKind::inclusive;
    std::size_t bytes() const { return count * operation.element; }
};
const AlgorithmsFor<Arguments>& algorithms();

}  // namespace scan

class Scan final : public Collective<scan::Arguments> {
  public:
    explicit Scan(Group& group) : Collective(group.ordered(), scan::algorithms()) {}
    ~Scan() = default;

    // Scans (MPI_Scan) `count` elements at `buffer` in place. `algorithm` is a row of
    // scan::algorithms(), or null to let the settings choose.
    void start(void* buffer, std::size_t count, const Operation& operation, ScanKind kind,
               const AlgorithmRow* algorithm = nullptr);
};

}  // namespace torusmp::collectives
