// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <iostream>

int main(int argc, char** argv) {
    int rank, all = 0;
    const int one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) std::cout << "C++ sum " << all << std::endl;
    MPI_Finalize();
}
