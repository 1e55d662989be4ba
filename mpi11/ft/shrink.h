// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_ishrink for callers whose handles are not those of C.
#pragma once

#include "mpi11/comm/duplicate.h"

namespace torusmp::mpi {

// The handle is given when the request is complete, after the call has returned.
int shrink_later(const char* call, MPI_Comm comm, GiveComm give, MPI_Request* request);

}  // namespace torusmp::mpi
