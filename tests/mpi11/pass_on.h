/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of any datatype between the ranks of MPI_COMM_WORLD as a ring. */
#ifndef PASS_ON_H
#define PASS_ON_H

#include "cases.h"

/* From each rank to the next: `out` of outtype, `in` of intype. */
static inline void pass_on(const void* out, int outcount, MPI_Datatype outtype, void* in,
                           int incount, MPI_Datatype intype, MPI_Status* status) {
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    MPI_Request request;
    MPI_Irecv(in, incount, intype, left, 5, MPI_COMM_WORLD, &request);
    MPI_Send(out, outcount, outtype, right, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, status);
}

#endif
