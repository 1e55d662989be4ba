// SPDX-License-Identifier: BSD-3-Clause
// What a program leaves behind at MPI_Finalize, reported if the setting mpi.check asks for it.
#pragma once

namespace torusmp::mpi {

// Prints a line for each request that was not completed, each message that was not received, and
// for the objects of each kind that were not freed.
void report_leaks();

}  // namespace torusmp::mpi
