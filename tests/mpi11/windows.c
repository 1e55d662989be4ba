/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: their creation, every access and every kind of epoch. window_mistakes.c has the errors.
 */
#include "cases.h"

#include <stdint.h>

#include "window_makes.h"

static void for_all_makes(void (*run)(void)) {
    Make how;
    for (how = CREATED; how < MAKES; how++) {
        make(how);
        run();
        unmake();
    }
}

/* ---- what a window is ---- */

static int copies, deletions;
static int copy_attribute(MPI_Win win, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)win, (void)keyval, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}
static int delete_attribute(MPI_Win win, int keyval, void* value, void* extra) {
    (void)win, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void making(void) {
    MPI_Win win = MPI_WIN_NULL;
    double* base = NULL;
    void* found = NULL;
    MPI_Aint* size = NULL;
    int *unit = NULL, *flavor = NULL, *model = NULL, flag = 0, length = 0, key = 0, same = 0;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group group, world;
    MPI_Info info;
    CHECK(MPI_Win_allocate(80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS);
    CHECK(base != NULL && win != MPI_WIN_NULL);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_BASE, &found, &flag) == MPI_SUCCESS && flag);
    CHECK(found == (void*)base);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag) == MPI_SUCCESS && flag && *size == 80);
    CHECK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag) == MPI_SUCCESS && *unit == 8);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 0 && name[0] == '\0');
    MPI_Win_set_name(win, "halo");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "an_unknown_key", "true");
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS);
    MPI_Info_get(info, "no_locks", 8, name, &flag);
    CHECK(flag && strcmp(name, "true") == 0);
    MPI_Info_get(info, "an_unknown_key", 8, name, &flag);
    CHECK(!flag);
    MPI_Info_free(&info);
    deletions = 0;
    MPI_Win_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    CHECK(MPI_Win_set_attr(win, key, &key) == MPI_SUCCESS);
    CHECK(MPI_Win_get_attr(win, key, &found, &flag) == MPI_SUCCESS && flag && found == &key);
    CHECK(MPI_Win_set_attr(win, key, &flag) == MPI_SUCCESS && deletions == 1);
    CHECK(MPI_Win_delete_attr(win, key) == MPI_SUCCESS && deletions == 2);
    MPI_Win_set_attr(win, key, &key);
    MPI_Win_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && deletions == 3 && copies == 0);
}

static void shared_memory(void) {
    MPI_Win win;
    MPI_Comm host;
    int *mine, *theirs, unit = 0, i, near, here, class_of_error;
    MPI_Aint size = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &near);
    MPI_Comm_rank(host, &here);
    MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);
    class_of_error = MPI_Win_allocate_shared((here + 1) * 4, 4, MPI_INFO_NULL, host, &mine, &win);
    if (class_of_error != MPI_SUCCESS) {
        /* Where ranks of a host reach each other over links alone, no memory is shared. */
        const char* local = getenv("TORUSMP_TRANSPORT_LOCAL");
        CHECK_CLASS(class_of_error, MPI_ERR_RMA_SHARED);
        CHECK(local != NULL && strcmp(local, "links") == 0);
        MPI_Comm_free(&host);
        return;
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (i = 0; i <= here; i++) mine[i] = 1000 * here + i;
    MPI_Win_sync(win);
    MPI_Barrier(host);
    MPI_Win_sync(win);
    for (i = 0; i < near; i++) {
        CHECK(MPI_Win_shared_query(win, i, &size, &unit, &theirs) == MPI_SUCCESS);
        CHECK(size == (i + 1) * 4 && unit == 4 && theirs[i] == 1001 * i);
        if (i == 0) CHECK(mine == theirs + here * (here + 1) / 2); /* one piece */
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &theirs);
    CHECK(size == 4 && theirs[0] == 0);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
}

/* ---- accesses ---- */

