/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and files that a member revokes: what the others wait for ends, calls that communicate
 * fail, local ones do not, and freeing and closing work. The cases whose names begin with "dead"
 * kill the last process, so they need --keep-going, and each is the last case of a run. */
#include <mpi-ext.h>
#include <signal.h>
#include <unistd.h>

#include "cases.h"

enum { words = 40000 };  /* a window is accessed in packets, or by messages if all are moved */

static MPI_Win window;
static long* memory;
static int allocated;

static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

static void make(void) {
    static long own[words];
    memory = own;
    if (allocated)
        CHECK(MPI_Win_allocate(sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                               &window) == MPI_SUCCESS);
    else
        CHECK(MPI_Win_create(own, sizeof own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                             &window) == MPI_SUCCESS);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_set_name(window, "counts");
    MPI_Barrier(MPI_COMM_WORLD); /* all have it */
}

/* What each member finds in a revoked window. */
static void check_revoked(void) {
    long value = 1;
    int size, length, flag, *model;
    char text[MPI_MAX_ERROR_STRING], name[MPI_MAX_OBJECT_NAME];
    MPI_Group group;
    MPI_Request request;
    MPI_Errhandler handler;
    int code = MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
    CHECK(class_of(code) == MPI_ERR_REVOKED);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "MPI_Put: the window counts was revoked by one of its members") != NULL);
    CHECK_CLASS(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window), MPI_ERR_REVOKED);
    memset(&request, 1, sizeof request);
    CHECK_CLASS(MPI_Rput(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window, &request), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_lock_all(0, window), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_unlock_all(window), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_flush(0, window), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_fence(0, window), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_test(window, &flag), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_Win_sync(window), MPI_ERR_REVOKED);
    CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
    CHECK(MPI_Win_get_group(window, &group) == MPI_SUCCESS);
    MPI_Group_size(group, &size);
    CHECK(size == ranks);
    MPI_Group_free(&group);
    CHECK(MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Win_get_name(window, name, &length) == MPI_SUCCESS && strcmp(name, "counts") == 0);
    CHECK(MPI_Win_get_errhandler(window, &handler) == MPI_SUCCESS && handler == MPI_ERRORS_RETURN);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(window)) == window);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS && window == MPI_WIN_NULL);
}

/* Waits until the window is revoked here. */
static void await(void) {
    while (MPI_Win_sync(window) == MPI_SUCCESS) continue;
}

/* All others wait in a collective. */
static void fence(void) {
    make();
    if (me == 0)
        CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_Win_fence(0, window), MPI_ERR_REVOKED);
    check_revoked();
}

/* The first holds its own lock, for which the others wait; it revokes, and frees with it. */
static void lock(void) {
    make();
    if (me == 0) CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        usleep(20000);
        CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
    } else {
        CHECK_CLASS(MPI_Win_lock(me % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, window),
                    MPI_ERR_REVOKED);
    }
    check_revoked();
}

/* The first neither exposes its memory, nor ends its accesses. */
static void signals(void) {
    const int first = 0;
    MPI_Group all, others;
    make();
    CHECK(MPI_Win_get_group(window, &all) == MPI_SUCCESS);
    MPI_Group_incl(all, 1, &first, &others);
    if (me == 0) {
        usleep(20000);
        CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
    } else if (me % 2) {
        CHECK_CLASS(MPI_Win_start(others, 0, window), MPI_ERR_REVOKED);
    } else {
        CHECK(MPI_Win_post(others, 0, window) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Win_wait(window), MPI_ERR_REVOKED);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&others);
    check_revoked();
}

/* Large accesses are under way, and epochs are open. */
static void transfers(void) {
    static long out[words], in[words];
    int k, code = MPI_SUCCESS;
    make();
    CHECK(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (k = 0; code == MPI_SUCCESS && k < 20; k++) {
        const int target = (me + k) % ranks;
        code = k % 2 ? MPI_Get(in, words, MPI_LONG, target, 0, words, MPI_LONG, window)
                     : MPI_Put(out, words, MPI_LONG, target, 0, words, MPI_LONG, window);
        if (me == 0 && k == 7) CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
        if (code == MPI_SUCCESS && k % 5 == 4) code = MPI_Win_flush_all(window);
    }
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_REVOKED);
    await();
    check_revoked();
    /* The ranks still access each other. */
    make();
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (k = 0; k < words; k++) out[k] = me + k;
    for (k = 0; k < 5; k++)
        CHECK(MPI_Put(out, words, MPI_LONG, (me + 1) % ranks, 0, words, MPI_LONG, window) ==
              MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(memory[17] == (me + ranks - 1) % ranks + 17);
    CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
}

/* A member that has just got the window revokes it, while others still make it. */
static void early(void) {
    int k, code;
    for (k = 0; k < 50; k++) {
        code = MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_REVOKED);
        if (code != MPI_SUCCESS) continue;
        MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
        if (me == k % ranks) CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
        CHECK(MPI_Win_free(&window) == MPI_SUCCESS);
    }
}

/* ---- files ---- */

static char path[200];

static MPI_File opened(void) {
    MPI_File file;
    const char* folder = getenv("TMPDIR");
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "%s/revoked.%d", folder != NULL ? folder : "/tmp", (int)getpid());
        MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    CHECK(MPI_File_open(MPI_COMM_WORLD, path,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD); /* all have it */
    return file;
}

