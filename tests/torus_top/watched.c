/* SPDX-License-Identifier: BSD-3-Clause */
/* A job to be watched. It ends when the file named by its second argument appears.
 *   traffic  every rank sends blocks to the next one, and receives as many
 *   count    the same when the file has appeared, a hundred times
 *   hang     rank 0 receives tag 77 from rank 1, rank 2 sends it 1 MiB, rank 1 computes, all others
 *            are in a barrier
 *   windows  rank 0 puts words into a window of rank 1 and flushes, rank 1 computes and holds the
 *            lock of rank 2, which rank 2 wants, too */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { block = 65536, large = 1 << 20, rounds = 50 };

static char out[block], in[block];

static void to_the_next(int rank, int size, int times) {
    for (int i = 0; i < times; ++i)
        MPI_Sendrecv(out, block, MPI_CHAR, (rank + 1) % size, 1, in, block, MPI_CHAR,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void traffic(int rank, int size, const char* file) {
    int over = 0;
    while (!over) {
        to_the_next(rank, size, rounds);
        over = rank == 0 && access(file, F_OK) == 0;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

static void count(int rank, int size, const char* file) {
    while (rank == 0 && access(file, F_OK) != 0) usleep(10000);
    MPI_Barrier(MPI_COMM_WORLD);
    to_the_next(rank, size, 2 * rounds);
}

static void hang(int rank, const char* file) {
    char* bytes = calloc(1, large);
    if (rank == 0)
        MPI_Recv(bytes, 8, MPI_CHAR, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 2)
        MPI_Send(bytes, large, MPI_CHAR, 1, 78, MPI_COMM_WORLD);
    else if (rank == 1) {
        while (access(file, F_OK) != 0) usleep(10000);
        MPI_Send(bytes, 8, MPI_CHAR, 0, 77, MPI_COMM_WORLD);
        MPI_Recv(bytes, large, MPI_CHAR, 2, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(bytes);
}

static void windows(int rank, const char* file) {
    long long word = rank, *memory = NULL;
    MPI_Aint places[64];
    MPI_Win packets, locks;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &packets);
    MPI_Win_attach(packets, &word, sizeof word);
    MPI_Get_address(&word, &places[rank]);
    MPI_Allgather(MPI_IN_PLACE, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &locks);
    if (rank == 1) {
        const long long seven = 7;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, locks);
        MPI_Put(&seven, 1, MPI_LONG_LONG, 2, 0, 1, MPI_LONG_LONG, locks);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, packets);
        do {
            MPI_Put(memory, 1, MPI_LONG_LONG, 1, places[1], 1, MPI_LONG_LONG, packets);
            MPI_Win_flush(1, packets);
        } while (access(file, F_OK) != 0);
        MPI_Win_unlock(1, packets);
    } else if (rank == 1) {
        while (access(file, F_OK) != 0) usleep(10000);
        MPI_Win_unlock(2, locks);
    } else if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, locks);
        MPI_Win_unlock(2, locks);
    }
    MPI_Win_free(&locks);
    MPI_Win_free(&packets);
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3 && strcmp(argv[1], "traffic") == 0)
        traffic(rank, size, argv[2]);
    else if (argc == 3 && strcmp(argv[1], "count") == 0)
        count(rank, size, argv[2]);
    else if (argc == 3 && strcmp(argv[1], "hang") == 0 && size >= 3)
        hang(rank, argv[2]);
    else if (argc == 3 && strcmp(argv[1], "windows") == 0 && size >= 3 && size <= 64)
        windows(rank, argv[2]);
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) printf("done\n");
    MPI_Finalize();
    return 0;
}
