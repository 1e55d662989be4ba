/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages that the two sides of an inter-communicator of joined processes exchange. */
#ifndef BOTH_SIDES_H
#define BOTH_SIDES_H

#include "cases.h"

#define MARK 4711

/* The number of the parents' thread that communicates. */
static _Thread_local int thread_number;
#define LARGE (1 << 18) /* ints */

/* Partitioned messages with each process of the other side, also one that has no other end. */
static inline void exchange_partitions(MPI_Comm inter, int remote) {
    enum { partitions = 8, elements = 3000 };
    int *sent = malloc(sizeof(int[partitions * elements])), *received, i, k, round;
    MPI_Request requests[2], open;
    received = malloc(sizeof(int[partitions * elements]));
    for (i = 0; i < remote; i++) {
        MPI_Psend_init(sent, partitions, elements, MPI_INT, i, 5, inter, MPI_INFO_NULL,
                       &requests[0]);
        MPI_Precv_init(received, partitions / 2, 2 * elements, MPI_INT, i, 5, inter, MPI_INFO_NULL,
                       &requests[1]);
        for (round = 0; round < 2; round++) {
            MPI_Startall(2, requests);
            for (k = partitions; k-- > 0;) {
                sent[k * elements] = MARK + k + round;
                MPI_Pready(k, requests[0]);
            }
            for (k = 0; k < partitions / 2; k++) {
                int here = 0;
                while (!here) MPI_Parrived(requests[1], k, &here);
                CHECK(received[2 * k * elements] == MARK + 2 * k + round);
            }
            CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    if (remote > 0) {
        MPI_Precv_init(received, 1, 1, MPI_INT, 0, 6, inter, MPI_INFO_NULL, &open);
        MPI_Request_free(&open);
    }
    free(sent);
    free(received);
}

/* Communicators from groups alone, of both sides and between them. The tag is different where
 * threads call at the same time. */
static inline void from_groups(MPI_Comm inter, MPI_Group whole, int children) {
    MPI_Group own, other;
    MPI_Comm comm;
    char tag[32];
    int members, remote, sum, number = children ? -1 : thread_number;
    MPI_Group_size(whole, &members);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_group(inter, &own);
    MPI_Comm_remote_group(inter, &other);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_MAX, inter);
    snprintf(tag, sizeof tag, "talk %d", children ? sum : number);
    CHECK(MPI_Comm_create_from_group(whole, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
          MPI_SUCCESS);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == members);
    MPI_Comm_free(&comm);
    CHECK(MPI_Intercomm_create_from_groups(own, members - remote - 1, other, remote - 1, tag,
                                           MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    MPI_Allreduce(&(int){1}, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == remote);
    MPI_Comm_free(&comm);
    MPI_Group_free(&own);
    MPI_Group_free(&other);
}

/* Both sides exchange messages of all sizes, call collectives, and merge to one communicator. */
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
    exchange_partitions(inter, remote);
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
        from_groups(inter, whole, children);
        MPI_Group_free(&own);
        MPI_Group_free(&whole);
    }
    MPI_Comm_free(&merged);
}

#endif
