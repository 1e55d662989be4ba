// SPDX-License-Identifier: BSD-3-Clause
// The same as prints.c with std::cout, without a flush.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    std::cout << "before MPI_Init\n";
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::cout << "rank " << rank << " is here\n";
    std::ofstream(argv[1] + ("." + std::to_string(rank)));
    while (access(argv[1], F_OK) != 0) usleep(2000);
    if (argc > 2 && std::string(argv[2]) == "kill") raise(SIGKILL);
    std::cout << "rank " << rank << " ends\n";
    MPI_Finalize();
}
