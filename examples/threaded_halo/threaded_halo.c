/* SPDX-License-Identifier: BSD-3-Clause */
/* A halo whose faces are filled by threads, in two ways: with partitioned messages, in which a
 * partition leaves as soon as its thread has filled it, and with a message of its own for each part.
 * Prints the time of an exchange of both, and checks what arrives.
 *
 *     mpicc -O2 threaded_halo.c -o threaded_halo -lpthread
 *     torus-run -np 8 --torus 2x2x2 ./threaded_halo [THREADS [PARTS [BYTES_OF_A_FACE]]]
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { dimensions = 3, faces = 2 * dimensions, warm_up = 20, rounds = 200 };

static int threads = 3, parts = 27, doubles;
static MPI_Comm torus;
static int rank, neighbours[faces]; /* 0-, 0+, 1-, ... */
static double *out[faces], *in[faces];
static MPI_Request sends[faces], receives[faces];
static pthread_barrier_t barrier;
static int partitioned;

static double value(int from, int face, int index, int round) {
    return from + 0.25 * face + 1e3 * index + round;
}

/* What a thread computes for its part of a face, and what it does with what has arrived. */
static void fill(int face, int part, int round) {
    const int each = doubles / parts;
    for (int i = part * each; i < (part + 1) * each; i++) out[face][i] = value(rank, face, i, round);
}

static void use(int face, int part, int round) {
    const int each = doubles / parts;
    for (int i = part * each; i < (part + 1) * each; i++)
        if (in[face][i] != value(neighbours[face], face ^ 1, i, round)) {
            fprintf(stderr, "rank %d: face %d, element %d is wrong\n", rank, face, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

static void by_partitions(int thread, int round) {
    if (thread == 0) {
        MPI_Startall(faces, receives);
        MPI_Startall(faces, sends);
    }
    pthread_barrier_wait(&barrier);
    for (int part = thread; part < parts; part += threads)
        for (int face = 0; face < faces; face++) {
            fill(face, part, round);
            MPI_Pready(part, sends[face]);
        }
    for (int part = thread; part < parts; part += threads)
        for (int face = 0; face < faces; face++) {
            for (int there = 0; !there;) MPI_Parrived(receives[face], part, &there);
            use(face, part, round);
        }
    pthread_barrier_wait(&barrier);
    if (thread == 0) {
        MPI_Waitall(faces, sends, MPI_STATUSES_IGNORE);
        MPI_Waitall(faces, receives, MPI_STATUSES_IGNORE);
    }
}

static void by_messages(int thread, int round) {
    const int each = doubles / parts;
    int count = 0;
    MPI_Request* requests = malloc(sizeof *requests * 2 * faces * (parts / threads + 1));
    for (int part = thread; part < parts; part += threads)
        for (int face = 0; face < faces; face++)
            MPI_Irecv(in[face] + part * each, each, MPI_DOUBLE, neighbours[face],
                      faces * part + (face ^ 1), torus, &requests[count++]);
    for (int part = thread; part < parts; part += threads)
        for (int face = 0; face < faces; face++) {
            fill(face, part, round);
            MPI_Isend(out[face] + part * each, each, MPI_DOUBLE, neighbours[face],
                      faces * part + face, torus, &requests[count++]);
        }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int part = thread; part < parts; part += threads)
        for (int face = 0; face < faces; face++) use(face, part, round);
    free(requests);
    pthread_barrier_wait(&barrier);
}

static void* work(void* argument) {
    const int thread = (int)(size_t)argument;
    for (int round = 0; round < warm_up + rounds; round++) {
        if (partitioned)
            by_partitions(thread, round);
        else
            by_messages(thread, round);
    }
    return NULL;
}

/* The time of a round, in microseconds. */
static double run(void) {
    pthread_t* others = malloc(sizeof *others * threads);
    double begin, end, mine, slowest;
    MPI_Barrier(torus);
    begin = MPI_Wtime();
    for (int t = 1; t < threads; t++) pthread_create(&others[t], NULL, work, (void*)(size_t)t);
    work(NULL);
    for (int t = 1; t < threads; t++) pthread_join(others[t], NULL);
    end = MPI_Wtime();
    free(others);
    mine = (end - begin) / (warm_up + rounds) * 1e6;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, torus);
    return slowest;
}

int main(int argc, char** argv) {
    int level, size, dims[dimensions] = {0}, periods[dimensions] = {1, 1, 1}, bytes = 55296;
    double best[2] = {0, 0};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (argc > 1) threads = atoi(argv[1]);
    if (argc > 2) parts = atoi(argv[2]);
    if (argc > 3) bytes = atoi(argv[3]);
    doubles = bytes / (int)sizeof(double);
    if (level < MPI_THREAD_MULTIPLE || threads < 1 || parts < threads || doubles % parts != 0) {
        fprintf(stderr, "expected MPI_THREAD_MULTIPLE, at least one part for each thread, and a "
                        "face that the parts divide\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, dimensions, dims);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 1, &torus);
    MPI_Comm_rank(torus, &rank);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(torus, d, 1, &neighbours[2 * d], &neighbours[2 * d + 1]);
    for (int face = 0; face < faces; face++) {
        out[face] = malloc(bytes);
        in[face] = malloc(bytes);
        MPI_Psend_init(out[face], parts, doubles / parts, MPI_DOUBLE, neighbours[face], face, torus,
                       MPI_INFO_NULL, &sends[face]);
        MPI_Precv_init(in[face], parts, doubles / parts, MPI_DOUBLE, neighbours[face], face ^ 1,
                       torus, MPI_INFO_NULL, &receives[face]);
    }
    for (int turn = 0; turn < 6; turn++) { /* in turns: a machine is not always equally fast */
        partitioned = turn % 2 == 0;
        const double time = run();
        if (turn < 2 || time < best[partitioned]) best[partitioned] = time;
    }
    if (rank == 0)
        printf("%d ranks, %d threads, six faces of %d bytes in %d parts: partitioned %.1f us, a "
               "message for each part %.1f us\n",
               size, threads, bytes, parts, best[1], best[0]);
    for (int face = 0; face < faces; face++) {
        MPI_Request_free(&sends[face]);
        MPI_Request_free(&receives[face]);
        free(out[face]);
        free(in[face]);
    }
    pthread_barrier_destroy(&barrier);
    MPI_Comm_free(&torus);
    MPI_Finalize();
    return 0;
}
