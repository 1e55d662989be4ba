/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that takes the steps in its arguments and ends. The first argument is the front end.

     mpi STEPS...   nap=SECONDS[@RANK]   computes without a call of the library
                    barrier
                    talk=SECONDS         all ranks exchange messages; rank 0 prints a line
                    corners              the first and the last rank send each other a message
                    unread=SECONDS       rank 0 sends rank 1 more than sockets hold, and rank 1
                                         reads it so much later
     qmp            a barrier, then the end, with memory that is never freed
   Exit code: 0 success, 2 bad arguments, 4 wrong bytes arrived. */
#include <mpi.h>
#include <qmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static int nap(const char *how) {
    const char *who = strchr(how, '@');
    if (who == NULL || atoi(who + 1) == rank) sleep((unsigned)atoi(how));
    return 0;
}

static int talk(const char *how) {
    const double end = MPI_Wtime() + atof(how);
    int round, over = 0;
    for (round = 0; !over; ++round) {
        int mine = rank == 0 && MPI_Wtime() > end;
        MPI_Allreduce(&mine, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0 && round == 10) {
            puts("they talk");
            fflush(stdout);
        }
    }
    return 0;
}

static int corners(void) {
    int in = -1, other = size - 1 - rank;
    if (rank != 0 && other != 0) return 0;
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 0, &in, 1, MPI_INT, other, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return in == other ? 0 : 4;
}

static int unread(const char *how) {
    const int bytes = 24 << 20; /* both ends of a connection hold 16 MiB */
    char *memory = calloc((size_t)bytes, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    int right = 1;
    if (rank == 1) MPI_Irecv(memory, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        memset(memory, 7, (size_t)bytes);
        MPI_Send(memory, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        nap(how);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        right = memory[0] == 7 && memory[bytes - 1] == 7;
    }
    free(memory);
    return right ? 0 : 4;
}

static int by_qmp(int argc, char **argv) {
    QMP_thread_level_t provided;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) != QMP_SUCCESS) return 2;
    QMP_mem_t *left = QMP_allocate_memory(4096);
    QMP_barrier();
    QMP_finalize_msg_passing();
    memset(QMP_get_memory_pointer(left), 1, 4096); /* still the program's */
    return 0;
}

int main(int argc, char **argv) {
    int i, code = 0;
    if (argc < 2) return 2;
    if (strcmp(argv[1], "qmp") == 0) return by_qmp(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 2; i < argc && code == 0; ++i) {
        if (strncmp(argv[i], "nap=", 4) == 0)
            code = nap(argv[i] + 4);
        else if (strcmp(argv[i], "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else if (strncmp(argv[i], "talk=", 5) == 0)
            code = talk(argv[i] + 5);
        else if (strcmp(argv[i], "corners") == 0)
            code = corners();
        else if (strncmp(argv[i], "unread=", 7) == 0)
            code = unread(argv[i] + 7);
        else
            code = 2;
    }
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Finalize();
    return 0;
}
