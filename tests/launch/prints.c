// SPDX-License-Identifier: BSD-3-Clause
// prints FILE [kill]: prints before and after MPI_Init without a flush; creates FILE.RANK, waits
// for FILE, and ends, or is killed.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    printf("before MPI_Init\n");
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d is here\n", rank);
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    fclose(fopen(name, "w"));
    while (access(argv[1], F_OK) != 0) usleep(2000);
    if (argc > 2 && strcmp(argv[2], "kill") == 0) raise(SIGKILL);
    printf("rank %d ends\n", rank);
    MPI_Finalize();
    return 0;
}
