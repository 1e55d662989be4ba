// SPDX-License-Identifier: BSD-3-Clause
// Duplicates a communicator with its attributes (MPI-1.1, section 5.4.2): MPI_Comm_dup and its
// variants, in a separate file because they may also be non-blocking.
#pragma once

#include <functional>

#include "mpi11/environment/info.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

// Where the handle of the copy goes, once.
using GiveComm = std::function<void(MPI_Comm)>;

// The body of MPI_Comm_idup and, with hints, MPI_Comm_idup_with_info. The handle is given when the
// request is complete, after the call has returned.
int duplicate_later(const char* call, MPI_Comm comm, const MPI_Info* info, GiveComm give,
                    MPI_Request* request);

}  // namespace torusmp::mpi
