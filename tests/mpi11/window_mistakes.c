/* SPDX-License-Identifier: BSD-3-Clause */
/* The errors of calls on windows. */
#include "window_makes.h"

static MPI_Win failed_on;
static int failed_with;
static void handler(MPI_Win* win, int* code, ...) {
    failed_on = *win;
    failed_with = *code;
}

static void arguments(void) {
    int64_t value = 0;
    int flag = 0, unit = 0;
    void* base = NULL;
    MPI_Aint size = 0;
    MPI_Win win = MPI_WIN_NULL, freed;
    MPI_Errhandler own, got;
    MPI_Comm world;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, world, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_create(&value, 8, 0, MPI_INFO_NULL, world, &win), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Win_create(NULL, me == 0 ? 8 : 0, 1, MPI_INFO_NULL, world, &win), MPI_ERR_BASE);
    CHECK(win == MPI_WIN_NULL);
    CHECK_CLASS(MPI_Win_create(&value, 8, 1, MPI_INFO_NULL, world, NULL), MPI_ERR_ARG);
    make(CREATED);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_complete(window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_wait(window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_test(window, &flag), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(0, window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock_all(window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush(0, window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush_all(window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock(1, 0, 0, window), MPI_ERR_LOCKTYPE);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, ranks, 0, window), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1, window), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_fence(1, window), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_start(MPI_GROUP_NULL, 0, window), MPI_ERR_GROUP);
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock_all(0, window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_fence(0, window), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_free(&window), MPI_ERR_RMA_SYNC);
    if (ranks > 1)
        CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, window),
                    MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, ranks, 0, 1, MPI_INT64_T, window), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Put(&value, -1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT64_T, window), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, 0, -1, 1, MPI_INT64_T, window), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, 0, WORDS, 1, MPI_INT64_T, window),
                MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, window), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_NO_OP, window),
                MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_MAXLOC, window),
                MPI_ERR_OP);
    CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &value, MPI_DOUBLE, 0, 0, window),
                MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Win_attach(window, &value, 8), MPI_ERR_RMA_FLAVOR);
    CHECK(MPI_Win_shared_query(window, (me + 1) % ranks, &size, &unit, &base) == MPI_SUCCESS);
    CHECK(ranks == 1 || (size == 0 && base == NULL));
    CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
    MPI_Win_create_errhandler(handler, &own);
    MPI_Win_set_errhandler(window, own);
    MPI_Win_get_errhandler(window, &got);
    CHECK(got == own);
    MPI_Errhandler_free(&own);
    MPI_Errhandler_free(&got);
    CHECK_CLASS(MPI_Win_flush(0, window), MPI_ERR_RMA_SYNC);
    CHECK(failed_on == window);
    MPI_Win_call_errhandler(window, MPI_ERR_RMA_CONFLICT);
    CHECK(failed_with == MPI_ERR_RMA_CONFLICT);
    freed = window;
    unmake();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_fence(0, freed), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_free(&window), MPI_ERR_WIN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&world);
}

/* Memory that a target has not attached. */
static void unattached(void) {
    static int64_t other;
    int64_t value = 1, old = 0, both[2] = {1, 2};
    MPI_Aint address, all[64];
    int right, code;
    void* base;
    make(DYNAMIC);
    CHECK_CLASS(MPI_Win_shared_query(window, 0, &address, &code, &base), MPI_ERR_RMA_FLAVOR);
    right = (me + 1) % ranks;
    CHECK_CLASS(MPI_Win_attach(window, own_memory + 1, 8), MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_detach(window, own_memory) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(window, own_memory, 8) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(window, own_memory + 1, sizeof own_memory - 8) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get_address(&other, &address);
    MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
    code = MPI_Put(&value, 1, MPI_INT64_T, right, all[right], 1, MPI_INT64_T, window);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(right, window);
    CHECK_CLASS(code, MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_flush(right, window) == MPI_SUCCESS); /* reported only once */
    /* Two pieces that follow each other. */
    CHECK(MPI_Put(both, 2, MPI_INT64_T, right, at(right, 0), 2, MPI_INT64_T, window) ==
          MPI_SUCCESS);
    MPI_Get(&old, 1, MPI_INT64_T, right, at(right, 1), 1, MPI_INT64_T, window);
    CHECK(MPI_Win_unlock(right, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(other == 0 && words[0] == 1 && words[1] == 2);
    CHECK(MPI_Win_detach(window, own_memory) == MPI_SUCCESS);
    CHECK(MPI_Win_detach(window, own_memory + 1) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    unmake();
}

static const Case cases[] = {
    {"arguments", arguments},
    {"unattached", unattached},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
