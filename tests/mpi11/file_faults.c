/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that cannot be opened, shrink or vanish, and full disks: every rank gets the error class of
 * the standard and a message that names host and path.
 *
 *   file_faults CASE [FOLDER]
 */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[1024] = "/tmp";
static char path[6000];
static MPI_File file;

/* Unless it is 0, every write of this process fails with this errno. */
static int refusal;

/* Replaces the function of the C library, also for the library under test. */
ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t at) {
    if (refusal == 0) return syscall(SYS_pwrite64, descriptor, data, bytes, at);
    errno = refusal;
    return -1;
}

/* The text of the error names this host, where the disk is, and the path, if that is not too long.
 */
static void check_words(int code) {
    const char* const shown = strlen(path) < 200 ? path : "xxx... (5000 characters)";
    char text[MPI_MAX_ERROR_STRING] = "", host[256] = "", wanted[600];
    int length;
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(gethostname(host, sizeof host - 1) == 0);
    snprintf(wanted, sizeof wanted, " on host %s cannot ", host);
    fputs(strstr(text, wanted) == NULL || strstr(text, shown) == NULL ? text : "", stderr);
    CHECK(strstr(text, wanted) != NULL);
    CHECK(strstr(text, shown) != NULL);
}

static void open_must_fail(int amode, int expected) {
    const int code = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file);
    CHECK_CLASS(code, expected);
    CHECK(file == MPI_FILE_NULL);
    if (expected != MPI_ERR_AMODE) check_words(code);
}

static void name_file(const char* what) {
    int id = (int)getpid();
    MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/torusmp_%s_%d", folder, what, id);
}

static void names(void) {
    strcpy(path, folder);
    open_must_fail(MPI_MODE_RDONLY, MPI_ERR_BAD_FILE);
    open_must_fail(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_ERR_BAD_FILE);
    CHECK_CLASS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_BAD_FILE);
    memset(path, 'x', 5000);
    path[5000] = '\0';
    open_must_fail(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_ERR_BAD_FILE);
    snprintf(path, sizeof path, "%s/there/is/no/such/folder", folder);
    open_must_fail(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_ERR_NO_SUCH_FILE);
    path[0] = '\0';
    open_must_fail(MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE);
    strcpy(path, "/proc/version");
    open_must_fail(MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_ERR_AMODE);
}

