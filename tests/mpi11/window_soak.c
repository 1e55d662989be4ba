/* SPDX-License-Identifier: BSD-3-Clause */
/* window_soak SEED STEPS [READY]: every rank accesses the windows of all ranks at random, and checks
 * what each access returns and leaves. READY: a file that is made when the accesses begin.
 *
 * A window begins with words that all ranks change by atomics. Behind them each origin has a region
 * of its own, of which it keeps a model. */
#include "cases.h"

#include <stdint.h>

enum { FETCHED, SUMMED, SWAPPED, GUARDED, WORDS };
enum { region = 96 * 1024, stride = 3 };
typedef enum { CREATED, ALLOCATED, DYNAMIC, MAKES } Make;

typedef struct {
    uint64_t fetches, olds, squares, sum, swaps, guarded;
} Totals; /* of one target; words of 8 bytes, which MPI adds */
enum { totals_words = sizeof(Totals) / 8 };

static uint64_t state;
static MPI_Win window, guards; /* guards: of a word each, under exclusive locks */
static char* memory;
static uint64_t* guard;
static MPI_Aint* bases; /* by rank; 0 unless the window is dynamic */
static Totals* totals;  /* by target */
static char** models;   /* of this rank's regions, by target */
static size_t* cursors; /* bytes of a region that were put since the last flush */
static char* room;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}
static MPI_Aint word(int target, int which) { return bases[target] + 8 * which; }
static MPI_Aint place(int target, size_t offset) {
    return bases[target] + 8 * WORDS + (MPI_Aint)me * region + (MPI_Aint)offset;
}

static void fetch(int target) {
    const uint64_t one = 1;
    uint64_t old = 0;
    MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, target, word(target, FETCHED), MPI_SUM, window);
    MPI_Win_flush(target, window);
    cursors[target] = 0;
    totals[target].fetches++;
    totals[target].olds += old;
    totals[target].squares += old * old;
}

static void add(int target) {
    static uint64_t values[64]; /* none is reused before its flush */
    static int next;
    uint64_t* const value = &values[next++ % 64];
    if (next % 64 == 0) MPI_Win_flush_local_all(window);
    *value = draw(1000000);
    MPI_Accumulate(value, 1, MPI_UINT64_T, target, word(target, SUMMED), 1, MPI_UINT64_T, MPI_SUM,
                   window);
    totals[target].sum += *value;
}

static void swap(int target) {
    static uint64_t guess;
    const uint64_t wanted = guess, more = guess + 1;
    uint64_t old = 0;
    MPI_Compare_and_swap(&more, &wanted, &old, MPI_UINT64_T, target, word(target, SWAPPED), window);
    MPI_Win_flush(target, window);
    cursors[target] = 0;
    if (old == wanted) totals[target].swaps++;
    guess = old == wanted ? more : old;
}

static void count_under_lock(int target) {
    uint64_t value = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, guards);
    MPI_Get(&value, 1, MPI_UINT64_T, target, 0, 1, MPI_UINT64_T, guards);
    MPI_Win_flush(target, guards);
    value++;
    MPI_Put(&value, 1, MPI_UINT64_T, target, 0, 1, MPI_UINT64_T, guards);
    MPI_Win_unlock(target, guards);
    totals[target].guarded++;
}

static size_t length(void) { return draw(4) == 0 ? draw(region) + 1 : draw(draw(2) ? 64 : 8000) + 1; }

/* Puts bytes, or every third of them, behind those that were put since the last flush. */
static void put(int target) {
    size_t bytes = length(), i;
    const size_t step = draw(3) == 0 ? stride : 1;
    char* model = models[target];
    size_t at = cursors[target];
    if (at + bytes > region) {
        MPI_Win_flush(target, window);
        at = 0;
    }
    cursors[target] = at + bytes;
    bytes = (bytes + step - 1) / step;
    for (i = 0; i < bytes; i++) model[at + i * step] = (char)draw(256);
    if (step == 1) {
        MPI_Put(model + at, (int)bytes, MPI_BYTE, target, place(target, at), (int)bytes, MPI_BYTE,
                window);
    } else {
        MPI_Datatype every;
        MPI_Type_vector((int)bytes, 1, stride, MPI_BYTE, &every);
        MPI_Type_commit(&every);
        MPI_Put(model + at, 1, every, target, place(target, at), 1, every, window);
        MPI_Type_free(&every);
    }
}

