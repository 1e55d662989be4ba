/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that return without waiting, repeated until something changes, on ranks that share a core.
 * Each call must yield the core, or the other rank would wait for the end of a time slice. */
#include "cases.h"

#include <sys/syscall.h>
#include <unistd.h>

static int yields;

/* Replaces the function of the C library, also for the library under test. */
int sched_yield(void) {
    yields++;
    return (int)syscall(SYS_sched_yield);
}

static const int calls = 1000;

/* The other ranks wait in a barrier, so that nothing moves. */
static void begin(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    yields = 0;
}

static void tests(void) {
    MPI_Request request;
    int flag = 0, i, value = 0;
    MPI_Irecv(&value, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &request);
    begin();
    if (me == 0) {
        for (i = 0; i < calls; i++) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag && yields >= calls / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void probes(void) {
    int flag = 0, i;
    begin();
    if (me == 0) {
        for (i = 0; i < calls; i++)
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag && yields >= calls / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Most accesses take no time, so only some of them yield. */
static void accesses(void) {
    MPI_Win win;
    int *memory, value = 0, i;
    MPI_Win_allocate(sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = 1;
    begin();
    if (me == 0) {
        for (i = 0; i < calls; i++) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
        CHECK(value == 1 && yields >= calls / 200);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

/* An exposure epoch that the other rank has not ended. */
static void epochs(void) {
    MPI_Win win;
    MPI_Group world, others;
    int *memory, flag = 0, i;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &me, &others);
    MPI_Win_post(others, 0, win);
    MPI_Win_start(others, 0, win);
    begin();
    if (me == 0) {
        for (i = 0; i < calls; i++) MPI_Win_test(win, &flag);
        CHECK(!flag && yields >= calls / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    MPI_Win_free(&win);
}

static const Case cases[] = {
    {"tests", tests}, {"probes", probes}, {"accesses", accesses}, {"epochs", epochs}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