static void check_revoked_file(MPI_File* file) {
    int value = 1, mode, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Group group;
    MPI_Offset offset;
    MPI_Request request;
    int code = MPI_File_write_at(*file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(class_of(code) == MPI_ERR_REVOKED);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "was revoked by one of its members") != NULL);
    CHECK(strstr(text, path) != NULL);
    CHECK_CLASS(MPI_File_read_all(*file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_File_iwrite_at_all(*file, 0, &value, 1, MPI_INT, &request), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_File_write_shared(*file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_File_get_size(*file, &offset), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_File_set_size(*file, 0), MPI_ERR_REVOKED);
    CHECK_CLASS(MPI_File_sync(*file), MPI_ERR_REVOKED);
    CHECK(MPI_File_revoke(*file) == MPI_SUCCESS);
    CHECK(MPI_File_get_amode(*file, &mode) == MPI_SUCCESS && (mode & MPI_MODE_RDWR) != 0);
    CHECK(MPI_File_get_group(*file, &group) == MPI_SUCCESS);
    MPI_Group_free(&group);
    CHECK(MPI_File_set_errhandler(*file, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_File_f2c(MPI_File_c2f(*file)) == *file);
    CHECK(MPI_File_close(file) == MPI_SUCCESS && *file == MPI_FILE_NULL);
}

/* The others are in a collective call, the two halves of one, or read the shared pointer. */
static void file(void) {
    static int data[100000];
    MPI_File file;
    MPI_Request request;
    int way, code;
    for (way = 0; way < 4; way++) {
        file = opened();
        if (me == 0) {
            CHECK(MPI_File_revoke(file) == MPI_SUCCESS);
        } else if (way == 0) {
            CHECK_CLASS(MPI_File_write_at_all(file, (MPI_Offset)me * 400000, data, 100000, MPI_INT,
                                              MPI_STATUS_IGNORE), MPI_ERR_REVOKED);
        } else if (way == 1) {
            code = MPI_File_iwrite_at_all(file, (MPI_Offset)me * 400000, data, 100000, MPI_INT, &request);
            if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(class_of(code) == MPI_ERR_REVOKED);
        } else if (way == 2) {
            /* The second half is not called. */
            code = MPI_File_write_all_begin(file, data, 100000, MPI_INT);
            CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_REVOKED);
        } else {
            do code = MPI_File_read_shared(file, data, 1, MPI_INT, MPI_STATUS_IGNORE);
            while (code == MPI_SUCCESS);
            CHECK(class_of(code) == MPI_ERR_REVOKED);
        }
        while (code = MPI_File_sync(file), class_of(code) != MPI_ERR_REVOKED) CHECK(code == MPI_SUCCESS);
        check_revoked_file(&file);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(access(path, F_OK) != 0);
    }
}

/* ---- with a dead member ---- */

static void expect_dead(MPI_Group failed) {
    int size, first = ranks - 1, in_world;
    MPI_Group world;
    MPI_Group_size(failed, &size);
    CHECK(size == 1);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(world, 1, &first, failed, &in_world);
    CHECK(in_world == 0);
    MPI_Group_free(&world);
    MPI_Group_free(&failed);
}

/* The last process dies when all others are here. */
static void last_dies(void) {
    int other;
    if (me < ranks - 1)
        MPI_Send(NULL, 0, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD);
    else {
        for (other = 0; other < ranks - 1; other++)
            CHECK(MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        raise(SIGKILL);
    }
}

/* The others find out in an epoch, and free the window with and without revoking it. */
static void dead_window(void) {
    long value = 1;
    int size = 0, code;
    MPI_Group failed;
    MPI_Win second;
    make();
    second = window;
    make();
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Win_get_failed(window, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &size);
    CHECK(size == 0);
    MPI_Group_free(&failed);
    last_dies();
    CHECK_CLASS(MPI_Win_fence(0, window), MPI_ERR_PROC_FAILED);
    CHECK(MPI_Win_get_failed(window, &failed) == MPI_SUCCESS);
    expect_dead(failed);
    code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, ranks - 1, 0, window);
    if (code == MPI_SUCCESS) code = MPI_Win_unlock(ranks - 1, window);
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_PROC_FAILED);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, second) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_LONG, 0, me, 1, MPI_LONG, second) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(0, second) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&second) == MPI_SUCCESS && second == MPI_WIN_NULL);
    CHECK(MPI_Win_revoke(window) == MPI_SUCCESS);
    check_revoked();
    CHECK_CLASS(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), MPI_ERR_PROC_FAILED);
}

static void dead_file(void) {
    int value = me, code;
    MPI_File first = opened(), second;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &second) == MPI_SUCCESS);
    last_dies();
    do code = MPI_File_sync(first);
    while (code == MPI_SUCCESS);
    CHECK(class_of(code) == MPI_ERR_PROC_FAILED);
    CHECK(MPI_File_write_at(second, me * (int)sizeof value, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&second) == MPI_SUCCESS && second == MPI_FILE_NULL);
    CHECK(MPI_File_revoke(first) == MPI_SUCCESS);
    check_revoked_file(&first);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &first),
                MPI_ERR_PROC_FAILED);
}

int main(int argc, char** argv) {
    static const Case cases[] = {{"fence", fence},         {"lock", lock},   {"signals", signals},
                                 {"transfers", transfers}, {"early", early}, {"file", file},
                                 {"dead_window", dead_window}, {"dead_file", dead_file}};
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    allocated = argc > 1 && strcmp(argv[1], "allocated") == 0;
    if (allocated) argv++, argc--;
    CHECK(argc > 1);
    RUN_CASES(argc, argv, cases);
    if (me == 0) printf("revoked: %s\n", argv[argc - 1]);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
