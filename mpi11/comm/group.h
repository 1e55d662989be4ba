// SPDX-License-Identifier: BSD-3-Clause
// The object behind an MPI_Group (MPI-1.1, section 5.3).
//
// Immutable, so any thread may read it; it lives as long as its handle or any Reference to it.
// MPI_GROUP_EMPTY is predefined and always lives.
#pragma once

#include "mpi11/comm/communicator.h"
#include "mpi11/comm/members.h"
#include "mpi11/object.h"
#include "mpi11/session/session.h"

namespace torusmp::mpi {

class ProcessGroup : public Object {
  public:
    using Handle = MPI_Group;
    static constexpr Kind kind_of_class = Kind::group;
    static constexpr int error_class = MPI_ERR_GROUP;
    static inline const Handle null_handle = MPI_GROUP_NULL;
    static constexpr const char* null_name = "MPI_GROUP_NULL";
    static constexpr const char* noun = "group";

    ProcessGroup(std::shared_ptr<const Roster> whose, Members which, Reference<Session> of)
        : Object(kind_of_class),
          roster(std::move(whose)),
          members(std::move(which)),
          session(std::move(of)) {}

    const std::shared_ptr<const Roster> roster;  // of its job; null if it has no members
    const Members members;                       // machine ranks there
    const Reference<Session> session;            // from which it comes; null: from the world model
};

// The handle of a new group of these members; MPI_GROUP_EMPTY if there are none.
MPI_Group make_group(std::shared_ptr<const Roster> roster, Members members,
                     Reference<Session> session);
// Its members as machine ranks of a job, or of the job to which a communicator belongs; a process
// that is not in that job gets a number that no rank of the job has.
Members members_in(const World& world, MPI_Group group);
inline Members members_in(const Communicator& comm, MPI_Group group) {
    return members_in(*comm.world(), group);
}
// Called once, when MPI starts.
void make_predefined_group();

}  // namespace torusmp::mpi
