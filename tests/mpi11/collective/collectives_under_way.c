/* SPDX-License-Identifier: BSD-3-Clause */
/* Concurrent collectives, in cases: completed or started again in any order. */
#include "cases.h"

/* Collectives of many kinds under way on one communicator, completed in an order of each rank's
 * own. */
static void many_at_once(void) {
    enum { CALLS = 24, N = 700 };
    static int data[CALLS][N], all[CALLS][16 * N];
    MPI_Request requests[CALLS];
    int i, k, left = CALLS;
    if (ranks > 16) return;
    for (i = 0; i < CALLS; i++) {
        int n = i % 5 == 4 ? N : 3, root = i % ranks;
        for (k = 0; k < N; k++) data[i][k] = 1000 * me + i + k;
        switch (i % 4) {
            case 0:
                CHECK(MPI_Ibcast(data[i], n, MPI_INT, root, MPI_COMM_WORLD, &requests[i]) == 0);
                break;
            case 1:
                CHECK(MPI_Iallgather(data[i], n, MPI_INT, all[i], n, MPI_INT, MPI_COMM_WORLD,
                                     &requests[i]) == 0);
                break;
            case 2:
                CHECK(MPI_Iallreduce(data[i], all[i], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                     &requests[i]) == 0);
                break;
            case 3:
                CHECK(MPI_Igather(data[i], n, MPI_INT, all[i], n, MPI_INT, root, MPI_COMM_WORLD,
                                  &requests[i]) == 0);
                break;
        }
    }
    /* One from the front, one from the back, by rank. */
    for (i = me; left > 0; i = (i + 7) % CALLS) {
        if (requests[i] == MPI_REQUEST_NULL) {
            i = (i + CALLS - 6) % CALLS;
            continue;
        }
        CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        left--;
    }
    for (i = 0; i < CALLS; i++) {
        int n = i % 5 == 4 ? N : 3, root = i % ranks, r;
        for (k = 0; k < n; k++) {
            if (i % 4 == 0) CHECK(data[i][k] == 1000 * root + i + k);
            if (i % 4 == 2) CHECK(all[i][k] == 1000 * (ranks * (ranks - 1) / 2) + ranks * (i + k));
            for (r = 0; r < ranks && (i % 4 == 1 || (i % 4 == 3 && me == root)); r++)
                CHECK(all[i][r * n + k] == 1000 * r + i + k);
        }
    }
}

static void persistent_again_and_again(void) {
    enum { N = 50 };
    int mine[N] = {0}, sum[N], value = 0, round, k;
    MPI_Request requests[3];
    CHECK(MPI_Allreduce_init(mine, sum, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Bcast_init(&value, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &requests[1]) == MPI_SUCCESS);
    CHECK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]) == MPI_SUCCESS);
    for (round = 0; round < 20; round++) {
        for (k = 0; k < N; k++) mine[k] = me + round * k;
        value = me == ranks - 1 ? round : -1;
        CHECK(MPI_Startall(3, requests) == MPI_SUCCESS);
        CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (k = 0; k < N; k++) CHECK(sum[k] == ranks * (ranks - 1) / 2 + ranks * round * k);
        CHECK(value == round);
    }
    for (k = 0; k < 3; k++) CHECK(MPI_Request_free(&requests[k]) == MPI_SUCCESS);
}

/* Persistent collectives match in the order in which they were made, so each rank may start them in
 * an order of its own, with others begun in between. */
static void persistent_in_any_order(void) {
    enum { CALLS = 12, N = 300 };
    static int data[CALLS][N], all[CALLS][8 * N];
    MPI_Request requests[CALLS];
    int i, k, r, round;
    if (ranks > 8) return;
    for (i = 0; i < CALLS; i++) {
        int n = i % 5 == 4 ? N : 2, root = i % ranks;
        if (i % 4 == 0)
            CHECK(MPI_Bcast_init(data[i], n, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &requests[i]) == MPI_SUCCESS);
        else if (i % 4 == 1)
            CHECK(MPI_Allgather_init(data[i], n, MPI_INT, all[i], n, MPI_INT, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
        else if (i % 4 == 2)
            CHECK(MPI_Allreduce_init(data[i], all[i], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
        else
            CHECK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
    }
    for (round = 0; round < 6; round++) {
        int sum = 0, one = 1;
        MPI_Request others[2];
        for (i = 0; i < CALLS; i++)
            for (k = 0; k < N; k++) data[i][k] = 1000 * me + 10 * i + k + round;
        for (i = 0; i < CALLS; i++) {
            /* Forwards on some, backwards on others, from another place each round. */
            int turn = (i + round * (me + 1)) % CALLS;
            CHECK(MPI_Start(&requests[me % 2 ? CALLS - 1 - turn : turn]) == MPI_SUCCESS);
            if (i == 3) CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &others[0]) == MPI_SUCCESS);
            if (i == 7 - me % 3)
                CHECK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &others[1]) ==
                      MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, others, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(sum == ranks);
        for (i = 0; i < CALLS; i++) {
            int n = i % 5 == 4 ? N : 2, first = 10 * i + round;
            for (k = 0; k < n; k++) {
                if (i % 4 == 0) CHECK(data[i][k] == 1000 * (i % ranks) + first + k);
                if (i % 4 == 2)
                    CHECK(all[i][k] == 1000 * (ranks * (ranks - 1) / 2) + ranks * (first + k));
                for (r = 0; i % 4 == 1 && r < ranks; r++)
                    CHECK(all[i][r * n + k] == 1000 * r + first + k);
            }
        }
    }
    for (i = 0; i < CALLS; i++) CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS);
}

/* No rank leaves an Ibarrier before all have entered, and others may work meanwhile. */
static void barrier_holds(void) {
    MPI_Request request;
    int flag = 0, token = 0;
    if (ranks < 2) return;
    if (me == 0) {
        int before;
        CHECK(MPI_Recv(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
        CHECK(MPI_Recv(&before, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
        CHECK(before == 0);
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        if (me == 1) {
            int i;
            CHECK(MPI_Send(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
            for (i = 0; i < 100; i++)
                CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == 0 && !flag);
            CHECK(MPI_Send(&flag, 1, MPI_INT, 0, 6, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"many_at_once", many_at_once},
    {"persistent_again_and_again", persistent_again_and_again},
    {"persistent_in_any_order", persistent_in_any_order},
    {"barrier_holds", barrier_holds},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
