/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that call different collectives, with errors returned: every call ends, at least one rank
 * gets an error, and the communicator can be used again. */
#include "cases.h"

#include <unistd.h>

#define LARGE 400000

static MPI_Comm comm;
static float *in, *out;

/* Checks the end of a call on all ranks. The communicator must work afterwards. */
static void settle(int code, int reported) {
    int class = MPI_SUCCESS, failed, any = 0, number = me == 0 ? 42 : 0;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER);
    failed = class != MPI_SUCCESS;
    CHECK(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(any == reported);
    CHECK(MPI_Bcast(&number, 1, MPI_INT, 0, comm) == MPI_SUCCESS);
    CHECK(number == 42);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
}

static int odd(int on_odd, int on_others) {
    return me == 1 ? on_odd : on_others;
}

static void large_counts(void) {
    int k;
    for (k = 0; k < 2; k++) {
        const int count = LARGE - (k == 0 ? odd(1, 0) : odd(0, 1));
        settle(MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, comm), 1);
        settle(MPI_Bcast(in, count, MPI_FLOAT, 0, comm), 1);
        settle(MPI_Bcast(in, count, MPI_FLOAT, 1, comm), 1);
        settle(MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, comm), 1);
        settle(MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 1, comm), 1);
        settle(MPI_Scan(in, out, count, MPI_FLOAT, MPI_SUM, comm), 1);
        settle(MPI_Allgather(in, count / ranks, MPI_FLOAT, out, count / ranks, MPI_FLOAT, comm),
               LARGE / ranks != (LARGE - 1) / ranks);
    }
}

static void blocks(void) {
    settle(MPI_Reduce_scatter_block(in, out, odd(3, 1000), MPI_FLOAT, MPI_SUM, comm), 1);
    settle(MPI_Reduce_scatter_block(in, out, odd(1000, 3), MPI_FLOAT, MPI_SUM, comm), 1);
    settle(MPI_Allgather(in, odd(3, 1000), MPI_FLOAT, out, odd(3, 1000), MPI_FLOAT, comm), 1);
    settle(MPI_Alltoall(in, odd(1000, 3), MPI_FLOAT, out, odd(1000, 3), MPI_FLOAT, comm), 1);
    settle(MPI_Gather(in, odd(1000, 3), MPI_FLOAT, out, odd(1000, 3), MPI_FLOAT, 0, comm), 1);
    settle(MPI_Scatter(in, odd(3, 1000), MPI_FLOAT, out, odd(3, 1000), MPI_FLOAT, 0, comm), 1);
}

/* Sizes that lead to different algorithms: no rank may get a message that it expects. */
static void other_algorithms(void) {
    settle(MPI_Allreduce(in, out, odd(1, LARGE), MPI_FLOAT, MPI_SUM, comm), 1);
    settle(MPI_Allreduce(in, out, odd(LARGE, 1), MPI_FLOAT, MPI_SUM, comm), 1);
    settle(MPI_Bcast(in, odd(1, LARGE), MPI_FLOAT, 1, comm), 1);
    settle(MPI_Bcast(in, odd(LARGE, 1), MPI_FLOAT, 1, comm), 1);
    settle(MPI_Reduce(in, out, odd(LARGE, 1), MPI_FLOAT, MPI_SUM, 0, comm), 1);
    settle(MPI_Scan(in, out, odd(LARGE, 1), MPI_FLOAT, MPI_SUM, comm), 1);
}

static void other_calls(void) {
    settle(me == 1 ? MPI_Allreduce(in, out, LARGE, MPI_FLOAT, MPI_SUM, comm) : MPI_Barrier(comm),
           1);
    settle(me == 1 ? MPI_Allgather(in, 1, MPI_FLOAT, out, 1, MPI_FLOAT, comm) : MPI_Barrier(comm),
           1);
}

static void not_blocking(void) {
    MPI_Request request;
    CHECK(MPI_Iallreduce(in, out, odd(1, LARGE), MPI_FLOAT, MPI_SUM, comm, &request) ==
          MPI_SUCCESS);
    settle(MPI_Wait(&request, MPI_STATUS_IGNORE), 1);
}

/* Under collectives.check: what shows in no message. */
static void operations(void) {
    settle(MPI_Allreduce(in, out, 1, MPI_FLOAT, me == 1 ? MPI_MAX : MPI_SUM, comm), 1);
    settle(MPI_Reduce(in, out, 1, MPI_FLOAT, me == 1 ? MPI_MIN : MPI_SUM, 0, comm), 1);
    settle(MPI_Scan(in, out, 1, MPI_FLOAT, me == 1 ? MPI_PROD : MPI_SUM, comm), 1);
}
static void types(void) {
    settle(MPI_Allreduce(in, out, 1, me == 1 ? MPI_INT : MPI_FLOAT, MPI_SUM, comm), 1);
    settle(MPI_Allreduce(in, out, odd(1, 2), me == 1 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, comm), 1);
    settle(MPI_Bcast(in, odd(1, 2), me == 1 ? MPI_DOUBLE : MPI_INT, 0, comm), 1);
    /* The same by another name. */
    settle(MPI_Allreduce(in, out, 1, me == 1 ? MPI_INT32_T : MPI_INT, MPI_SUM, comm), 0);
}

static void add(void* a, void* b, int* count, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i < *count; i++) ((float*)b)[i] += ((float*)a)[i];
}

/* Operations and types of the program have other handles, or functions, on each rank. */
static void of_the_program(void) {
    MPI_Op op, unused;
    MPI_Datatype pair, single;
    if (me == 1) MPI_Op_create(add, 1, &unused);
    MPI_Op_create(add, 1, &op);
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_contiguous(1, MPI_FLOAT, &single);
    MPI_Type_commit(&single);
    settle(MPI_Allreduce(in, out, 4, MPI_FLOAT, op, comm), 0);
    settle(MPI_Allreduce(in, out, 4, pair, op, comm), 0);
    settle(MPI_Bcast(in, odd(2, 4), me == 1 ? pair : MPI_FLOAT, 0, comm), 0);
    settle(MPI_Bcast(in, 4, me == 1 ? single : MPI_FLOAT, 0, comm), 0);
    MPI_Type_free(&pair);
    MPI_Type_free(&single);
    MPI_Op_free(&op);
    if (me == 1) MPI_Op_free(&unused);
}

/* With a short watchdog: rank 1 waits for rank 2, all others for rank 1. */
static void late(void) {
    int token = 7;
    if (me == 1) MPI_Recv(&token, 1, MPI_INT, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 2) {
        sleep(6);
        MPI_Send(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    }
    settle(MPI_Barrier(comm), 0);
}

static const Case cases[] = {
    {"large_counts", large_counts},
    {"blocks", blocks},
    {"other_algorithms", other_algorithms},
    {"other_calls", other_calls},
    {"not_blocking", not_blocking},
    {"operations", operations},
    {"types", types},
    {"of_the_program", of_the_program},
    {"late", late},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    in = calloc(16 * LARGE, sizeof(float));
    out = calloc(16 * LARGE, sizeof(float));
    RUN_CASES(argc, argv, cases);
    MPI_Comm_free(&comm);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
