// What a program leaves behind at MPI_Finalize: told where the setting mpi.check asks for it.
#pragma once

namespace torusmp::mpi {

// Prints a line for each request that nobody completed, each message that nobody received, and for
// the objects of each kind that nobody freed.
void list_leftovers();

}  // namespace torusmp::mpi
