/* SPDX-License-Identifier: BSD-3-Clause */
/* The windows for cases, one of each kind. */
#ifndef WINDOW_MAKES_H
#define WINDOW_MAKES_H

#include <stdint.h>

#include "cases.h"

#define WORDS 64

static MPI_Win window;
static int64_t* words; /* of this process */

typedef enum { CREATED, ALLOCATED, DYNAMIC, MAKES } Make;
static int64_t own_memory[WORDS];
static MPI_Aint bases[64]; /* of dynamic windows, by rank; else 0 */

/* A window of WORDS zeros on each rank. */
static inline void make(Make how) {
    MPI_Aint base = 0;
    int i;
    words = own_memory;
    if (how == CREATED) {
        CHECK(MPI_Win_create(own_memory, sizeof own_memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD,
                             &window) == MPI_SUCCESS);
    } else if (how == ALLOCATED) {
        CHECK(MPI_Win_allocate(sizeof own_memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &words,
                               &window) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
        CHECK(MPI_Win_attach(window, own_memory, sizeof own_memory) == MPI_SUCCESS);
        MPI_Get_address(own_memory, &base);
    }
    MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
    for (i = 0; i < WORDS; i++) words[i] = 0;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
}
static inline void unmake(void) {
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(window == MPI_WIN_NULL);
}
static inline MPI_Aint at(int rank, int word) {
    return bases[rank] != 0 ? bases[rank] + 8 * word : word;
}

#endif