/* Root may open everything, unless it gives that up. */
static void obey_permissions(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CHECK(syscall(SYS_capget, &header, data) == 0);
    data[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    CHECK(syscall(SYS_capset, &header, data) == 0);
}

static void permissions(void) {
    name_file("permissions");
    if (me == 0) {
        FILE* made = fopen(path, "w");
        CHECK(made != NULL && fclose(made) == 0 && chmod(path, 0) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    obey_permissions();
    open_must_fail(MPI_MODE_RDWR, MPI_ERR_ACCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) CHECK(unlink(path) == 0);
}

/* Each rank has a file of that name. Rank 1 deletes the one that lives on the host of rank 0. */
static void deleted(void) {
    FILE* made;
    snprintf(path, sizeof path, "%.1000s/deleted", folder);
    made = fopen(path, "w");
    CHECK(made != NULL && fclose(made) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) {
        char text[MPI_MAX_ERROR_STRING];
        int length = 0;
        CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(access(path, F_OK) == 0);
        CHECK_CLASS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
        CHECK(MPI_Error_string(MPI_File_delete(path, MPI_INFO_NULL), text, &length) == MPI_SUCCESS);
        fprintf(stderr, "%s\n", text);
        CHECK(unlink(path) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) CHECK(access(path, F_OK) != 0);
}

/* Each rank has files of its own, which live on the host of rank 0, and makes mistakes with them.
 */
static void alone(void) {
    char data[100], back[100], text[MPI_MAX_ERROR_STRING];
    int length = 0, code;
    MPI_Offset size = -1;
    MPI_Comm self = MPI_COMM_SELF;
    snprintf(path, sizeof path, "%.1000s/alone_%d", folder, me);
    CHECK_CLASS(MPI_File_open(self, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
                MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    CHECK(MPI_File_open(self, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) ==
          MPI_SUCCESS);
    memset(data, 'a' + me % 26, sizeof data);
    CHECK(MPI_File_write(file, data, 100, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_write_shared(file, data, 50, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_preallocate(file, 120) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 120);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_open(self, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                              MPI_INFO_NULL, &file),
                MPI_ERR_FILE_EXISTS);
    CHECK(MPI_File_open(self, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(file, back, 100, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(data, back, sizeof back) == 0);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_open(self, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file) ==
          MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &size) == MPI_SUCCESS && size == 120);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    CHECK(MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS);
    snprintf(path, sizeof path, "%.1000s/no/such", folder);
    CHECK_CLASS(MPI_File_open(self, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file),
                MPI_ERR_NO_SUCH_FILE);
    snprintf(path, sizeof path, "%.1000s/.", folder);
    code = MPI_File_open(self, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK_CLASS(code, MPI_ERR_BAD_FILE);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(me == 0 || strstr(text, "rank 0 of MPI_COMM_WORLD on host ") != NULL);
    memset(path, 'y', 5000);
    path[5000] = '\0';
    memcpy(path, folder, strlen(folder));
    path[strlen(folder)] = '/';
    code = MPI_File_open(self, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    CHECK_CLASS(code, MPI_ERR_BAD_FILE);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strstr(text, "File name too long") != NULL);
}

/* Ranks 1 and 2 share a file, and rank 3 has one; they live on the host of rank 0, which dies. */
static void orphaned(void) {
    char text[MPI_MAX_ERROR_STRING];
    int length, code = MPI_SUCCESS;
    MPI_Comm members;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : me / 3, me, &members);
    if (me != 0) {
        snprintf(path, sizeof path, "%.1000s/orphaned_%d", folder, me / 3);
        CHECK(MPI_File_open(members, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) ==
              MPI_SUCCESS);
        CHECK(MPI_File_write_at_all(file, me, text, 1, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) raise(SIGKILL);
    while (code == MPI_SUCCESS)
        code = MPI_File_write_at(file, 0, text, sizeof text, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, MPI_ERR_PROC_FAILED);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    if (me == 1) fprintf(stderr, "%s\n", text);
    CHECK(MPI_File_write_at_all(file, 0, text, 1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_File_set_size(file, 10) != MPI_SUCCESS);
    CHECK(MPI_File_close(&file) != MPI_SUCCESS);
    CHECK(file == MPI_FILE_NULL);
    MPI_Comm_free(&members);
}

/* Whether this process has a file of that name open. */
static int holds(const char* name) {
    int descriptor, found = 0;
    for (descriptor = 0; descriptor < 1024; descriptor++) {
        char link[64], target[PATH_MAX] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        if (readlink(link, target, sizeof target - 1) > 0 && strstr(target, name) != NULL)
            found = 1;
    }
    return found;
}

/* Ranks 1 to 3 share a file on the host of rank 0. Rank 1, the first of them, dies; the others
 * close it, and nothing is left. */
static void bereaved(void) {
    MPI_Comm members, rest;
    MPI_Group world, living;
    int code = MPI_SUCCESS, dead = 1;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &dead, &living);
    MPI_Comm_create(MPI_COMM_WORLD, living, &rest);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 0, me, &members);
    snprintf(path, sizeof path, "%.1000s/bereaved", folder);
    if (me != 0)
        CHECK(MPI_File_open(members, path,
                            MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                            MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) CHECK(holds("bereaved") && access(path, F_OK) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) raise(SIGKILL);
    while (me != 0 && code == MPI_SUCCESS)
        code = MPI_File_write_at_all(file, me, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE);
    if (me != 0) CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Barrier(rest);
    if (me == 0) CHECK(!holds("bereaved") && access(path, F_OK) != 0);
    MPI_Barrier(rest);
    MPI_Comm_free(&rest);
    MPI_Group_free(&world);
    MPI_Group_free(&living);
}

/* The ranks without the disk wait for rank 0, which is in no call. */
static void stuck(void) {
    MPI_Offset size = 0;
    snprintf(path, sizeof path, "%.1000s/stuck", folder);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    while (me == 0) pause();
    while (me == 1) MPI_File_get_size(file, &size);
    for (;;) MPI_File_write_at(file, 0, &size, 1, MPI_OFFSET, MPI_STATUS_IGNORE);
}

/* Writes until it must fail, by each rank alone and by all, then something small that fits. */
static void fill(int expected) {
    enum { N = 1 << 20 };
    static char data[N], back[16];
    int code = MPI_SUCCESS, class = -1;
    MPI_Offset at = 0;
    memset(data, 7, N);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, 0, data, 16, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (at = 0; code == MPI_SUCCESS && at < 64; at++)
        code = MPI_File_write_at_all(file, (at * ranks + me) * N, data, N, MPI_BYTE,
                                     MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    if (class != expected) fprintf(stderr, "found class %d, expected %d\n", class, expected);
    CHECK(class == expected);
    check_words(code);
    CHECK(MPI_File_read_at_all(file, 0, back, 16, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(memcmp(back, data, 16) == 0);
    CHECK(MPI_File_write_at_all(file, 0, data, 16, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void full(void) {
    name_file("full");
    fill(MPI_ERR_NO_SPACE);
}

static void limited(void) {
    struct rlimit limit;
    name_file("limited");
    CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 3 << 20;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    fill(MPI_ERR_QUOTA);
}

static void read_only(void) {
    name_file("read_only");
    open_must_fail(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_ERR_READ_ONLY);
}

enum { BLOCK = 100000 };
static char block[BLOCK];

static void move_blocks(int write, int expected) {
    int count = -1, k;
    MPI_Status status;
    const MPI_Offset at = (MPI_Offset)me * BLOCK;
    memset(block, write ? me + 1 : 0, BLOCK);
    CHECK((write ? MPI_File_write_at_all(file, at, block, BLOCK, MPI_BYTE, &status)
                 : MPI_File_read_at_all(file, at, block, BLOCK, MPI_BYTE, &status)) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != expected) fprintf(stderr, "found %d bytes, expected %d\n", count, expected);
    CHECK(count == expected);
    for (k = 0; k < BLOCK; k++) CHECK(block[k] == (k < count ? me + 1 : 0));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void open_blocks(const char* what, int more) {
    name_file(what);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | more, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    move_blocks(1, BLOCK);
}

/* Under the job's hands. Rank 0 is beside the disk. */
static void shrinks(void) {
    open_blocks("shrinks", MPI_MODE_DELETE_ON_CLOSE);
    if (me == 0) CHECK(truncate(path, BLOCK / 2) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    move_blocks(0, me == 0 ? BLOCK / 2 : 0);
    move_blocks(1, BLOCK);
    move_blocks(0, BLOCK);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void vanishes(void) {
    open_blocks("vanishes", 0);
    if (me == 0) CHECK(unlink(path) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    move_blocks(1, BLOCK);
    move_blocks(0, BLOCK);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    open_must_fail(MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE);
}

/* Errors of a file system with quotas, or of one whose server has lost the file. Only rank 0 fails,
 * and all ranks of the collective return the error. The next calls work. */
static void refused(const char* what, int error, int expected) {
    int code;
    open_blocks(what, MPI_MODE_DELETE_ON_CLOSE);
    refusal = me == 0 ? error : 0;
    code = MPI_File_write_at_all(file, (MPI_Offset)me * BLOCK, block, BLOCK, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
    CHECK_CLASS(code, expected);
    check_words(code);
    code =
        MPI_File_write_at(file, (MPI_Offset)me * BLOCK, block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, me == 0 ? expected : MPI_SUCCESS);
    if (me == 0) check_words(code);
    refusal = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    move_blocks(1, BLOCK);
    move_blocks(0, BLOCK);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static void quota(void) {
    refused("quota", EDQUOT, MPI_ERR_QUOTA);
}

static void stale(void) {
    refused("stale", ESTALE, MPI_ERR_IO);
}

/* Ends the job with words. */
static void words(void) {
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    strcpy(path, "/there/is/no/such/folder/file");
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}

/* Ends the job where it cannot be made; otherwise each rank writes its number, and all read. */
static void made(void) {
    int k, all[64], mine = me;
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    snprintf(path, sizeof path, "%.1000s/made", folder);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    CHECK(MPI_File_write_at(file, me * (int)sizeof(int), &mine, 1, MPI_INT, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at(file, 0, all, ranks, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (k = 0; k < ranks; k++) CHECK(all[k] == k);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Rows of all ranks in turn, until one is killed in the midst of it by a thread of its own. */
static void* die(void* unused) {
    (void)unused;
    usleep(300000);
    raise(SIGKILL);
    return NULL;
}

static void killed(int victim) {
    enum { ROW = 1000, ROWS = 4000 };
    char* data = malloc(ROW * ROWS);
    MPI_Datatype row, tile;
    pthread_t thread;
    memset(data, me + 1, ROW * ROWS);
    snprintf(path, sizeof path, "%.1000s/torusmp_killed", folder);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    MPI_Type_contiguous(ROW, MPI_BYTE, &row);
    MPI_Type_create_resized(row, 0, ROW * ranks, &tile);
    MPI_Type_commit(&tile);
    CHECK(MPI_File_set_view(file, me * ROW, MPI_BYTE, tile, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    if (me == victim) CHECK(pthread_create(&thread, NULL, die, NULL) == 0);
    for (;;) MPI_File_write_at_all(file, 0, data, ROW * ROWS, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void killed_0(void) {
    killed(0);
}

static void killed_3(void) {
    killed(3);
}

/* Until the host goes. */
static void written(void) {
    killed(-1);
}

int main(int argc, char** argv) {
    static const Case cases[] = {{"names", names},         {"permissions", permissions},
                                 {"full", full},           {"limited", limited},
                                 {"shrinks", shrinks},     {"vanishes", vanishes},
                                 {"read_only", read_only}, {"words", words},
                                 {"made", made},           {"killed_0", killed_0},
                                 {"killed_3", killed_3},   {"written", written},
                                 {"alone", alone},         {"orphaned", orphaned},
                                 {"bereaved", bereaved},   {"deleted", deleted},
                                 {"stuck", stuck},         {"quota", quota},
                                 {"stale", stale}};
    MPI_Init(&argc, &argv);
    if (argc > 2) snprintf(folder, sizeof folder, "%s", argv[2]);
    run_cases(cases, (int)(sizeof cases / sizeof cases[0]), 2, argv);
    MPI_Finalize();
    return 0;
}
