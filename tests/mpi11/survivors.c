/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that die (SIGKILL) in a job that goes on without them, started with --keep-going: the
 * errors that the others get, revocation, agreement and shrinking. Each case kills the last process
 * of the communicator that the cases before it have left, and leaves one of the survivors. */
#include <mpi-ext.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"

static MPI_Comm living;  /* all processes that live */
static int mine, all;    /* rank and size in it */

static void know(void) {
    MPI_Comm_rank(living, &mine);
    MPI_Comm_size(living, &all);
}

static void die(void) {
    raise(SIGKILL);
}

static int class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

/* A process that has left this may die: the others have begun it, so they have ended all before. If
 * it does, this fails on those that have not left it. */
static void meet(void) {
    const int code = MPI_Barrier(living);
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_PROC_FAILED);
}

/* The communicator of those that live; the old one is freed. */
static void shrink(int expected) {
    MPI_Comm next;
    CHECK(MPIX_Comm_shrink(living, &next) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&living) == MPI_SUCCESS);
    living = next;
    know();
    CHECK(all == expected);
    meet();
}

/* Sends to and receives from the dead fail; messages between others do not. */
static void messages(void) {
    const int victim = all - 1, before = all;
    int value = mine, got = -1, code;
    MPI_Request request;
    if (mine == victim) die();
    CHECK_CLASS(MPI_Recv(&got, 1, MPI_INT, victim, 1, living, MPI_STATUS_IGNORE),
                MPI_ERR_PROC_FAILED);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, victim, 1, living), MPI_ERR_PROC_FAILED);
    CHECK(MPI_Irecv(&got, 1, MPI_INT, victim, 2, living, &request) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_PROC_FAILED);
    CHECK(request == MPI_REQUEST_NULL);
    code = MPI_Sendrecv(&value, 1, MPI_INT, (mine + 1) % victim, 3, &got, 1, MPI_INT,
                        (mine + victim - 1) % victim, 3, living, MPI_STATUS_IGNORE);
    CHECK(code == MPI_SUCCESS && got == (mine + victim - 1) % victim);
    CHECK_CLASS(MPI_Barrier(living), MPI_ERR_PROC_FAILED);
    CHECK_CLASS(MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, living), MPI_ERR_PROC_FAILED);
    shrink(before - 1);
}

/* A receive from any source stays, and goes on when the death is acknowledged. */
static void any_source(void) {
    const int victim = all - 1, before = all;
    int value = 17, got = -1, flag = 1, count;
    MPI_Request request = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
    MPI_Group failed;
    MPI_Status status;
    if (mine == 0 && all > 2) {
        CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, living, &request) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_PROC_FAILED_PENDING);
        CHECK(request != MPI_REQUEST_NULL);
        CHECK_CLASS(MPI_Test(&request, &flag, &status), MPI_ERR_PROC_FAILED_PENDING);
        CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, living, &other) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Wait(&other, &status), MPI_ERR_PROC_FAILED_PENDING);
        CHECK(MPI_Cancel(&other) == MPI_SUCCESS);
        CHECK(MPI_Wait(&other, &status) == MPI_SUCCESS);
        CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag);
        CHECK_CLASS(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, living, &status),
                    MPI_ERR_PROC_FAILED);
        CHECK(MPIX_Comm_failure_ack(living) == MPI_SUCCESS);
        CHECK(MPIX_Comm_failure_get_acked(living, &failed) == MPI_SUCCESS);
        MPI_Group_size(failed, &count);
        CHECK(count == 1);
        MPI_Group_free(&failed);
        CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS);
        CHECK(MPI_Send(&value, 1, MPI_INT, 1, 3, living) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        CHECK(got == 18 && status.MPI_SOURCE == 1);
        CHECK(request == MPI_REQUEST_NULL);
    } else if (mine == victim) {
        usleep(20000);
        die();
    } else if (mine == 1) {
        CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 3, living, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        value++;
        CHECK(MPI_Send(&value, 1, MPI_INT, 0, 1, living) == MPI_SUCCESS);
    }
    while (all == before) {  /* some have not heard of the death */
        CHECK(MPIX_Comm_get_failed(living, &failed) == MPI_SUCCESS);
        MPI_Group_size(failed, &count);
        MPI_Group_free(&failed);
        if (count == 1) break;
        usleep(1000);
    }
    CHECK(MPIX_Comm_ack_failed(living, 1, &count) == MPI_SUCCESS && count == 1);
    shrink(before - 1);
}

/* All agree on the bits that all have set, and on whether a death is not acknowledged. */
static void agree(void) {
    const int victim = all - 1, before = all;
    int flags, first, code, k;
    for (k = 0; k < 20; k++) {
        flags = ~(1 << mine);
        CHECK(MPIX_Comm_agree(living, &flags) == MPI_SUCCESS);
        CHECK((unsigned)flags == ~((1u << all) - 1));
    }
    if (mine == victim) die();
    flags = mine == 0 ? 6 : 3;
    code = MPIX_Comm_agree(living, &flags);
    CHECK(class_of(code) == MPI_ERR_PROC_FAILED);
    CHECK(flags == (all > 2 ? 2 : 6));
    MPIX_Comm_failure_ack(living);
    first = 1;
    CHECK(MPIX_Comm_agree(living, &first) == MPI_SUCCESS && first == 1);
    shrink(before - 1);
}

