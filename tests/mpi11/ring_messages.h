/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the ranks of MPI_COMM_WORLD as a ring: their lengths, memory and contents. */
#ifndef RING_MESSAGES_H
#define RING_MESSAGES_H

#include "cases.h"

static int next_rank, previous_rank;

static inline void fill(int* memory, int count, int seed) {
    int i;
    for (i = 0; i < count; i++) memory[i] = seed * 7919 + i;
}
static inline int is_filled(const int* memory, int count, int seed) {
    int i;
    for (i = 0; i < count; i++)
        if (memory[i] != seed * 7919 + i) return 0;
    return 1;
}

/* Sizes around the limits of eager messages and of spreading. */
static const int sizes[] = {0, 1, 3, 6, 100, 4095, 4096, 4097, 16384, 40000};
#define SIZES ((int)(sizeof sizes / sizeof sizes[0]))
#define LARGEST 40000
static int out[LARGEST], in[LARGEST];

/* After MPI_Init. */
static inline void find_neighbours(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next_rank = (me + 1) % ranks;
    previous_rank = (me + ranks - 1) % ranks;
}

#endif
