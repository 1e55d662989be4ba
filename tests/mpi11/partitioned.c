/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned messages: different numbers of partitions at the two ends, datatypes, order, threads
 * that mark partitions at the same time, mistakes. */
#include "cases.h"

#include <pthread.h>
#include <sched.h>

enum { elements = 5040 }; /* divisible by all numbers of partitions below */

static void fill(int* data, int round) {
    for (int i = 0; i < elements; i++) data[i] = 1000 * round + i;
}
static void check(const int* data, int round, int from, int count) {
    for (int i = from; i < from + count; i++) CHECK(data[i] == 1000 * round + i);
}

/* To the next rank and from the one before, three rounds; partitions become ready in another order
 * each time. */
static void around(int send_partitions, int receive_partitions) {
    static int out[elements], in[elements];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int round, p, count;
    const int ns = elements / send_partitions, nr = elements / receive_partitions;
    MPI_Psend_init(out, send_partitions, ns, MPI_INT, (me + 1) % ranks, 7, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, receive_partitions, nr, MPI_INT, (me + ranks - 1) % ranks, 7,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (round = 0; round < 3; round++) {
        int flag = 0;
        fill(out, round);
        memset(in, 0xff, sizeof in);
        MPI_Startall(2, requests);
        for (p = 0; p < send_partitions; p++)
            MPI_Pready(round == 1 ? send_partitions - 1 - p : p, requests[0]);
        for (p = receive_partitions - 1; round > 0 && p >= 0; p--, flag = 0) {
            for (; !flag; sched_yield()) MPI_Parrived(requests[1], p, &flag);
            check(in, round, p * nr, nr);
        }
        MPI_Waitall(2, requests, statuses);
        check(in, round, 0, elements);
        CHECK(statuses[1].MPI_SOURCE == (me + ranks - 1) % ranks && statuses[1].MPI_TAG == 7);
        MPI_Get_count(&statuses[1], MPI_INT, &count);
        CHECK(count == elements);
        MPI_Parrived(requests[1], 0, &flag); /* not started: nothing is missing */
        CHECK(flag);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void any_numbers(void) {
    const int numbers[][2] = {{1, 1},  {1, 16},  {16, 1}, {2, 3},    {3, 2},
                              {7, 16}, {16, 63}, {63, 7}, {5040, 3}, {3, 5040}};
    for (int i = 0; i < 10; i++) around(numbers[i][0], numbers[i][1]);
}

/* Ranges and lists; large enough for rendezvous. */
static void large(void) {
    enum { partitions = 6, each = 100000 };
    double* out = malloc(sizeof(double) * partitions * each);
    double* in = malloc(sizeof(double) * partitions * each);
    const int list[] = {5, 0};
    MPI_Request requests[2];
    MPI_Psend_init_c(out, partitions, each, MPI_DOUBLE, (me + 1) % ranks, 1, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init_c(in, 2, partitions / 2 * each, MPI_DOUBLE, (me + ranks - 1) % ranks, 1,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < partitions * each; i++) out[i] = i + round;
        MPI_Startall(2, requests);
        MPI_Pready_list(2, list, requests[0]);
        MPI_Pready_range(1, 4, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < partitions * each; i++) CHECK(in[i] == i + round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(out);
    free(in);
}

/* Every second element at the sender; blocks of two of every three at the receiver, whose partitions
 * do not fit the sender's. */
static void scattered(void) {
    static int out[240], in[180];
    MPI_Datatype second, two_of_three;
    MPI_Request requests[2];
    int flag = 0;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &second);
    MPI_Type_commit(&second);
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 3 * sizeof(int), &two_of_three);
    MPI_Type_commit(&two_of_three);
    for (int i = 0; i < 240; i++) out[i] = i;
    MPI_Psend_init(out, 8, 15, second, (me + 1) % ranks, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in, 5, 12, two_of_three, (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 2; round++) {
        memset(in, 0xff, sizeof in);
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 7, requests[0]);
        for (flag = 0; round == 1 && !flag;) MPI_Parrived(requests[1], 3, &flag);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 120; k++) CHECK(in[k / 2 * 3 + k % 2] == 2 * k);
        for (int k = 0; k < 60; k++) CHECK(in[k * 3 + 2] == -1);
    }
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
    MPI_Type_free(&second);
    MPI_Type_free(&two);
    MPI_Type_free(&two_of_three);
}

/* Requests match in the order of the calls, by tag; ordinary messages of the tag are others. */
static void order(void) {
    int out[3] = {10, 20, 30}, in[3] = {0, 0, 0}, plain = 40;
    MPI_Request requests[6], receive;
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    MPI_Irecv(&plain, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
    for (int i = 0; i < 3; i++)
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, next, i == 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[i]);
    for (int i = 0; i < 3; i++) { /* the middle one first: it has a tag of its own */
        const int k = (i + 1) % 3 == 0 ? 2 : (i == 0 ? 1 : 0);
        MPI_Precv_init(&in[k], 1, 1, MPI_INT, before, k == 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[3 + k]);
    }
    MPI_Startall(6, requests);
    for (int i = 2; i >= 0; i--) MPI_Pready(0, requests[i]);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++) CHECK(in[i] == out[i]);
    int mine = 77 + me;
    MPI_Send(&mine, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK(plain == 77 + before);
    for (int i = 0; i < 6; i++) MPI_Request_free(&requests[i]);
}

enum { threads = 4, per_thread = 16 };
static MPI_Request shared_request;
static int shared_out[threads * per_thread];

static void* mark(void* which) {
    for (int i = 0; i < per_thread; i++) {
        const int partition = i * threads + (int)(size_t)which;
        shared_out[partition] = partition + me;
        MPI_Pready(partition, shared_request);
    }
    return NULL;
}

static void* await(void* which) {
    for (int i = 0; i < per_thread; i++)
        for (int flag = 0; !flag; sched_yield()) /* there may be more threads than cores */
            MPI_Parrived(shared_request, i * threads + (int)(size_t)which, &flag);
    return NULL;
}

static void by_threads(void) {
    static int in[threads * per_thread];
    pthread_t workers[threads];
    MPI_Request send, receive;
    int level;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) return;
    const int before = (me + ranks - 1) % ranks;
    MPI_Psend_init(shared_out, threads * per_thread, 1, MPI_INT, (me + 1) % ranks, 3,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, threads * per_thread, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &receive);
    for (int round = 0; round < 6; round++) {
        MPI_Start(&receive);
        MPI_Start(&send);
        shared_request = send;
        for (int t = 0; t < threads; t++) pthread_create(&workers[t], NULL, mark, (void*)(size_t)t);
        if (round % 2 == 0) MPI_Wait(&send, MPI_STATUS_IGNORE); /* while they mark */
        for (int t = 0; t < threads; t++) pthread_join(workers[t], NULL);
        if (round % 2 == 1) MPI_Wait(&send, MPI_STATUS_IGNORE);
        shared_request = receive;
        for (int t = 0; t < threads; t++)
            pthread_create(&workers[t], NULL, await, (void*)(size_t)t);
        for (int t = 0; t < threads; t++) pthread_join(workers[t], NULL);
        for (int i = 0; i < threads * per_thread; i++) CHECK(in[i] == i + before);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void mistakes(void) {
    int data[8] = {0}, flag;
    const int list[] = {1, 9};
    MPI_Comm comm;
    MPI_Request send, receive, plain;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Psend_init(data, 0, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Psend_init(data, 1, -1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send),
                MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Psend_init(data, 1, 1, MPI_INT, 5, 0, comm, MPI_INFO_NULL, &send),
                MPI_ERR_RANK);
    CHECK_CLASS(MPI_Precv_init(data, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &send),
                MPI_ERR_RANK);
    CHECK_CLASS(MPI_Precv_init(data, 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_INFO_NULL, &send),
                MPI_ERR_TAG);
    MPI_Psend_init(data, 8, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send);
    MPI_Precv_init(data, 2, 3, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &receive);
    MPI_Send_init(data, 1, MPI_INT, 0, 0, comm, &plain);
    CHECK_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST); /* not started */
    MPI_Start(&send);
    MPI_Start(&receive);
    CHECK_CLASS(MPI_Pready(8, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(-1, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_range(6, 8, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_range(3, 2, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_list(2, list, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(1, send), MPI_ERR_ARG); /* the list began with it */
    CHECK_CLASS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG);
    MPI_Pready(0, send);
    MPI_Pready_range(2, 7, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    CHECK_CLASS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE); /* 32 bytes for 24 */
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Request_free(&plain);
    /* a receive without a sender, and messages to MPI_PROC_NULL */
    MPI_Precv_init(data, 2, 3, MPI_INT, 0, 4, comm, MPI_INFO_NULL, &receive);
    MPI_Request_free(&receive);
    MPI_Psend_init(data, 8, 1, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_INFO_NULL, &send);
    MPI_Precv_init(data, 8, 1, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_INFO_NULL, &receive);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Parrived(receive, 7, &flag);
    CHECK(flag);
    MPI_Pready_range(0, 7, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
    const Case cases[] = {{"any_numbers", any_numbers}, {"large", large},
                          {"scattered", scattered},     {"order", order},
                          {"by_threads", by_threads},   {"mistakes", mistakes}};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
