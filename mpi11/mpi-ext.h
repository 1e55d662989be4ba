/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls for jobs that go on when processes die (User Level Failure Mitigation), under the names
 * that Open MPI 5 gives them, so that programs compile unchanged. mpi.h declares most of them under
 * their names in the proposal for the standard, MPI_Comm_revoke and so on; these here do the same.
 *
 * A job goes on after a death if it was started with torus-run --keep-going; then the attribute
 * MPIX_FT of a communicator is 1.
 *
 * Fortran has all of these in the modules mpi_ext and mpi_f08_ext and in mpif-ext.h, which are made
 * from this file.
 */
#ifndef TORUSMP_MPI_EXT_H
#define TORUSMP_MPI_EXT_H

#include "mpi.h"

#if defined(__GNUC__) || defined(__clang__)
#define TORUSMP_EXPORTED __attribute__((visibility("default")))
#else
#define TORUSMP_EXPORTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What programs test for. */
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPIX_COMM_GET_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ACK_FAILED 1
#define OMPI_HAVE_MPIX_COMM_ISHRINK 1

#define MPIX_ERR_PROC_FAILED MPI_ERR_PROC_FAILED
#define MPIX_ERR_PROC_FAILED_PENDING MPI_ERR_PROC_FAILED_PENDING
#define MPIX_ERR_REVOKED MPI_ERR_REVOKED
#define MPIX_FT MPI_FT

#define TORUSMP_EXTENSION(name, parameters)      \
    TORUSMP_EXPORTED int MPIX_##name parameters; \
    TORUSMP_EXPORTED int PMPIX_##name parameters;
/* clang-format off */
TORUSMP_EXTENSION(Comm_revoke, (MPI_Comm comm))
TORUSMP_EXTENSION(Comm_is_revoked, (MPI_Comm comm, int* flag))
TORUSMP_EXTENSION(Comm_shrink, (MPI_Comm comm, MPI_Comm* newcomm))
TORUSMP_EXTENSION(Comm_ishrink, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request))
TORUSMP_EXTENSION(Comm_failure_ack, (MPI_Comm comm))
TORUSMP_EXTENSION(Comm_failure_get_acked, (MPI_Comm comm, MPI_Group* failedgrp))
TORUSMP_EXTENSION(Comm_get_failed, (MPI_Comm comm, MPI_Group* failedgrp))
TORUSMP_EXTENSION(Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int* num_acked))
TORUSMP_EXTENSION(Comm_agree, (MPI_Comm comm, int* flags))
TORUSMP_EXTENSION(Comm_iagree, (MPI_Comm comm, int* flags, MPI_Request* request))
TORUSMP_EXTENSION(Win_revoke, (MPI_Win win))
TORUSMP_EXTENSION(Win_get_failed, (MPI_Win win, MPI_Group* failedgrp))
TORUSMP_EXTENSION(File_revoke, (MPI_File fh))
/* clang-format on */
#undef TORUSMP_EXTENSION

/* Puts new processes in the places of the dead members of an intra-communicator (not an MPI or ULFM
 * function). One collective call over the survivors: they shrink comm, start `command` with `argv`
 * once for each dead member, and get newcomm, which has the size and the order of comm: every
 * survivor has its rank, and each new process the rank of a dead one. comm may be revoked; it stays
 * as it is, and the caller frees it. newcomm inherits the error handler, and neither attributes nor
 * a topology.
 *
 * A new process calls the function, too: after MPI_Init with comm = MPI_COMM_NULL; it ignores
 * command, argv and info, and returns the same newcomm, once. Before that call, MPI_Comm_get_parent
 * returns an inter-communicator, and afterwards MPI_COMM_NULL, so a program sees at its start
 * whether it is a replacement. Its MPI_COMM_WORLD has only itself.
 *
 * command, argv and info are as in MPI_Comm_spawn (argv may be MPI_ARGV_NULL; info may have the
 * keys wdir and path). They are the same on all survivors, since any of them may start the
 * processes.
 *
 * If a process dies during the call, the survivors begin again and replace it, too. If the call
 * fails, it fails on all survivors: MPI_ERR_UNSUPPORTED_OPERATION without torus-run
 * --keep-going, and if survivors cannot reach each other; MPI_ERR_ARG if all members live;
 * MPI_ERR_SPAWN if the processes cannot be started; MPI_ERR_PROC_FAILED if a process dies in each
 * try; MPI_ERR_COMM for an inter-communicator, and for MPI_COMM_NULL in a process that is not new.
 * One thread of a process may call it at a time. */
TORUSMP_EXPORTED int torusmp_replace(MPI_Comm comm, const char* command, char* argv[],
                                     MPI_Info info, MPI_Comm* newcomm);
#undef TORUSMP_EXPORTED

#ifdef __cplusplus
}
#endif

#endif
