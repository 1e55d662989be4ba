/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalized requests: the calls of the program's functions, their arguments, their errors and the
 * statuses that they fill. Uses MPI_THREAD_MULTIPLE. */
#include "cases.h"

#include <pthread.h>
#include <time.h>

typedef struct {
    int queries, frees, cancels; /* calls so far */
    int cancelled_when_complete; /* the argument of the cancel function */
    int count, tag;              /* for the status */
    int query_code, free_code;   /* what the functions return */
} State;

static int query(void* extra, MPI_Status* status) {
    State* const state = extra;
    CHECK(state->frees == 0);
    state->queries++;
    MPI_Status_set_elements(status, MPI_DOUBLE, state->count);
    MPI_Status_set_cancelled(status, state->cancels != 0);
    MPI_Status_set_source(status, me);
    MPI_Status_set_tag(status, state->tag);
    return state->query_code;
}
static int end(void* extra) {
    State* const state = extra;
    state->frees++;
    return state->free_code;
}
static int cancel(void* extra, int complete) {
    State* const state = extra;
    state->cancels++;
    state->cancelled_when_complete = complete;
    return MPI_SUCCESS;
}

static MPI_Request start(State* state, int tag) {
    const State fresh = {0, 0, 0, -1, 3, 0, MPI_SUCCESS, MPI_SUCCESS};
    MPI_Request request;
    *state = fresh;
    state->tag = tag;
    MPI_Grequest_start(query, end, cancel, state, &request);
    CHECK(request != MPI_REQUEST_NULL);
    return request;
}

static void check_ended(const State* state, MPI_Request request, const MPI_Status* status) {
    int count = -1, flag = -1;
    CHECK(state->queries == 1 && state->frees == 1);
    CHECK(request == MPI_REQUEST_NULL);
    if (status == MPI_STATUS_IGNORE) return;
    CHECK(status->MPI_SOURCE == me && status->MPI_TAG == state->tag);
    MPI_Get_count(status, MPI_DOUBLE, &count);
    MPI_Test_cancelled(status, &flag);
    CHECK(count == 3 && flag == (state->cancels != 0));
}

static void one(void) {
    State state;
    MPI_Status status;
    MPI_Request request = start(&state, 4);
    int flag = 1;
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && state.queries == 0);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(!flag && state.queries == 0);
    MPI_Grequest_complete(request);
    CHECK(state.queries == 0 && state.frees == 0);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && state.queries == 1 && state.frees == 0 && status.MPI_TAG == 4);
    state.queries = 0;
    MPI_Wait(&request, &status);
    check_ended(&state, request, &status);
    request = start(&state, 5);
    MPI_Grequest_complete(request);
    MPI_Test(&request, &flag, &status);
    CHECK(flag);
    check_ended(&state, request, &status);
    request = start(&state, 6);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* the query function gets a status all the same */
    check_ended(&state, request, MPI_STATUS_IGNORE);
}

enum { several = 5 };

static void start_all(State states[], MPI_Request requests[]) {
    int i;
    for (i = 0; i < several; i++) requests[i] = start(&states[i], i);
}

static void any(void) {
    State states[several];
    MPI_Request requests[several];
    MPI_Status status;
    int index, flag, i;
    start_all(states, requests);
    MPI_Testany(several, requests, &index, &flag, &status);
    CHECK(!flag && index == MPI_UNDEFINED);
    MPI_Grequest_complete(requests[3]);
    MPI_Waitany(several, requests, &index, &status);
    CHECK(index == 3);
    check_ended(&states[3], requests[3], &status);
    for (i = 0; i < several; i++)
        if (i != 3) {
            CHECK(states[i].queries == 0 && states[i].frees == 0);
            MPI_Grequest_complete(requests[i]);
            MPI_Testany(several, requests, &index, &flag, &status);
            CHECK(flag && index == i);
            check_ended(&states[i], requests[i], &status);
        }
}

static void some(void) {
    State states[several];
    MPI_Request requests[several];
    MPI_Status statuses[several];
    int indices[several], count, i;
    start_all(states, requests);
    MPI_Testsome(several, requests, &count, indices, statuses);
    CHECK(count == 0);
    MPI_Grequest_complete(requests[1]);
    MPI_Grequest_complete(requests[4]);
    MPI_Waitsome(several, requests, &count, indices, statuses);
    CHECK(count == 2 && indices[0] == 1 && indices[1] == 4);
    for (i = 0; i < 2; i++) check_ended(&states[indices[i]], requests[indices[i]], &statuses[i]);
    for (i = 0; i < several; i++)
        if (requests[i] != MPI_REQUEST_NULL) MPI_Grequest_complete(requests[i]);
    MPI_Testsome(several, requests, &count, indices, MPI_STATUSES_IGNORE);
    CHECK(count == 3 && indices[0] == 0 && indices[1] == 2 && indices[2] == 3);
    for (i = 0; i < 3; i++)
        check_ended(&states[indices[i]], requests[indices[i]], MPI_STATUS_IGNORE);
}

