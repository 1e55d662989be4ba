/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of each rank that access the window of the next rank at the same moment, under
 * MPI_Win_lock_all. */
#include "window_makes.h"

#include <pthread.h>

enum { workers = 4, steps = 60, SUM = 0, COUNT = 1, OWN = 2 }; /* words of each window */

static unsigned char seen[workers * steps]; /* values that fetches of this rank returned */

static void put_and_get(int w, int target, int step) {
    const int word = OWN + w; /* that no other thread uses */
    const int64_t value = 1000 * me + step;
    int64_t back = -1;
    MPI_Request request;
    MPI_Rput(&value, 1, MPI_INT64_T, target, at(target, word), 1, MPI_INT64_T, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(target, window);
    MPI_Get(&back, 1, MPI_INT64_T, target, at(target, word), 1, MPI_INT64_T, window);
    MPI_Win_flush_local(target, window);
    CHECK(back == value);
}

static void* work(void* number) {
    const int w = (int)(intptr_t)number;
    const int64_t one = 1;
    int step;
    for (step = 0; step < steps; step++) {
        const int target = (me + 1) % ranks;
        int64_t old = -1;
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, at(target, SUM), 1, MPI_INT64_T, MPI_SUM,
                       window);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, at(target, COUNT), MPI_SUM, window);
        if (step % 2 == 0)
            MPI_Win_flush(target, window);
        else
            MPI_Win_flush_all(window);
        CHECK(old >= 0 && old < workers * steps);
        /* No other thread has got the same value. */
        CHECK(__atomic_exchange_n(&seen[old], 1, __ATOMIC_RELAXED) == 0);
        put_and_get(w, target, step);
    }
    return NULL;
}

static void run(Make how) {
    pthread_t threads[workers];
    int w;
    make(how);
    memset(seen, 0, sizeof seen);
    MPI_Win_lock_all(0, window);
    for (w = 0; w < workers; w++)
        CHECK(pthread_create(&threads[w], NULL, work, (void*)(intptr_t)w) == 0);
    for (w = 0; w < workers; w++) CHECK(pthread_join(threads[w], NULL) == 0);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(words[SUM] == workers * steps && words[COUNT] == workers * steps);
    MPI_Barrier(MPI_COMM_WORLD);
    unmake();
}

static void created(void) { run(CREATED); }
static void allocated(void) { run(ALLOCATED); }
static void dynamic(void) { run(DYNAMIC); }

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"created", created}, {"allocated", allocated}, {"dynamic", dynamic}};
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 1);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
