/* SPDX-License-Identifier: BSD-3-Clause */
/* The traffic of a job while cables of its torus are cut and come back. All received data is
 * checked to the last bit.
 *
 *   cable_traffic all READY STOP [ROUNDS]   collectives, messages of 4 MiB and crowds of small ones
 *   cable_traffic far READY STOP [ROUNDS]   messages of 4 MiB between opposite corners of 2x2x2:
 *                                           relays write all of the data
 *   cable_traffic calm READY STOP           small messages among all, with pauses: connections are
 *                                           idle most of the time
 *   cable_traffic ping PEER READY STOP      8 bytes to and fro between rank 0 and PEER; prints the
 *                                           longest and the median round trip in ms
 *
 * Rank 0 creates the file READY when all ranks communicate. The job ends when it finds STOP, or
 * after ROUNDS. Exit code: 0 success, 4 wrong bytes arrived, 2 bad arguments.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BIG = 4 << 20,
    VECTOR = 20000, /* doubles: in stripes over all links */
    BLOCK = 300,    /* ints for each rank */
    CROWD = 40,     /* small messages to each of several ranks */
    SMALL = 700,    /* bytes, at most */
    ROUNDS_UNTIL_READY = 2
};

static int rank, size;

static void wrong(const char* what, long round, int from) {
    fprintf(stderr, "cable_traffic: rank %d: wrong bytes in round %ld: %s, from rank %d\n", rank,
            round, what, from);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

static uint32_t mixed(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t x = a * 0x9e3779b9u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return x ^ x >> 13;
}

static void fill(uint32_t* words, size_t bytes, int from, int to, long round) {
    for (size_t i = 0; i < bytes / 4; ++i) words[i] = mixed(from * 4096 + to, (uint32_t)round, i);
}

static int matches(const uint32_t* words, size_t bytes, int from, int to, long round) {
    for (size_t i = 0; i < bytes / 4; ++i)
        if (words[i] != mixed(from * 4096 + to, (uint32_t)round, i)) return 0;
    return 1;
}

static void* memory(size_t bytes) {
    void* it = malloc(bytes);
    if (it == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    return it;
}

/* Sums of whole numbers, which are the same in any order. */
static void reductions(long round) {
    static double mine[VECTOR], sum[VECTOR];
    for (int i = 0; i < VECTOR; ++i) mine[i] = rank + i + round % 1000;
    const double ranks = (double)size * (size - 1) / 2;
    MPI_Allreduce(mine, sum, VECTOR, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < VECTOR; ++i)
        if (sum[i] != ranks + size * (double)(i + round % 1000)) wrong("allreduce", round, -1);
    const int root = (int)(round % size);
    MPI_Reduce(mine, sum, VECTOR, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < VECTOR; ++i)
        if (sum[i] != ranks + size * (double)(i + round % 1000)) wrong("reduce", round, -1);
    double one = rank + 1, before = 0;
    MPI_Scan(&one, &before, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (before != (rank + 1) * (rank + 2) / 2.0) wrong("scan", round, -1);
}

static void blocks(long round, uint32_t* out, uint32_t* in) {
    const size_t bytes = BLOCK * sizeof(uint32_t);
    for (int to = 0; to < size; ++to) fill(out + to * BLOCK, bytes, rank, to, round);
    MPI_Alltoall(out, BLOCK, MPI_UINT32_T, in, BLOCK, MPI_UINT32_T, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from)
        if (!matches(in + from * BLOCK, bytes, from, rank, round)) wrong("alltoall", round, from);
    fill(out, bytes, rank, 0, round);
    MPI_Allgather(out, BLOCK, MPI_UINT32_T, in, BLOCK, MPI_UINT32_T, MPI_COMM_WORLD);
    for (int from = 0; from < size; ++from)
        if (!matches(in + from * BLOCK, bytes, from, 0, round)) wrong("allgather", round, from);
    const int root = (int)((round + 1) % size);
    MPI_Gather(out, BLOCK, MPI_UINT32_T, in, BLOCK, MPI_UINT32_T, root, MPI_COMM_WORLD);
    for (int from = 0; rank == root && from < size; ++from)
        if (!matches(in + from * BLOCK, bytes, from, 0, round)) wrong("gather", round, from);
    for (int to = 0; to < size; ++to) fill(out + to * BLOCK, bytes, root, to, round);
    MPI_Scatter(out, BLOCK, MPI_UINT32_T, in, BLOCK, MPI_UINT32_T, root, MPI_COMM_WORLD);
    if (!matches(in, bytes, root, rank, round)) wrong("scatter", round, root);
}

static void exchange(long round, int to, int from, uint32_t* out, uint32_t* in) {
    fill(out, BIG, rank, to, round);
    MPI_Sendrecv(out, BIG / 4, MPI_UINT32_T, to, 1, in, BIG / 4, MPI_UINT32_T, from, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!matches(in, BIG, from, rank, round)) wrong("a large message", round, from);
}

/* A large message from every rank to the one `shift` further on. */
static void large(long round, uint32_t* out, uint32_t* in) {
    const int shift = 1 + (int)(round % (size - 1));
    exchange(round, (rank + shift) % size, (rank + size - shift) % size, out, in);
    const int root = (int)((round + 2) % size);
    if (rank == root) fill(in, BIG / 8, root, 0, round);
    MPI_Bcast(in, BIG / 32, MPI_UINT32_T, root, MPI_COMM_WORLD);
    if (!matches(in, BIG / 8, root, 0, round)) wrong("broadcast", round, root);
}

/* Many small messages, all under way at once; they come in order. */
static void crowd(long round, uint32_t* out, uint32_t* in) {
    const int peers = size - 1 < 5 ? size - 1 : 5;
    MPI_Request requests[2 * CROWD * 5];
    int count = 0;
    for (int p = 0; p < peers; ++p) {
        const int shift = 1 + (int)((round + p) % (size - 1));
        const int from = (rank + size - shift) % size;
        for (int n = 0; n < CROWD; ++n)
            MPI_Irecv(in + (p * CROWD + n) * SMALL, SMALL, MPI_UINT32_T, from, 2, MPI_COMM_WORLD,
                      &requests[count++]);
    }
    for (int p = 0; p < peers; ++p) {
        const int to = (rank + 1 + (int)((round + p) % (size - 1))) % size;
        for (int n = 0; n < CROWD; ++n) {
            uint32_t* const it = out + (p * CROWD + n) * SMALL;
            const int words = 1 + (int)(mixed(rank, to, n) % (SMALL / 4));
            fill(it, words * 4, rank, to, round * CROWD + n);
            MPI_Isend(it, words, MPI_UINT32_T, to, 2, MPI_COMM_WORLD, &requests[count++]);
        }
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int p = 0; p < peers; ++p) {
        const int from = (rank + size - (1 + (int)((round + p) % (size - 1)))) % size;
        for (int n = 0; n < CROWD; ++n) {
            const int words = 1 + (int)(mixed(from, rank, n) % (SMALL / 4));
            if (!matches(in + (p * CROWD + n) * SMALL, words * 4, from, rank, round * CROWD + n))
                wrong("a small message", round, from);
        }
    }
}

static void make(const char* path) {
    FILE* const file = fopen(path, "w");
    if (file != NULL) fclose(file);
}

static void talk(int far, const char* ready, const char* stop, long rounds) {
    const size_t crowd_bytes = 5 * CROWD * SMALL * sizeof(uint32_t);
    const size_t bytes = BIG > crowd_bytes ? BIG : crowd_bytes;
    uint32_t *out = memory(bytes), *in = memory(bytes);
    for (long round = 0;; ++round) {
        if (far) {
            exchange(round, size - 1 - rank, size - 1 - rank, out, in);
        } else {
            reductions(round);
            blocks(round, out, in);
            large(round, out, in);
            crowd(round, out, in);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        int stops = (rounds != 0 && round + 1 >= rounds) || access(stop, F_OK) == 0;
        MPI_Bcast(&stops, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (stops) break;
        if (rank == 0 && round == ROUNDS_UNTIL_READY) make(ready);
    }
    if (rank == 0) printf("cable_traffic: all bytes were right\n");
    free(out);
    free(in);
}

/* No rank is in a call of the library while it pauses. */
static void calm(const char* ready, const char* stop) {
    for (long round = 0;; ++round) {
        for (int far = 1; far < size; ++far) {
            const int to = (rank + far) % size, from = (rank + size - far) % size;
            uint32_t out = mixed(rank, to, round), in = ~out;
            MPI_Sendrecv(&out, 1, MPI_UINT32_T, to, 5, &in, 1, MPI_UINT32_T, from, 5,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (in != mixed(from, rank, round)) wrong("a word", round, from);
        }
        int stops = access(stop, F_OK) == 0;
        MPI_Bcast(&stops, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (stops) break;
        if (rank == 0 && round == ROUNDS_UNTIL_READY) make(ready);
        if (round > ROUNDS_UNTIL_READY) usleep(mixed(1, 2, round) % 1500000);
    }
    if (rank == 0) printf("cable_traffic: all bytes were right\n");
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void ping(int peer, const char* ready, const char* stop) {
    enum { MOST = 4 << 20 };
    if (rank == 0) {
        double* const times = memory(MOST * sizeof(double));
        int count = 0;
        for (uint64_t n = 1;; ++n) {
            uint64_t word = access(stop, F_OK) == 0 ? 0 : n, back = ~n;
            const double begun = MPI_Wtime();
            MPI_Send(&word, 1, MPI_UINT64_T, peer, 3, MPI_COMM_WORLD);
            if (word == 0) break;
            MPI_Recv(&back, 1, MPI_UINT64_T, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (back != n) wrong("a round trip", (long)n, peer);
            if (n == 100) make(ready);
            if (n > 100 && count < MOST) times[count++] = 1e3 * (MPI_Wtime() - begun);
            if (n > 100) usleep(200);
        }
        qsort(times, count, sizeof(double), by_size);
        printf("longest %.3f ms, median %.4f ms of %d\n", times[count - 1], times[count / 2],
               count);
        free(times);
    } else if (rank == peer) {
        for (uint64_t word = 1; word != 0;) {
            MPI_Recv(&word, 1, MPI_UINT64_T, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (word != 0) MPI_Send(&word, 1, MPI_UINT64_T, 0, 3, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the others relay meanwhile */
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int far = argc > 1 && strcmp(argv[1], "far") == 0;
    if (size > 1 && argc >= 4 && (far || strcmp(argv[1], "all") == 0)) {
        talk(far, argv[2], argv[3], argc > 4 ? atol(argv[4]) : 0);
    } else if (size > 1 && argc == 4 && strcmp(argv[1], "calm") == 0) {
        calm(argv[2], argv[3]);
    } else if (argc == 5 && strcmp(argv[1], "ping") == 0 && atoi(argv[2]) > 0 &&
               atoi(argv[2]) < size) {
        ping(atoi(argv[2]), argv[3], argv[4]);
    } else {
        if (rank == 0) fprintf(stderr, "usage: see the head of cable_traffic.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
