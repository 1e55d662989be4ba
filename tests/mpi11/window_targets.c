/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows whose target makes no calls, large accesses, ranks that compete for a lock, and the
 * findings of mpi.check. */
#include "cases.h"

#include <stdint.h>
#include <unistd.h>

/* ---- a target that calls nothing ---- */

enum { PUT, SUM, SWAP, GOT, DONE, WORDS = 1024 };

static void access_all(MPI_Win window, int target) {
    int64_t one = 1, wanted = 0, seven = 7, old = -1, row[8], got[8];
    MPI_Datatype every_other;
    int i;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    for (i = 0; i < 3; i++)
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, SUM, 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, SUM, MPI_SUM, window);
    MPI_Win_flush(target, window);
    CHECK(old == 3);
    MPI_Compare_and_swap(&seven, &wanted, &old, MPI_INT64_T, target, SWAP, window);
    MPI_Win_flush(target, window);
    CHECK(old == 0);
    MPI_Type_vector(8, 1, 2, MPI_INT64_T, &every_other);
    MPI_Type_commit(&every_other);
    for (i = 0; i < 8; i++) row[i] = 100 + i;
    MPI_Put(row, 8, MPI_INT64_T, target, 16, 1, every_other, window);
    MPI_Win_flush(target, window);
    MPI_Get(got, 8, MPI_INT64_T, target, 16, 1, every_other, window);
    MPI_Win_flush(target, window);
    CHECK(memcmp(row, got, sizeof row) == 0);
    MPI_Accumulate(row, 8, MPI_INT64_T, target, 16, 1, every_other, MPI_SUM, window);
    MPI_Put(&seven, 1, MPI_INT64_T, target, PUT, 1, MPI_INT64_T, window);
    MPI_Win_flush(target, window);
    MPI_Put(&one, 1, MPI_INT64_T, target, DONE, 1, MPI_INT64_T, window);
    MPI_Win_unlock(target, window);
    MPI_Type_free(&every_other);
}

/* Rank 1 waits for a word of its own memory, outside of MPI. */
static void without_target(int64_t* memory, MPI_Win window) {
    int i;
    if (me == 0) access_all(window, 1);
    if (me == 1) {
        while (*(volatile int64_t*)&memory[DONE] == 0) usleep(100);
        CHECK(memory[PUT] == 7 && memory[SUM] == 4 && memory[SWAP] == 7);
        for (i = 0; i < 8; i++) CHECK(memory[16 + 2 * i] == 2 * (100 + i) && memory[17 + 2 * i] == 0);
    }
    MPI_Win_free(&window);
}

