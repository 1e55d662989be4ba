/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join: programs that start others, and jobs that connect. As a child (argv[1] is
 * "child") this program has its part of the case in argv[2]. */
#include "both_sides.h"

#include <unistd.h>

static char* program;

static void versions(void) {
    int version = 0, subversion = -1;
    CHECK(MPI_VERSION == 5 && MPI_SUBVERSION == 0);
    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS);
    CHECK(version == 5 && subversion == 0);
}

static void no_parent(void) {
    MPI_Comm found = MPI_COMM_WORLD;
    CHECK(MPI_Comm_get_parent(&found) == MPI_SUCCESS && found == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_get_parent(NULL), MPI_ERR_ARG);
}

static int all_are(const int* codes, int count, int expected) {
    int i;
    for (i = 0; i < count; i++)
        if (codes[i] != expected) return 0;
    return codes[count] == MARK;
}

static MPI_Comm spawned(const char* what, int processes) {
    char child[] = "child", name[64];
    char* arguments[] = {child, name, NULL};
    int codes[9], i;
    MPI_Comm inter = MPI_COMM_NULL;
    for (i = 0; i < 9; i++) codes[i] = MARK;
    strcpy(name, what);
    CHECK(MPI_Comm_spawn(program, arguments, processes, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                         codes) == MPI_SUCCESS);
    CHECK(all_are(codes, processes, MPI_SUCCESS));
    return inter;
}

static void spawn(void) {
    MPI_Comm inter = spawned("spawn", 2);
    int size, remote;
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(size == ranks && remote == 2);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
    CHECK(inter == MPI_COMM_NULL);
}

static void child_spawn(MPI_Comm parent) {
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
}

/* Waits for messages of both jobs at once. */
static void both(void) {
    MPI_Comm inter = spawned("both", 1);
    MPI_Request requests[2];
    int words[2] = {0, 0}, which, seen = 0;
    const int from = (me + ranks - 1) % ranks;
    MPI_Irecv(&words[0], 1, MPI_INT, from, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&words[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &requests[1]);
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE); /* the child sends, the neighbour waits */
    CHECK(which == 1 && words[1] == MARK);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, (me + 1) % ranks, 1, MPI_COMM_WORLD);
    MPI_Irecv(&words[1], 1, MPI_INT, 0, 2, inter, &requests[1]);
    while (seen != 3) {
        int flag = 0;
        MPI_Testany(2, requests, &which, &flag, MPI_STATUS_IGNORE);
        if (flag && which != MPI_UNDEFINED) seen |= 1 << which;
        if (seen == 1) MPI_Send(&me, 1, MPI_INT, 0, 3, inter);
        if (seen == 1) seen |= 4; /* once */
        if (seen == 7) seen = 3;
    }
    CHECK(words[0] == from && words[1] == me);
    MPI_Comm_disconnect(&inter);
}

static void child_both(MPI_Comm parent) {
    int remote, i, word = MARK;
    MPI_Comm_remote_size(parent, &remote);
    usleep(200000);
    for (i = 0; i < remote; i++) MPI_Send(&word, 1, MPI_INT, i, 1, parent);
    for (i = 0; i < remote; i++) {
        MPI_Status status;
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 3, parent, &status);
        MPI_Send(&word, 1, MPI_INT, status.MPI_SOURCE, 2, parent);
    }
    MPI_Comm_disconnect(&parent);
}

