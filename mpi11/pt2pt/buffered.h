// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: messages wait in memory that the program has attached (MPI-1.1, section 3.6).
#pragma once

#include "core/layout/layout.h"
#include "mpi11/comm/communicator.h"

namespace torusmp::mpi {

// Copies the message into the attached buffer and sends it from there. Throws Failure with
// MPI_ERR_BUFFER if the buffer is full. dest may be MPI_PROC_NULL.
void send_buffered(const core::Buffer& message, Communicator& comm, int dest, int tag);

// Whether no message of the communicator is waiting.
bool buffered_sends_done(const Communicator& comm);

// Waits until all of them are sent, and detaches the buffer: at MPI_Finalize.
void finish_buffered_sends();

}  // namespace torusmp::mpi