/* Among requests of messages. */
static void all(void) {
    const int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    State states[several];
    MPI_Request requests[several + 2];
    MPI_Status statuses[several + 2];
    int in = -1, out = me, flag = 1, round, i;
    for (round = 0; round < 2; round++) {
        start_all(states, requests);
        MPI_Irecv(&in, 1, MPI_INT, last, 9, MPI_COMM_WORLD, &requests[several]);
        MPI_Isend(&out, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[several + 1]);
        for (i = 0; i < several - 1; i++) MPI_Grequest_complete(requests[i]);
        MPI_Testall(several + 2, requests, &flag, statuses);
        CHECK(!flag && states[0].queries == 0);
        MPI_Grequest_complete(requests[several - 1]);
        if (round == 0)
            MPI_Waitall(several + 2, requests, statuses);
        else
            do MPI_Testall(several + 2, requests, &flag, statuses);
            while (!flag);
        for (i = 0; i < several; i++) check_ended(&states[i], requests[i], &statuses[i]);
        CHECK(in == last && statuses[several].MPI_SOURCE == last);
    }
}

/* Freed before it is complete, and after: the free function runs with what comes last. */
static void freed(void) {
    State state;
    MPI_Request request = start(&state, 1), handle = request;
    MPI_Request_free(&handle);
    CHECK(handle == MPI_REQUEST_NULL && state.frees == 0);
    MPI_Grequest_complete(request);
    CHECK(state.frees == 1 && state.queries == 0);
    request = start(&state, 2);
    MPI_Grequest_complete(request);
    CHECK(state.frees == 0);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && state.frees == 1 && state.queries == 0);
}

static void cancelled(void) {
    State state;
    MPI_Status status;
    MPI_Request request = start(&state, 7);
    MPI_Cancel(&request);
    CHECK(state.cancels == 1 && state.cancelled_when_complete == 0);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    check_ended(&state, request, &status);
    request = start(&state, 8);
    MPI_Grequest_complete(request);
    MPI_Cancel(&request);
    CHECK(state.cancels == 1 && state.cancelled_when_complete == 1);
    MPI_Wait(&request, &status);
    check_ended(&state, request, &status);
}

/* The call returns the error of the function; if two fail, the error of the later one. */
static void errors(void) {
    State state, states[several];
    MPI_Request request, requests[several];
    MPI_Status status, statuses[several];
    int mine, more, flag, index;
    MPI_Add_error_class(&mine);
    MPI_Add_error_code(mine, &more);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    request = start(&state, 0);
    state.query_code = more;
    MPI_Grequest_complete(request);
    CHECK(MPI_Request_get_status(request, &flag, &status) == more && state.frees == 0);
    state.queries = 0;
    CHECK(MPI_Wait(&request, &status) == more);
    check_ended(&state, request, MPI_STATUS_IGNORE);
    request = start(&state, 0);
    state.query_code = more;
    state.free_code = MPI_ERR_NO_MEM;
    MPI_Grequest_complete(request);
    CHECK(MPI_Waitany(1, &request, &index, &status) == MPI_ERR_NO_MEM);
    check_ended(&state, request, MPI_STATUS_IGNORE);
    request = start(&state, 0);
    state.free_code = more;
    MPI_Grequest_complete(request);
    CHECK(MPI_Request_free(&request) == more && request == MPI_REQUEST_NULL);
    start_all(states, requests);
    states[2].free_code = more;
    for (index = 0; index < several; index++) MPI_Grequest_complete(requests[index]);
    CHECK_CLASS(MPI_Waitall(several, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[2].MPI_ERROR == more && statuses[1].MPI_ERROR == MPI_SUCCESS);
    for (index = 0; index < several; index++)
        check_ended(&states[index], requests[index], &statuses[index]);
    /* Wrong calls. */
    CHECK_CLASS(MPI_Grequest_start(query, NULL, cancel, NULL, &request), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    request = start(&state, 0);
    MPI_Grequest_complete(request);
    CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(&index, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_SELF, &request);
    CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void* complete_later(void* request) {
    const struct timespec pause = {0, 30000000}; /* long enough that the others sleep */
    nanosleep(&pause, NULL);
    MPI_Grequest_complete(*(MPI_Request*)request);
    return NULL;
}

/* The thread that waits sleeps, and nothing arrives but the word of another thread. */
static void by_threads(void) {
    int round;
    for (round = 0; round < 20; round++) {
        State state;
        MPI_Status status;
        MPI_Request request = start(&state, round), handle = request;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, complete_later, &handle) == 0);
        MPI_Wait(&request, &status);
        check_ended(&state, request, &status);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static void statuses(void) {
    MPI_Status status;
    int value = -1;
    memset(&status, 0, sizeof status);
    MPI_Status_set_source(&status, 11);
    MPI_Status_set_tag(&status, 12);
    MPI_Status_set_error(&status, MPI_ERR_OTHER);
    CHECK(status.MPI_SOURCE == 11 && status.MPI_TAG == 12 && status.MPI_ERROR == MPI_ERR_OTHER);
    MPI_Status_get_source(&status, &value);
    CHECK(value == 11);
    MPI_Status_get_tag(&status, &value);
    CHECK(value == 12);
    MPI_Status_get_error(&status, &value);
    CHECK(value == MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Status_set_tag(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Status_get_tag(&status, NULL), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {
    {"one", one},           {"any", any},
    {"some", some},         {"all", all},
    {"freed", freed},       {"cancelled", cancelled},
    {"errors", errors},     {"by_threads", by_threads},
    {"statuses", statuses},
};

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