static void multiple(void) {
    char child[] = "child", name[] = "multiple", other[] = "other";
    char* first[] = {child, name, NULL};
    char* second[] = {child, name, other, NULL};
    char* commands[] = {program, program};
    char** arguments[] = {first, second};
    int processes[] = {1, 2}, sum = 0, none = 0;
    const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    MPI_Comm_spawn_multiple(me == 0 ? 2 : 0, me == 0 ? commands : NULL, me == 0 ? arguments : NULL,
                            me == 0 ? processes : NULL, me == 0 ? infos : NULL, 0, MPI_COMM_WORLD,
                            &inter, MPI_ERRCODES_IGNORE);
    MPI_Allreduce(&none, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == 2);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static int more;

static void child_multiple(MPI_Comm parent) {
    int* number = NULL;
    int flag = 0, sum;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    CHECK(flag && *number == (me == 0 ? 0 : 1) && more == *number && ranks == 3);
    MPI_Allreduce(number, &sum, 1, MPI_INT, MPI_SUM, parent);
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
}

static void rounds(void) {
    int i;
    for (i = 0; i < 5; i++) {
        MPI_Comm inter = spawned("spawn", 1);
        talk(inter, 0);
        MPI_Comm_disconnect(&inter);
    }
}

/* Ends without a word to the other side. */
static void finalize(void) {
    MPI_Comm inter = spawned("finalize", 1);
    int word = 0;
    MPI_Bcast(&word, 1, MPI_INT, me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
}

static void child_finalize(MPI_Comm parent) {
    int word = 0;
    MPI_Bcast(&word, 1, MPI_INT, 0, parent);
}

/* Every rank starts a process of its own, at the same time as all others; that starts one more. */
static void each(void) {
    char child[] = "child", name[] = "each";
    char* arguments[] = {child, name, NULL};
    MPI_Comm inter;
    int word = me, back = -1;
    CHECK(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    MPI_Sendrecv(&word, 1, MPI_INT, 0, 1, &back, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
    CHECK(back == me + 2);
    MPI_Comm_disconnect(&inter);
}

/* Adds one; a child's child does, too. */
static void child_each(MPI_Comm parent, int depth) {
    int word = -1;
    MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    if (depth == 1) {
        char child[] = "child", name[] = "each", deep[] = "deep";
        char* arguments[] = {child, name, deep, NULL};
        MPI_Comm inter;
        CHECK(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                             MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
        MPI_Sendrecv_replace(&word, 1, MPI_INT, 0, 1, 0, 1, inter, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&inter);
    }
    ++word;
    MPI_Send(&word, 1, MPI_INT, 0, 1, parent);
    MPI_Comm_disconnect(&parent);
}

/* Windows, files, probes and derived communicators of both sides. */
static void use_all(MPI_Comm inter, int high, const char* path) {
    MPI_Comm merged, twin, half;
    MPI_Win window;
    MPI_File file;
    MPI_Message message;
    MPI_Status status;
    MPI_Request sent;
    int *memory, n, r, i, word, length;
    MPI_Intercomm_merge(inter, high, &merged);
    MPI_Comm_size(merged, &n);
    MPI_Comm_rank(merged, &r);
    MPI_Comm_dup(inter, &twin);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Win_allocate(sizeof(int) * n, sizeof(int), MPI_INFO_NULL, merged, &memory, &window);
    MPI_Win_fence(0, window);
    for (i = 0; i < n; i++) MPI_Put(&r, 1, MPI_INT, i, r, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (i = 0; i < n; i++) CHECK(memory[i] == i);
    MPI_Barrier(merged);
    word = 1;
    MPI_Win_lock_all(0, window);
    for (i = 0; i < n; i++) MPI_Accumulate(&word, 1, MPI_INT, i, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock_all(window);
    MPI_Win_fence(0, window);
    CHECK(memory[0] == n);
    MPI_Win_free(&window);
    CHECK(MPI_File_open(merged, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
          MPI_SUCCESS);
    MPI_File_write_at_all(file, r * (MPI_Offset)sizeof r, &r, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(merged);
    MPI_File_sync(file);
    MPI_File_read_at_all(file, (n - 1 - r) * (MPI_Offset)sizeof word, &word, 1, MPI_INT,
                         MPI_STATUS_IGNORE);
    CHECK(word == n - 1 - r);
    MPI_File_close(&file);
    if (r == 0) unlink(path);
    MPI_Isend(&r, 1, MPI_INT, (r + 1) % n, 9, merged, &sent);
    MPI_Mprobe(MPI_ANY_SOURCE, 9, merged, &message, &status);
    MPI_Get_count(&status, MPI_INT, &length);
    CHECK(length == 1 && status.MPI_SOURCE == (r + n - 1) % n);
    MPI_Mrecv(&word, 1, MPI_INT, &message, &status);
    CHECK(word == (r + n - 1) % n);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Comm_split(merged, r % 2, -r, &half);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
}

/* Only one parent has started the children; all parents and all children get a communicator. */
static void apart(void) {
    const int leader = ranks - 1;
    char child[] = "child", name[] = "apart";
    char* arguments[] = {child, name, NULL};
    MPI_Comm started = MPI_COMM_NULL, merged = MPI_COMM_NULL, inter;
    if (me == leader)
        CHECK(MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &started,
                             MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, leader, started, 1, 5, &inter) == MPI_SUCCESS);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
    if (me == leader) {
        MPI_Comm alone;
        MPI_Intercomm_merge(started, 0, &merged);
        MPI_Comm_split(merged, 0, 0, &alone);
        MPI_Comm_free(&alone);
    }
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, leader, merged, 1, 6, &inter) == MPI_SUCCESS);
    if (me == leader) {
        MPI_Comm_disconnect(&merged);
        MPI_Comm_disconnect(&started);
    }
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void child_apart(MPI_Comm parent) {
    MPI_Comm merged, both, inter;
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, 1, parent, 0, 5, &inter) == MPI_SUCCESS);
    talk(inter, 1);
    MPI_Comm_disconnect(&inter);
    /* From a communicator of the job in which they have joined their parent. */
    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Comm_split(merged, 1, me, &both);
    CHECK(MPI_Intercomm_create(both, 0, merged, 0, 6, &inter) == MPI_SUCCESS);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&merged);
    MPI_Comm_disconnect(&parent);
    talk(inter, 1);
    MPI_Comm_disconnect(&inter);
}

/* Keys of the info: the folder, and where the program is. */
static void everything(void) {
    char child[] = "child", name[] = "everything", path[256], folder[256];
    char* arguments[] = {child, name, path, NULL};
    char* base = strrchr(program, '/');
    MPI_Info info;
    MPI_Comm inter;
    CHECK(base != NULL && base - program < 250);
    sprintf(path, "/tmp/torusmp-spawn-%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    sprintf(folder, "%.*s", (int)(base - program), program);
    MPI_Info_create(&info);
    MPI_Info_set(info, "path", folder);
    MPI_Info_set(info, "wdir", "/");
    CHECK(MPI_Comm_spawn(base + 1, arguments, 2, info, 0, MPI_COMM_WORLD, &inter,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    MPI_Info_free(&info);
    use_all(inter, 0, path);
    MPI_Comm_disconnect(&inter);
}

static void child_everything(MPI_Comm parent, const char* path) {
    char here[256];
    CHECK(getcwd(here, sizeof here) != NULL && strcmp(here, "/") == 0);
    use_all(parent, 1, path);
    MPI_Comm_disconnect(&parent);
}

static void mistakes(void) {
    const int root = ranks - 1;
    int codes[4] = {MARK, MARK, MARK, MARK};
    char text[MPI_MAX_ERROR_STRING];
    int length, code;
    MPI_Comm inter = MPI_COMM_WORLD;
    MPI_Info info;
    char no_program[] = "no-such-program";
    char* commands[] = {no_program, no_program};
    int processes[] = {1, 2};
    const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    /* Only the root knows how many codes there are: the others pass other arguments. */
    code = MPI_Comm_spawn(me == root ? no_program : NULL, MPI_ARGV_NULL, me == root ? 3 : -1,
                          MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter, codes);
    CHECK_CLASS(code, MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_NULL && all_are(codes, 3, MPI_ERR_SPAWN));
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "no-such-program") != NULL);
    /* The root's mistakes have the same class everywhere. */
    codes[0] = MARK;
    CHECK_CLASS(MPI_Comm_spawn(program, MPI_ARGV_NULL, me == root ? -1 : 3, MPI_INFO_NULL, root,
                               MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_ARG);
    CHECK(codes[0] == MARK);
    CHECK_CLASS(MPI_Comm_spawn(me == root ? NULL : program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, root,
                               MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, ranks, MPI_COMM_WORLD,
                               &inter, codes),
                MPI_ERR_ROOT);
    CHECK_CLASS(
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter, codes),
        MPI_ERR_COMM);
    CHECK_CLASS(
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, NULL, codes),
        MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                               &inter, codes),
                MPI_ERR_SPAWN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "no-such-host");
    code = MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, info, 0, MPI_COMM_WORLD, &inter, codes);
    CHECK_CLASS(code, MPI_ERR_SPAWN);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "\"no-such-host\" is not a host of this job") != NULL);
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/no such folder");
    codes[0] = codes[3] = MARK;
    CHECK_CLASS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 3, info, 0, MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_SPAWN);
    CHECK(all_are(codes, 3, MPI_ERR_SPAWN) && codes[3] == MARK);
    MPI_Info_free(&info);
    if (strchr(program, '/') != NULL) { /* a program that is not in PATH, but in the folder */
        char folder[1024];
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(program, '/') - program), program);
        MPI_Info_create(&info);
        MPI_Info_set(info, "wdir", folder);
        code = MPI_Comm_spawn(strrchr(program, '/') + 1, MPI_ARGV_NULL, ranks, info, 0,
                              MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        CHECK_CLASS(code, MPI_ERR_SPAWN);
        MPI_Error_string(code, text, &length);
        CHECK(strstr(text, "in PATH (\"./") != NULL);
        MPI_Info_free(&info);
    }
    CHECK_CLASS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 2000000000, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                               &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, processes, infos, 0,
                                        MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG);
    processes[0] = 2147483647;
    CHECK_CLASS(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, processes, infos, 0,
                                        MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG);
}

