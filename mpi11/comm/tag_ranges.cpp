// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/tag_ranges.h"

#include <limits>
#include <utility>

#include "mpi11/comm/world.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {

core::Context TagRanges::context() {
    const SharedLock lock(mutex_);
    if (!context_) context_ = world_.claim_contexts();
    return *context_;
}

core::Tag TagRanges::take(int count) {
    const SharedLock lock(mutex_);
    std::vector<core::Tag>& returned = returned_[count];
    if (!returned.empty()) {
        const core::Tag first = returned.back();
        returned.pop_back();
        return first;
    }
    if (next_ > std::numeric_limits<core::Tag>::max() - count)
        fail(MPI_ERR_OTHER, "too many partitioned messages exist: free requests first");
    return std::exchange(next_, next_ + count);
}

void TagRanges::give(core::Tag first, int count) {
    const SharedLock lock(mutex_);
    returned_[count].push_back(first);
}

}  // namespace torusmp::mpi
