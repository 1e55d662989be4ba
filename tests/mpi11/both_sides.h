/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two sides of a communicator of processes that have joined exchange. */
#ifndef BOTH_SIDES_H
#define BOTH_SIDES_H

#include "cases.h"

#define MARK 4711
#define LARGE (1 << 18) /* ints */

/* What both sides do in most cases: messages of all sizes, collectives, one communicator of both.
 */
static inline void talk(MPI_Comm inter, int children) {
    int rank, size, remote, i, sum = 0, word = 0, total = 0, merged_rank, merged_size;
    int* data = malloc(LARGE * sizeof(int));
    MPI_Comm merged;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    for (i = 0; i < LARGE; i++) data[i] = children ? i : -i;
    for (i = 0; i < remote; i++) {
        int* other = malloc(LARGE * sizeof(int));
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Irecv(other, LARGE, MPI_INT, i, 7, inter, &requests[0]);
        MPI_Isend(data, LARGE, MPI_INT, i, 7, inter, &requests[1]);
        CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
        CHECK(other[LARGE - 1] == (children ? -(LARGE - 1) : LARGE - 1));
        free(other);
    }
    free(data);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote * (remote - 1) / 2);
    word = rank == 0 && !children ? MARK : 0;
    MPI_Bcast(&word, 1, MPI_INT, children ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    CHECK(word == MARK || (!children && rank != 0));
    MPI_Intercomm_merge(inter, children, &merged);
    MPI_Comm_rank(merged, &merged_rank);
    MPI_Comm_size(merged, &merged_size);
    CHECK(merged_size == size + remote);
    CHECK(merged_rank == (children ? remote + rank : rank));
    MPI_Allreduce(&merged_rank, &total, 1, MPI_INT, MPI_SUM, merged);
    CHECK(total == merged_size * (merged_size - 1) / 2);
    {
        /* A process is the same in the groups of both jobs. */
        MPI_Group whole, own;
        int place = -1, result;
        MPI_Comm half;
        MPI_Comm_group(merged, &whole);
        MPI_Comm_group(MPI_COMM_WORLD, &own);
        MPI_Group_translate_ranks(own, 1, &me, whole, &place);
        CHECK(place == merged_rank);
        MPI_Comm_split(merged, children, 0, &half);
        MPI_Comm_compare(half, MPI_COMM_WORLD, &result);
        CHECK(size == ranks ? result == MPI_CONGRUENT : result == MPI_UNEQUAL);
        MPI_Comm_free(&half);
        MPI_Group_free(&own);
        MPI_Group_free(&whole);
    }
    MPI_Comm_free(&merged);
}

#endif