static void fences(void) {
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    int64_t sent[4], got[4];
    int i;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    for (i = 0; i < 4; i++) sent[i] = 100 * me + i;
    CHECK(MPI_Put(sent, 4, MPI_INT64_T, right, at(right, 3), 4, MPI_INT64_T, window) ==
          MPI_SUCCESS);
    MPI_Win_fence(0, window);
    for (i = 0; i < 4; i++) CHECK(words[3 + i] == 100 * left + i);
    MPI_Get(got, 4, MPI_INT64_T, left, at(left, 3), 4, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    for (i = 0; i < 4; i++) CHECK(got[i] == 100 * ((left + ranks - 1) % ranks) + i);
    for (i = 0; i < ranks; i++)
        MPI_Accumulate(&sent[1], 1, MPI_INT64_T, i, at(i, 20), 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Put(sent, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    CHECK(words[20] == 50L * ranks * (ranks - 1) + ranks);
}

/* Every second word here to every third there, and back. */
static void layouts(void) {
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    MPI_Datatype second, third;
    int64_t sent[20], got[20];
    int i;
    MPI_Type_vector(8, 1, 2, MPI_INT64_T, &second);
    MPI_Type_vector(8, 1, 3, MPI_INT64_T, &third);
    MPI_Type_commit(&second);
    MPI_Type_commit(&third);
    for (i = 0; i < 20; i++) sent[i] = 1000 * me + i;
    for (i = 0; i < 20; i++) got[i] = -1;
    MPI_Win_fence(0, window);
    MPI_Put(sent, 1, second, right, at(right, 1), 1, third, window);
    MPI_Win_fence(0, window);
    for (i = 0; i < 24; i++)
        CHECK(words[1 + i] == (i % 3 == 0 ? 1000 * left + i / 3 * 2 : 0));
    MPI_Get(got, 1, second, left, at(left, 1), 1, third, window);
    MPI_Win_fence(0, window);
    for (i = 0; i < 16; i++)
        CHECK(got[i] == (i % 2 == 0 ? 1000 * ((left + ranks - 1) % ranks) + i : -1));
    MPI_Accumulate(sent, 1, second, right, at(right, 1), 1, third, MPI_SUM, window);
    MPI_Type_free(&second);
    MPI_Type_free(&third);
    MPI_Win_fence(0, window);
    for (i = 0; i < 24; i++)
        CHECK(words[1 + i] == (i % 3 == 0 ? 2 * (1000 * left + i / 3 * 2) : 0));
}

static void posts(void) {
    MPI_Group world, origins, targets;
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    int64_t value;
    int round, flag = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &origins);
    MPI_Group_incl(world, 1, &right, &targets);
    for (round = 1; round <= 20; round++) {
        value = 100 * round + me;
        CHECK(MPI_Win_post(origins, 0, window) == MPI_SUCCESS);
        CHECK(MPI_Win_start(targets, 0, window) == MPI_SUCCESS);
        MPI_Put(&value, 1, MPI_INT64_T, right, at(right, 7), 1, MPI_INT64_T, window);
        CHECK(MPI_Win_complete(window) == MPI_SUCCESS);
        if (round % 2 == 0)
            CHECK(MPI_Win_wait(window) == MPI_SUCCESS);
        else
            for (flag = 0; !flag;) CHECK(MPI_Win_test(window, &flag) == MPI_SUCCESS);
        CHECK(words[7] == 100 * round + left);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

/* A counter that is read and written under an exclusive lock; words of atomics under shared ones. */
static void locks(void) {
    int64_t value = 0, old = 0, one = 1, next = 0;
    char* seen = calloc((size_t)ranks * 100, 1);
    int i;
    for (i = 0; i < 50; i++) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
        MPI_Get(&value, 1, MPI_INT64_T, 0, at(0, 0), 1, MPI_INT64_T, window);
        MPI_Win_flush(0, window);
        value++;
        MPI_Put(&value, 1, MPI_INT64_T, 0, at(0, 0), 1, MPI_INT64_T, window);
        CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    for (i = 0; i < 100; i++) {
        const int target = ranks - 1;
        CHECK(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, at(target, 1), MPI_SUM, window) ==
              MPI_SUCCESS);
        MPI_Win_flush(target, window);
        CHECK(old >= 0 && old < 100L * ranks && !seen[old]);
        seen[old] = 1;
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, at(0, 2), 1, MPI_INT64_T, MPI_SUM, window);
        do {
            value = next;
            next = value + 1;
            MPI_Compare_and_swap(&next, &value, &old, MPI_INT64_T, 0, at(0, 3), window);
            MPI_Win_flush_local(0, window);
            next = old == value ? old + 1 : old;
        } while (old != value);
    }
    MPI_Win_flush_all(window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, window);
    if (me == 0) CHECK(words[0] == 50L * ranks && words[2] == 100L * ranks);
    if (me == 0) CHECK(words[3] == 100L * ranks);
    if (me == ranks - 1) CHECK(words[1] == 100L * ranks);
    MPI_Win_unlock(me, window);
    MPI_Barrier(MPI_COMM_WORLD);
    free(seen);
}

static void requests(void) {
    const int right = (me + 1) % ranks;
    int64_t sent[3] = {5 + me, 6 + me, 7}, got[3] = {0, 0, 0}, old = -1;
    MPI_Request all[2];
    MPI_Status status;
    MPI_Win_lock_all(0, window);
    CHECK(MPI_Rput(sent, 3, MPI_INT64_T, right, at(right, 10), 3, MPI_INT64_T, window, &all[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Raccumulate(sent, 1, MPI_INT64_T, right, at(right, 30), 1, MPI_INT64_T, MPI_MAX,
                          window, &all[1]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(2, all, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    MPI_Win_flush(right, window);
    CHECK(MPI_Rget(got, 3, MPI_INT64_T, right, at(right, 10), 3, MPI_INT64_T, window, &all[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Rget_accumulate(sent, 1, MPI_INT64_T, &old, 1, MPI_INT64_T, right, at(right, 30), 1,
                              MPI_INT64_T, MPI_REPLACE, window, &all[1]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&all[0], &status) == MPI_SUCCESS && all[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Wait(&all[1], &status) == MPI_SUCCESS);
    CHECK(got[0] == 5 + me && got[1] == 6 + me && got[2] == 7 && old == 5 + me);
    CHECK(MPI_Rput(sent, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, window, &all[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&all[0], &status) == MPI_SUCCESS);
    MPI_Win_unlock_all(window);
}

/* Each operation against what it computes here. */
static void operations(void) {
    const MPI_Op all[] = {MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN, MPI_BAND, MPI_BOR, MPI_BXOR,
                          MPI_LAND, MPI_LOR,  MPI_LXOR, MPI_REPLACE};
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    int64_t old = 0, expected, operand;
    unsigned i;
    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        MPI_Win_fence(0, window);
        words[5] = 12 + me;
        MPI_Win_fence(0, window);
        operand = 7 * me + 3;
        MPI_Get_accumulate(&operand, 1, MPI_INT64_T, &old, 1, MPI_INT64_T, right, at(right, 5), 1,
                           MPI_INT64_T, all[i], window);
        MPI_Win_fence(0, window);
        CHECK(old == 12 + right);
        expected = 12 + me;
        operand = 7 * left + 3;
        if (all[i] == MPI_REPLACE)
            expected = operand;
        else
            MPI_Reduce_local(&operand, &expected, 1, MPI_INT64_T, all[i]);
        CHECK(words[5] == expected);
    }
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &old, 1, MPI_INT64_T, right, at(right, 5), 1,
                       MPI_INT64_T, MPI_NO_OP, window);
    MPI_Win_fence(0, window);
    CHECK(old == 7 * me + 3);
}

/* Pairs with a gap between their parts, alone and in a type of the program. */
static void pairs(void) {
    struct Pair {
        double value;
        int index;
    } sent[2], old[4], *there = (struct Pair*)words;
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    MPI_Datatype spaced;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &spaced);
    MPI_Type_commit(&spaced);
    MPI_Win_fence(0, window);
    there[0].value = there[2].value = 2.5;
    there[0].index = there[2].index = 99;
    there[1].value = 77;
    MPI_Win_fence(0, window);
    sent[0].value = 3.5 + me, sent[0].index = me;
    sent[1].value = 1.5, sent[1].index = me;
    MPI_Get_accumulate(sent, 2, MPI_DOUBLE_INT, old, 1, spaced, right, at(right, 0), 1, spaced,
                       MPI_MAXLOC, window);
    MPI_Win_fence(0, window);
    CHECK(old[0].value == 2.5 && old[0].index == 99 && old[2].value == 2.5 && old[2].index == 99);
    CHECK(there[0].value == 3.5 + left && there[0].index == left && there[1].value == 77);
    CHECK(there[2].value == 2.5 && there[2].index == 99);
    MPI_Type_free(&spaced);
}

/* More than one packet holds, in one piece and in many. */
static void large(void) {
    const int count = 150000, right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    int *there, *here = malloc(sizeof(int) * (size_t)count), i;
    MPI_Win win;
    MPI_Datatype spread;
    MPI_Win_allocate(sizeof(int) * 2 * count, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &there,
                     &win);
    CHECK((size_t)there % 4096 == 0); /* copies to places a little further in a page are slow */
    MPI_Type_vector(count, 1, 2, MPI_INT, &spread);
    MPI_Type_commit(&spread);
    for (i = 0; i < 2 * count; i++) there[i] = 0;
    for (i = 0; i < count; i++) here[i] = i ^ me;
    MPI_Win_fence(0, win);
    MPI_Put(here, count, MPI_INT, right, 0, count, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (i = 0; i < count; i++) CHECK(there[i] == (i ^ left));
    MPI_Win_fence(0, win);
    MPI_Accumulate(here, count, MPI_INT, right, 0, count, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (i = 0; i < count; i++) CHECK(there[i] == 2 * (i ^ left));
    for (i = 0; i < 2 * count; i++) there[i] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(here, count, MPI_INT, right, 0, 1, spread, win);
    MPI_Win_fence(0, win);
    for (i = 0; i < count; i++) CHECK(there[2 * i] == (i ^ left) && there[2 * i + 1] == 0);
    MPI_Win_fence(0, win);
    memset(here, 0, sizeof(int) * (size_t)count);
    MPI_Get(here, count, MPI_INT, right, 0, 1, spread, win);
    MPI_Win_fence(0, win);
    for (i = 0; i < count; i++) CHECK(here[i] == (i ^ me));
    MPI_Type_free(&spread);
    MPI_Win_free(&win);
    free(here);
}

static void all_fences(void) { for_all_makes(fences); }
static void all_layouts(void) { for_all_makes(layouts); }
static void all_posts(void) { for_all_makes(posts); }
static void all_locks(void) { for_all_makes(locks); }
static void all_requests(void) { for_all_makes(requests); }
static void all_operations(void) { for_all_makes(operations); }
static void all_pairs(void) { for_all_makes(pairs); }

static const Case cases[] = {
    {"making", making},
    {"shared_memory", shared_memory},
    {"fences", all_fences},
    {"layouts", all_layouts},
    {"posts", all_posts},
    {"locks", all_locks},
    {"requests", all_requests},
    {"operations", all_operations},
    {"pairs", all_pairs},
    {"large", large},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
