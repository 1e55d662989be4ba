// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/coll/collective.h"

#include <algorithm>

#include "mpi11/ft/failures.h"

namespace torusmp::mpi {

void Call::complain() const {
    const core::Error error = schedule_->error();
    const int code = schedule_->sizes_differ() ? MPI_ERR_TRUNCATE : class_of_fault(error);
    fail(code, "{}", schedule_->failure());
}

collectives::Group& SchedulePools::both(Communicator& comm) {
    if (comm.schedules == nullptr) comm.schedules = std::make_shared<SchedulePools>();
    SchedulePools& pools = *comm.schedules;
    if (pools.both_ == nullptr) {
        std::vector<Rank> members = comm.members();
        members.insert(members.end(), comm.peers().begin(), comm.peers().end());
        std::sort(members.begin(), members.end());
        pools.both_ = std::make_unique<collectives::Group>(
            comm.runtime(), std::move(members), comm.context(Traffic::leaders),
            comm.world()->process().collective_policy());
    }
    return *pools.both_;
}

void refuse_inter_in_place(const Communicator& comm, const void* send, const void* receive) {
    if (comm.inter() && (in_place(send) || in_place(receive)))
        fail(MPI_ERR_BUFFER, "found MPI_IN_PLACE, which inter-communicators do not support");
}

void refuse_alias(const char* other) {
    fail(MPI_ERR_BUFFER, "the send buffer is also {}, expected MPI_IN_PLACE or other memory",
         other);
}

void check_inter_root(const Communicator& comm, int root) {
    if (root == MPI_ROOT || root == MPI_PROC_NULL) return;
    if (unsigned(root) >= unsigned(comm.remote_size()))
        fail(
            MPI_ERR_ROOT,
            "found root {}, expected MPI_ROOT, MPI_PROC_NULL or 0 to {}, a rank of the other group",
            root, comm.remote_size() - 1);
}

}  // namespace torusmp::mpi
