// SPDX-License-Identifier: BSD-3-Clause
// The objects that a program has not freed by MPI_Finalize, reported if the setting mpi.check asks
// for it.
#pragma once

namespace torusmp::mpi {

// Prints a line for each request that was not completed, each message that was not received, and
// for each kind of object of which some were not freed.
void report_leaks();

}  // namespace torusmp::mpi