/* A revocation ends what the others wait for, also large messages without a receiver. */
static void revoked(void) {
    static char large[300000];
    int got, flag = 0, flags = 5;
    MPI_Comm copy, next;
    MPI_Request requests[3];
    CHECK(MPI_Comm_dup(living, &copy) == MPI_SUCCESS);
    if (mine == 0) {
        MPI_Barrier(living); /* all have begun */
        CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
    } else {
        MPI_Irecv(&got, 1, MPI_INT, 0, 1, copy, &requests[0]);
        MPI_Irecv(large, sizeof large, MPI_CHAR, (mine + 1) % all, 2, copy, &requests[1]);
        MPI_Issend(large, 10, MPI_CHAR, 0, 3, copy, &requests[2]);
        MPI_Barrier(living);
        CHECK_CLASS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_REVOKED);
        CHECK_CLASS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_ERR_REVOKED);
        CHECK_CLASS(MPI_Wait(&requests[2], MPI_STATUS_IGNORE), MPI_ERR_REVOKED);
    }
    CHECK(MPIX_Comm_is_revoked(copy, &flag) == MPI_SUCCESS && flag);
    CHECK_CLASS(MPI_Barrier(copy), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 1, copy, MPI_STATUS_IGNORE),
                MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Comm_dup(copy, &next), MPI_ERR_REVOKED);
    /* A call that fails leaves no request, for programs that wait for it all the same. */
    requests[0] = requests[1] = requests[2] = (MPI_Request)living;
    CHECK_CLASS(MPI_Isend(large, 1, MPI_CHAR, 0, 1, copy, &requests[0]), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Irecv(large, 1, MPI_CHAR, 0, 1, copy, &requests[1]), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Ibarrier(copy, &requests[2]), MPI_ERR_REVOKED);
    CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPIX_Comm_agree(copy, &flags) == MPI_SUCCESS && flags == 5);
    CHECK(MPIX_Comm_shrink(copy, &next) == MPI_SUCCESS);
    CHECK(MPI_Barrier(next) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&next) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    meet();
}

/* The last dies in the middle of collectives; who finds out revokes, and all go on. */
static void recover(void) {
    const int victim = all - 1, before = all;
    static double data[5000];
    int round = 0, code = MPI_SUCCESS;
    while (code == MPI_SUCCESS) {
        if (mine == victim && round == 7) die();
        code = round % 2 == 0 ? MPI_Allreduce(MPI_IN_PLACE, data, round % 3 == 0 ? 5000 : 3,
                                              MPI_DOUBLE, MPI_SUM, living)
                              : MPI_Bcast(data, 100, MPI_DOUBLE, 0, living);
        round++;
    }
    CHECK(class_of(code) == MPI_ERR_PROC_FAILED || class_of(code) == MPI_ERR_REVOKED);
    if (mine == 0) MPIX_Comm_revoke(living);
    /* Calls that fail immediately, because the death is known, bring the news as well. */
    while (class_of(MPI_Barrier(living)) != MPI_ERR_REVOKED) continue;
    shrink(before - 1);
}

/* The non-blocking forms. */
static void later(void) {
    const int victim = all - 1, before = all;
    int flags = 7;
    MPI_Comm next;
    MPI_Request request;
    memset(&request, 1, sizeof request);
    CHECK(class_of(MPIX_Comm_iagree(living, NULL, &request)) == MPI_ERR_ARG);
    CHECK(request == MPI_REQUEST_NULL);
    memset(&request, 1, sizeof request);
    CHECK(class_of(MPIX_Comm_ishrink(living, NULL, &request)) == MPI_ERR_ARG);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPIX_Comm_iagree(living, &flags, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flags == 7);
    if (mine == victim) die();
    CHECK(MPIX_Comm_ishrink(living, &next, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Comm_free(&living);
    living = next;
    know();
    CHECK(all == before - 1);
    meet();
}

int main(int argc, char** argv) {
    static const Case cases[] = {{"messages", messages}, {"any_source", any_source},
                                 {"agree", agree},       {"revoked", revoked},
                                 {"recover", recover},   {"later", later}};
    int* tolerant;
    int flag;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &living);
    know();
    meet();
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &tolerant, &flag);
    CHECK(flag && *tolerant == 1);
    RUN_CASES(argc, argv, cases);
    if (mine == 0) printf("survivors: %d of %d\n", all, ranks);
    fflush(stdout);
    MPI_Comm_free(&living);
    MPI_Finalize();
    return 0;
}
