/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that are cancelled, freed early or queried, in cases. */
#include "ring_messages.h"

static void cancel(void) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0, s;
    MPI_Irecv(in, 1, MPI_INT, previous_rank, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    /* A send that no receive has met; a small one may have been sent, then it is received. */
    for (s = 0; s < SIZES; s++) {
        int left = 1;
        MPI_Isend(out, sizes[s], MPI_INT, next_rank, 98, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        MPI_Sendrecv(&flag, 1, MPI_INT, next_rank, 97, &left, 1, MPI_INT, previous_rank, 97,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!left)
            MPI_Recv(in, sizes[s], MPI_INT, previous_rank, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(sizes[s] <= 4096 || flag);
    }
}

/* The result of a cancel of a message to the rank itself is known immediately: if the cancel was
 * too late, the rank receives the message. */
static void cancel_to_oneself(void) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0, s;
    for (s = 0; s < 2 * SIZES; s++) {
        MPI_Issend(out, sizes[s / 2], MPI_INT, me, 96, MPI_COMM_WORLD, &request);
        if (s % 2) MPI_Probe(me, 96, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(&request);
        MPI_Request_get_status(request, &flag, &status);
        CHECK(flag);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
        MPI_Request_free(&request);
        MPI_Iprobe(me, 96, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
}

static void freed_requests(void) {
    MPI_Request request;
    fill(out, 20000, me);
    MPI_Isend(out, 20000, MPI_INT, next_rank, 11, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Recv(in, 20000, MPI_INT, previous_rank, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_filled(in, 20000, previous_rank));
}

static void request_status(void) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Irecv(in, 4, MPI_INT, previous_rank, 12, MPI_COMM_WORLD, &request);
    MPI_Send(out, 2, MPI_INT, next_rank, 12, MPI_COMM_WORLD);
    while (!flag) MPI_Request_get_status(request, &flag, &status);
    CHECK(status.MPI_SOURCE == previous_rank && request != MPI_REQUEST_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Several at once: receives from the rank before, of which some arrive, with a null handle and a
 * persistent request that was not started. */
static void several_statuses(void) {
    enum { COUNT = 5 };
    MPI_Request requests[COUNT], kept[COUNT];
    MPI_Status statuses[COUNT], status;
    int indices[COUNT], index = -1, flag = -1, some = -1, seen = 0, i, data[COUNT];

    for (i = 0; i < COUNT; i++) requests[i] = MPI_REQUEST_NULL;
    CHECK(MPI_Request_get_status_all(COUNT, requests, &flag, statuses) == MPI_SUCCESS && flag == 1);
    CHECK(statuses[4].MPI_SOURCE == MPI_ANY_SOURCE && statuses[4].MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Request_get_status_any(COUNT, requests, &index, &flag, &status) == MPI_SUCCESS);
    CHECK(flag == 1 && index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE);
    CHECK(MPI_Request_get_status_some(COUNT, requests, &some, indices, statuses) == MPI_SUCCESS);
    CHECK(some == MPI_UNDEFINED);
    CHECK(MPI_Request_get_status_all(0, NULL, &flag, NULL) == MPI_SUCCESS && flag == 1);

    MPI_Recv_init(&data[3], 1, MPI_INT, previous_rank, 13, MPI_COMM_WORLD, &requests[3]);
    for (i = 0; i < 3; i++)
        MPI_Irecv(&data[i], 1, MPI_INT, previous_rank, 20 + i, MPI_COMM_WORLD, &requests[i]);
    memcpy(kept, requests, sizeof kept);
    /* No rank has sent yet, neither before the barrier nor in it. */
    CHECK(MPI_Request_get_status_all(COUNT, requests, &flag, statuses) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Request_get_status_any(COUNT, requests, &index, &flag, &status) == MPI_SUCCESS);
    CHECK(flag == 0 && index == MPI_UNDEFINED);
    CHECK(MPI_Request_get_status_some(COUNT, requests, &some, indices, statuses) == MPI_SUCCESS);
    CHECK(some == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, next_rank, 21, MPI_COMM_WORLD);
    for (flag = 0; !flag;) MPI_Request_get_status_any(COUNT, requests, &index, &flag, &status);
    CHECK(index == 1 && status.MPI_TAG == 21 && status.MPI_SOURCE == previous_rank);
    CHECK(MPI_Request_get_status_all(COUNT, requests, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(flag == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, next_rank, 22, MPI_COMM_WORLD);
    for (some = 0; some < 2;)
        MPI_Request_get_status_some(COUNT, requests, &some, indices, statuses);
    CHECK(some == 2 && indices[0] == 1 && indices[1] == 2);
    CHECK(statuses[0].MPI_TAG == 21 && statuses[1].MPI_TAG == 22);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, next_rank, 20, MPI_COMM_WORLD);
    for (flag = 0; !flag;) MPI_Request_get_status_all(COUNT, requests, &flag, statuses);
    for (i = 0; i < 3; i++)
        CHECK(statuses[i].MPI_TAG == 20 + i && statuses[i].MPI_SOURCE == previous_rank);
    CHECK(statuses[3].MPI_TAG == MPI_ANY_TAG && statuses[4].MPI_TAG == MPI_ANY_TAG);
    /* All of them are still there. */
    CHECK(memcmp(kept, requests, sizeof kept) == 0);
    CHECK(MPI_Waitall(3, requests, statuses) == MPI_SUCCESS);
    for (i = 0; i < 3; i++) seen += data[i] == previous_rank;
    CHECK(seen == 3);
    MPI_Request_free(&requests[3]);
}

static const Case cases[] = {
    {"cancel", cancel},
    {"cancel_to_oneself", cancel_to_oneself},
    {"freed_requests", freed_requests},
    {"request_status", request_status},
    {"several_statuses", several_statuses},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    find_neighbours();
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