static void get(int target) {
    const size_t bytes = length(), at = draw((uint32_t)(region - bytes + 1));
    const char* expected = models[target] + at;
    MPI_Win_flush(target, window);
    cursors[target] = 0;
    if (draw(2)) {
        MPI_Get(room, (int)bytes, MPI_BYTE, target, place(target, at), (int)bytes, MPI_BYTE, window);
    } else {
        MPI_Get_accumulate(NULL, 0, MPI_BYTE, room, (int)bytes, MPI_BYTE, target, place(target, at),
                           (int)bytes, MPI_BYTE, MPI_NO_OP, window);
    }
    MPI_Win_flush(target, window);
    CHECK(memcmp(room, expected, bytes) == 0);
}

static void make(Make how, size_t bytes) {
    MPI_Aint base = 0;
    if (how == ALLOCATED) {
        MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    } else {
        memory = malloc(bytes);
        if (how == CREATED) {
            MPI_Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
            MPI_Win_attach(window, memory, (MPI_Aint)bytes);
            MPI_Get_address(memory, &base);
        }
    }
    memset(memory, 0, bytes);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &guard, &guards);
    *guard = 0;
    MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
}

/* All ranks are done: the words of this rank's window, and its regions in all windows. */
static void check_all(void) {
    Totals here;
    uint64_t found[WORDS], i, olds = 0, squares = 0;
    int target;
    for (target = 0; target < ranks; target++) {
        MPI_Get(room, region, MPI_BYTE, target, place(target, 0), region, MPI_BYTE, window);
        MPI_Win_flush(target, window);
        CHECK(memcmp(room, models[target], region) == 0);
    }
    MPI_Reduce_scatter_block(totals, &here, totals_words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_sync(window);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, guards);
    memcpy(found, memory, sizeof found);
    for (i = 0; i < here.fetches; i++) olds += i, squares += i * i;
    CHECK(found[FETCHED] == here.fetches);
    CHECK(here.olds == olds && here.squares == squares); /* each value was returned once */
    CHECK(found[SUMMED] == here.sum);
    CHECK(found[SWAPPED] == here.swaps);
    CHECK(*guard == here.guarded);
    MPI_Win_unlock(me, guards);
}

static void run(Make how, int steps) {
    static void (*const actions[])(int) = {fetch, add, add, swap, count_under_lock, put, put, get};
    int i;
    make(how, 8 * WORDS + (size_t)ranks * region);
    memset(totals, 0, (size_t)ranks * sizeof *totals);
    memset(cursors, 0, (size_t)ranks * sizeof *cursors);
    for (i = 0; i < ranks; i++) memset(models[i], 0, region);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < steps; i++)
        actions[draw(sizeof actions / sizeof actions[0])]((int)draw((uint32_t)ranks));
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    check_all();
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Win_free(&guards);
    if (how != ALLOCATED) free(memory);
}

int main(int argc, char** argv) {
    int i, how;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(argc == 3 || argc == 4);
    state = (uint64_t)atoi(argv[1]) * 1000 + (uint64_t)me;
    totals = malloc((size_t)ranks * sizeof *totals);
    models = malloc((size_t)ranks * sizeof *models);
    cursors = malloc((size_t)ranks * sizeof *cursors);
    bases = malloc((size_t)ranks * sizeof *bases);
    room = malloc(region);
    for (i = 0; i < ranks; i++) models[i] = malloc(region);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc == 4 && me == 0) fclose(fopen(argv[3], "w"));
    for (how = 0; how < MAKES; how++) run((Make)how, atoi(argv[2]));
    for (i = 0; i < ranks; i++) free(models[i]);
    free(room);
    free(bases);
    free(cursors);
    free(models);
    free(totals);
    MPI_Finalize();
    return 0;
}
