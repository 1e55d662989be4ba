// SPDX-License-Identifier: BSD-3-Clause
// The calls about dead members and revocation, and the names MPIX_ of all calls of this chapter, as
// Open MPI has them in mpi-ext.h.
#include "mpi11/comm/group.h"
#include "mpi11/error/check.h"
#include "mpi11/file/file.h"
#include "mpi11/ft/failures.h"
#include "mpi11/mpi-ext.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {
namespace {

void give_dead(Communicator& comm, MPI_Group* failedgrp) {
    check_output("failedgrp", failedgrp);
    *failedgrp = make_group(comm.world()->roster(), Members(dead_members(comm)), comm.session);
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_revoke = PMPI_Comm_revoke
int PMPI_Comm_revoke(MPI_Comm comm) {
    return api("MPI_Comm_revoke", comm, [&](Communicator& c) { revoke(c); });
}

#pragma weak MPI_Comm_is_revoked = PMPI_Comm_is_revoked
int PMPI_Comm_is_revoked(MPI_Comm comm, int* flag) {
    return api("MPI_Comm_is_revoked", comm, [&](Communicator& c) {
        check_output("flag", flag);
        if (!is_revoked(c)) c.runtime().progress();
        *flag = is_revoked(c) ? 1 : 0;
    });
}

#pragma weak MPI_Comm_get_failed = PMPI_Comm_get_failed
int PMPI_Comm_get_failed(MPI_Comm comm, MPI_Group* failedgrp) {
    return api("MPI_Comm_get_failed", comm, [&](Communicator& c) { give_dead(c, failedgrp); });
}

#pragma weak MPI_Comm_ack_failed = PMPI_Comm_ack_failed
int PMPI_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked) {
    return api("MPI_Comm_ack_failed", comm, [&](Communicator& c) {
        check_output("num_acked", num_acked);
        if (num_to_ack < 0) fail(MPI_ERR_ARG, "num_to_ack is {}, expected 0 or more", num_to_ack);
        *num_acked = acknowledge(c, num_to_ack);
    });
}

#pragma weak MPI_Win_revoke = PMPI_Win_revoke
int PMPI_Win_revoke(MPI_Win win) {
    return window_api("MPI_Win_revoke", win, [&](Window& window) { revoke(*window.comm); });
}

#pragma weak MPI_Win_get_failed = PMPI_Win_get_failed
int PMPI_Win_get_failed(MPI_Win win, MPI_Group* failedgrp) {
    return window_api("MPI_Win_get_failed", win,
                      [&](Window& window) { give_dead(*window.comm, failedgrp); });
}

#pragma weak MPI_File_revoke = PMPI_File_revoke
int PMPI_File_revoke(MPI_File fh) {
    return file_api("MPI_File_revoke", fh, [&](File& file) { revoke(*file.comm); });
}

// The calls of the first version of the proposal.
int PMPIX_Comm_failure_ack(MPI_Comm comm) {
    return api("MPIX_Comm_failure_ack", comm,
               [&](Communicator& c) { acknowledge(c, int(dead_members(c).size())); });
}

int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failedgrp) {
    return api("MPIX_Comm_failure_get_acked", comm, [&](Communicator& c) {
        check_output("failedgrp", failedgrp);
        *failedgrp = make_group(c.world()->roster(), Members(acknowledged_members(c)), c.session);
    });
}

#pragma weak MPIX_Comm_failure_ack = PMPIX_Comm_failure_ack
#pragma weak MPIX_Comm_failure_get_acked = PMPIX_Comm_failure_get_acked

#define TORUSMP_SAME(Name, parameters, arguments) \
    int PMPIX_##Name parameters {                 \
        return PMPI_##Name arguments;             \
    }                                             \
    int MPIX_##Name parameters __attribute__((weak, alias("PMPIX_" #Name)));
TORUSMP_SAME(Comm_revoke, (MPI_Comm comm), (comm))
TORUSMP_SAME(Comm_is_revoked, (MPI_Comm comm, int* flag), (comm, flag))
TORUSMP_SAME(Comm_get_failed, (MPI_Comm comm, MPI_Group* failedgrp), (comm, failedgrp))
TORUSMP_SAME(Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int* num_acked),
             (comm, num_to_ack, num_acked))
TORUSMP_SAME(Win_revoke, (MPI_Win win), (win))
TORUSMP_SAME(Win_get_failed, (MPI_Win win, MPI_Group* failedgrp), (win, failedgrp))
TORUSMP_SAME(File_revoke, (MPI_File fh), (fh))
TORUSMP_SAME(Comm_agree, (MPI_Comm comm, int* flag), (comm, flag))
TORUSMP_SAME(Comm_iagree, (MPI_Comm comm, int* flag, MPI_Request* request), (comm, flag, request))
TORUSMP_SAME(Comm_shrink, (MPI_Comm comm, MPI_Comm* newcomm), (comm, newcomm))
TORUSMP_SAME(Comm_ishrink, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request),
             (comm, newcomm, request))
#undef TORUSMP_SAME
}
