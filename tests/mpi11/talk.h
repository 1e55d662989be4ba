/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of a communicator, and a check that they can exchange messages. */
#ifndef TALK_H
#define TALK_H

#include "cases.h"

static inline int size_of(MPI_Comm comm) {
    int n = -1;
    CHECK(MPI_Comm_size(comm, &n) == MPI_SUCCESS);
    return n;
}

static inline int rank_in(MPI_Comm comm) {
    int r = -1;
    CHECK(MPI_Comm_rank(comm, &r) == MPI_SUCCESS);
    return r;
}

/* Everybody hears from the one before; what is under way in another communicator does not disturb.
 */
static inline void ring(MPI_Comm comm) {
    const int n = size_of(comm), r = rank_in(comm);
    int out = 100 + r, in = -1, noise = -7, quiet = 0;
    MPI_Request noisy;
    CHECK(MPI_Isend(&noise, 1, MPI_INT, me, 5, MPI_COMM_WORLD, &noisy) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&out, 1, MPI_INT, (r + 1) % n, 5, &in, 1, MPI_INT, (r + n - 1) % n, 5, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(in == 100 + (r + n - 1) % n);
    CHECK(MPI_Recv(&quiet, 1, MPI_INT, me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&noisy, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(quiet == noise);
}

#endif
