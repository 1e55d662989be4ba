/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that are cancelled, freed early or looked at, in cases. */
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
        CHECK(sizes[s] < 4096 || flag);
    }
}

/* Of a message to oneself it is known at once whether the cancel came in time: who finds that it
 * did not receives the message. */
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

static const Case cases[] = {
    {"cancel", cancel},
    {"cancel_to_oneself", cancel_to_oneself},
    {"freed_requests", freed_requests},
    {"request_status", request_status},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    find_neighbours();
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
