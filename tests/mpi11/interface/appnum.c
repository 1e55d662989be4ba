/* SPDX-License-Identifier: BSD-3-Clause */
/* One of several programs of a job: its argument is the number that MPI_APPNUM must give. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int *number, flag, same, rank, sum = 0;
    if (argc != 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    same = flag && *number == atoi(argv[1]);
    MPI_Allreduce(&same, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("%d ranks know their program\n", sum);
    MPI_Finalize();
    return 0;
}