static void between(void) {
    MPI_Comm half, inter, made;
    if (ranks < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 0, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_spawn("worker", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, inter, &made,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* The variables with the rank have the values of the child, not of its parent. */
static void check_variable(const char* name, int value) {
    const char* const text = getenv(name);
    CHECK(text != NULL && atoi(text) == value);
}

static void be_child(const char* what, const char* word) {
    MPI_Comm parent;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_variable("TORUSMP_RANK", me);
    check_variable("RANK", me);
    check_variable("WORLD_SIZE", ranks);
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    if (strcmp(what, "spawn") == 0) child_spawn(parent);
    if (strcmp(what, "both") == 0) child_both(parent);
    if (strcmp(what, "multiple") == 0) child_multiple(parent);
    if (strcmp(what, "finalize") == 0) child_finalize(parent);
    if (strcmp(what, "each") == 0) child_each(parent, word == NULL ? 1 : 2);
    if (strcmp(what, "apart") == 0) child_apart(parent);
    if (strcmp(what, "everything") == 0) child_everything(parent, word);
}

static const Case cases[] = {
    {"versions", versions}, {"no_parent", no_parent}, {"spawn", spawn}, {"both", both},
    {"multiple", multiple}, {"rounds", rounds},       {"each", each},   {"everything", everything},
    {"mistakes", mistakes}, {"between", between},     {"apart", apart}, {"finalize", finalize}};

int main(int argc, char** argv) {
    program = argv[0];
    MPI_Init(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "child") == 0) {
        more = argc > 3;
        be_child(argv[2], argc > 3 ? argv[3] : NULL);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        RUN_CASES(argc, argv, cases);
    }
    MPI_Finalize();
    return 0;
}