/* On one host: memory of the library, and of the program, which the library maps or not. */
static void away(void) {
    static int64_t own[WORDS];
    int64_t* memory;
    MPI_Win window;
    CHECK(ranks > 1);
    MPI_Win_allocate(sizeof own, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, sizeof own);
    MPI_Barrier(MPI_COMM_WORLD);
    without_target(memory, window);
    MPI_Win_create(own, sizeof own, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    without_target(own, window);
    MPI_Alloc_mem(sizeof own, MPI_INFO_NULL, &memory);
    memset(memory, 0, sizeof own);
    MPI_Win_create(memory, sizeof own, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Barrier(MPI_COMM_WORLD);
    without_target(memory, window);
    MPI_Free_mem(memory);
}

/* ---- accesses to nothing, and the name of no window ---- */

static void nothing(void) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Win window;
    int64_t* memory;
    CHECK(MPI_Win_get_name(MPI_WIN_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_WIN_NULL") == 0 && length == 12);
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    /* No operation adds bytes, but none are added. */
    CHECK(MPI_Get_accumulate(name, 0, MPI_BYTE, name, 0, MPI_BYTE, 0, 0, 0, MPI_BYTE, MPI_SUM, window) ==
          MPI_SUCCESS);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* ---- large accesses ---- */

static unsigned char byte_of(int origin, size_t i) { return (unsigned char)(i * 31 + i / 4096 + (size_t)origin * 7); }

/* All ranks put a stretch into the window of the next, read it back, and the owner finds it. */
static void large(void) {
    enum { bytes = 3000000, front = 1000 };
    unsigned char *memory, *here = malloc(2 * (bytes / 2 * 2)), *back = malloc(bytes);
    const int next = (me + 1) % ranks, former = (me + ranks - 1) % ranks;
    MPI_Datatype halves;
    MPI_Win window;
    size_t i;
    MPI_Win_allocate(bytes + front, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, bytes + front);
    memset(back, 0, bytes);
    for (i = 0; i < bytes; i++) here[i] = byte_of(me, i);
    MPI_Win_fence(0, window);
    MPI_Put(here, bytes, MPI_BYTE, next, front, bytes, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    for (i = 0; i < bytes; i++) CHECK(memory[front + i] == byte_of(former, i));
    MPI_Win_fence(0, window);
    MPI_Win_lock_all(0, window);
    MPI_Get(back, bytes, MPI_BYTE, next, front, bytes, MPI_BYTE, window);
    MPI_Win_flush(next, window);
    CHECK(memcmp(back, here, bytes) == 0);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    /* From scattered memory, with a request, and a small put behind it. */
    MPI_Type_vector(bytes / 2000, 1000, 2000, MPI_BYTE, &halves);
    MPI_Type_commit(&halves);
    {
        MPI_Request request;
        const unsigned char last = 200;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
        MPI_Rput(here, 1, halves, next, 0, bytes / 2, MPI_BYTE, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Put(&last, 1, MPI_BYTE, next, bytes, 1, MPI_BYTE, window);
        MPI_Win_unlock(next, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < bytes / 2; i++) CHECK(memory[i] == byte_of(former, i / 1000 * 2000 + i % 1000));
    CHECK(memory[bytes] == 200);
    MPI_Type_free(&halves);
    MPI_Win_free(&window);
    free(here);
    free(back);
}

/* ---- stores before loads ---- */

/* Two ranks each change a word, flush, and read the word of the other: at least one of them sees the
 * change of the other. */
static void crossed(void) {
    enum { rounds = 30000, apart = 64 }; /* words in cache lines of their own */
    int64_t *memory, round, missed = 0;
    int64_t all[2];
    const int other = 1 - me;
    MPI_Win window;
    CHECK(ranks == 2);
    MPI_Win_allocate(8 * 2 * apart, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    memset(memory, 0, 8 * 2 * apart);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (round = 1; round <= rounds; round++) {
        int64_t seen = 0, one = 1;
        int i;
        for (i = 0; i < (int)(round % 7); i++) MPI_Win_flush(0, window);
        if (round % 2 == 0)
            MPI_Put(&round, 1, MPI_INT64_T, 0, me * apart, 1, MPI_INT64_T, window);
        else
            MPI_Accumulate(&one, 1, MPI_INT64_T, 0, me * apart, 1, MPI_INT64_T, MPI_SUM, window);
        MPI_Win_flush(0, window);
        MPI_Get(&seen, 1, MPI_INT64_T, 0, other * apart, 1, MPI_INT64_T, window);
        MPI_Win_flush(0, window);
        all[me] = seen;
        MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT64_T, all, 1, MPI_INT64_T, MPI_COMM_WORLD);
        missed += all[0] < round && all[1] < round;
    }
    CHECK(missed == 0);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* ---- steps of epochs ---- */

/* All ranks of a ring exchange a word with both neighbours in each round, and some of them are late,
 * so the others sleep. Every other window is reached by packets. */
static void steps(void) {
    enum { late = 300 /* us */ };
    const char* const given = getenv("STEPS");
    const int rounds = given != NULL ? atoi(given) : 400;
    const int next = (me + 1) % ranks, former = (me + ranks - 1) % ranks;
    int64_t *memory, own[2] = {0, 0};
    int neighbours[2], round, make;
    unsigned state = (unsigned)me + 1;
    MPI_Group all, both;
    neighbours[0] = next;
    neighbours[1] = former;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, next == former ? 1 : 2, neighbours, &both);
    for (make = 0; make < 2; make++) {
        MPI_Aint base = 0, bases[64];
        MPI_Win window;
        memory = own;
        if (make == 0) {
            MPI_Win_allocate(16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
            MPI_Win_attach(window, own, sizeof own);
            MPI_Get_address(own, &base);
        }
        MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
        for (round = 0; round < rounds; round++) {
            const int64_t value = 1000 * me + round;
            int flag = 0;
            state = state * 1103515245u + 12345u;
            if (state >> 16 & 1 && (state >> 17) % 8 == 0) usleep((state >> 20) % late);
            MPI_Win_post(both, 0, window);
            MPI_Win_start(both, 0, window);
            MPI_Put(&value, 1, MPI_INT64_T, next, bases[next], 1, MPI_INT64_T, window);
            MPI_Put(&value, 1, MPI_INT64_T, former, bases[former] + 8, 1, MPI_INT64_T, window);
            MPI_Win_complete(window);
            if (round % 3 == 0)
                while (!flag) MPI_Win_test(window, &flag);
            else
                MPI_Win_wait(window);
            CHECK(memory[0] == 1000 * former + round);
            CHECK(memory[1] == 1000 * next + round);
        }
        MPI_Win_free(&window);
    }
    MPI_Group_free(&both);
    MPI_Group_free(&all);
}

/* ---- one lock for all ---- */

/* Every rank gets the lock again and again, beside ranks that release it and want it back. */
static void contended(void) {
    enum { rounds = 200 };
    int64_t* count;
    int64_t value, one = 1;
    MPI_Win window;
    int i;
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &count, &window);
    *count = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < rounds; i++) {
        const int kind = i % 5 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        MPI_Win_lock(kind, 0, 0, window);
        if (kind == MPI_LOCK_SHARED) {
            MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, window);
        } else {
            MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window);
            MPI_Win_flush(0, window);
            value++;
            MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window);
        }
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window);
    MPI_Win_unlock(0, window);
    CHECK(value == (int64_t)rounds * ranks);
    MPI_Win_free(&window);
}

/* ---- what mpi.check finds ---- */

static int64_t* some_words;
static MPI_Win some_window(void) {
    MPI_Win window;
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &some_words, &window);
    MPI_Win_set_name(window, "halo");
    return window;
}

/* Two puts of one rank to the same bytes. */
static void twice(void) {
    const int64_t value[2] = {1, 2};
    MPI_Win window = some_window();
    MPI_Win_lock_all(0, window);
    if (me == 0) {
        MPI_Put(value, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, window);
        MPI_Win_flush(1, window);
        MPI_Put(value, 2, MPI_INT64_T, 1, 0, 2, MPI_INT64_T, window);
        MPI_Put(value, 1, MPI_INT64_T, 1, 1, 1, MPI_INT64_T, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* Puts of two ranks to the same bytes between fences. */
static void both(void) {
    const int64_t value = 1;
    MPI_Win window = some_window();
    MPI_Win_fence(0, window);
    if (me < 2) MPI_Put(&value, 1, MPI_INT64_T, 2, 3, 1, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* Accesses beside each other, and accumulates to the same bytes: nothing to report. */
static void beside(void) {
    const int64_t value = 1;
    int64_t got;
    MPI_Win window = some_window();
    MPI_Win_fence(0, window);
    MPI_Accumulate(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Accumulate(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, window);
    if (me < 2) MPI_Put(&value, 1, MPI_INT64_T, 0, 1 + me, 1, MPI_INT64_T, window);
    MPI_Get(&got, 1, MPI_INT64_T, 0, 5, 1, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    if (me == 0) MPI_Put(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void left_open(void) {
    MPI_Win window = some_window();
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
}

static const Case cases[] = {
    {"away", away},
    {"nothing", nothing},
    {"large", large},
    {"crossed", crossed},
    {"steps", steps},
    {"contended", contended},
    {"twice", twice},
    {"both", both},
    {"beside", beside},
    {"left_open", left_open},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
