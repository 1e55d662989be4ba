/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_soak SEED ROUNDS: threads that cancel, detach, disconnect, probe and complete each other's
 * requests concurrently, in any order. A failed round prints its seed. Each wait ends by an action
 * of another thread or rank, so a wait without a wake-up hangs. */
#include "cases.h"

#include <pthread.h>
#include <stdint.h>

enum { workers = 4, steps = 12, large = 5000, buffer_bytes = 1 << 20 };

static unsigned seed;
static MPI_Comm comms[workers];
static MPI_Request crossed[workers]; /* waited for by the next thread of the rank */
static pthread_barrier_t meeting;

static unsigned draw(unsigned* state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 16;
}

/* A receive without a match, which another thread of the rank waits for. */
static void cancels(int w, unsigned* state) {
    int in = -1, flag = 0;
    MPI_Status status;
    const int next = (w + 1) % workers;
    MPI_Irecv(&in, 1, MPI_INT, (me + 1) % ranks, 500, comms[w], &crossed[w]);
    pthread_barrier_wait(&meeting);
    if (draw(state) % 2) MPI_Iprobe(MPI_ANY_SOURCE, 501, comms[w], &flag, MPI_STATUS_IGNORE);
    if (w % 2 == 0) MPI_Cancel(&crossed[w]), MPI_Cancel(&crossed[next]);
    MPI_Wait(&crossed[next], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    pthread_barrier_wait(&meeting);
}

static int nothing(void* extra) {
    (void)extra;
    return MPI_SUCCESS;
}
static int no_query(void* extra, MPI_Status* status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int no_cancel(void* extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}
static void generalized(int w) {
    const int next = (w + 1) % workers;
    MPI_Grequest_start(no_query, nothing, no_cancel, NULL, &crossed[w]);
    pthread_barrier_wait(&meeting);
    if (w % 2 == 0) MPI_Grequest_complete(crossed[w]), MPI_Grequest_complete(crossed[next]);
    MPI_Wait(&crossed[next], MPI_STATUS_IGNORE);
    pthread_barrier_wait(&meeting);
}

/* Messages of the attached buffer, large enough to wait for their receives. One thread detaches it
 * while others send by it and receive. */
static void detaches(int w, unsigned* state) {
    static char buffer[buffer_bytes];
    static int out[large];
    int* const in = malloc(sizeof out);
    const int n = draw(state) % 2 ? large : 10;
    void* detached = NULL;
    int size = 0;
    MPI_Comm copy;
    MPI_Comm_dup(comms[w], &copy);
    if (w == 0) CHECK(MPI_Buffer_attach(buffer, buffer_bytes) == MPI_SUCCESS);
    pthread_barrier_wait(&meeting);
    MPI_Bsend(out, n, MPI_INT, (me + 1) % ranks, w, copy);
    pthread_barrier_wait(&meeting);
    if (w == 0) {
        MPI_Request request;
        MPI_Irecv(in, large, MPI_INT, (me + ranks - 1) % ranks, w, copy, &request);
        MPI_Buffer_detach(&detached, &size);
        CHECK(detached == buffer && size == buffer_bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, w, copy, &status);
        MPI_Recv(in, large, MPI_INT, status.MPI_SOURCE, w, copy, MPI_STATUS_IGNORE);
    }
    MPI_Comm_disconnect(&copy);
    pthread_barrier_wait(&meeting);
    free(in);
}

/* Each thread takes what others of its rank send to it and to themselves. */
static void probes(int w) {
    const int to = (w + 1) % workers;
    int value = w, got = -1;
    MPI_Request sent;
    MPI_Message message;
    MPI_Isend(&value, 1, MPI_INT, me, 600 + to, comms[0], &sent);
    MPI_Mprobe(me, 600 + w, comms[0], &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(got == (w + workers - 1) % workers);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&meeting);
}

static void* work(void* number) {
    const int w = (int)(intptr_t)number;
    unsigned order = seed, own = seed * 31u + (unsigned)(me * workers + w);
    int step;
    for (step = 0; step < steps; step++) {
        const unsigned what = draw(&order) % 4; /* the same for all threads and ranks */
        if (what == 0) cancels(w, &own);
        if (what == 1) generalized(w);
        if (what == 2) detaches(w, &order);
        if (what == 3) probes(w);
    }
    return NULL;
}

int main(int argc, char** argv) {
    int round, w, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(argc == 3 && provided == MPI_THREAD_MULTIPLE);
    for (round = 0; round < atoi(argv[2]); round++) {
        pthread_t threads[workers];
        seed = (unsigned)atoi(argv[1]) + (unsigned)round;
        if (me == 0 && getenv("THREAD_SOAK_TELLS") != NULL)
            printf("seed %u\n", seed), fflush(stdout);
        pthread_barrier_init(&meeting, NULL, workers);
        for (w = 0; w < workers; w++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[w]);
        for (w = 0; w < workers; w++)
            CHECK(pthread_create(&threads[w], NULL, work, (void*)(intptr_t)w) == 0);
        for (w = 0; w < workers; w++) CHECK(pthread_join(threads[w], NULL) == 0);
        for (w = 0; w < workers; w++) MPI_Comm_free(&comms[w]);
        pthread_barrier_destroy(&meeting);
    }
    MPI_Finalize();
    return 0;
}
