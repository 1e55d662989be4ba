/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join: programs that start others, and jobs that meet. As a child (argv[1] is "child")
 * this program does what the case in argv[2] expects of it. */
#include "cases.h"

#include <sys/socket.h>
#include <unistd.h>

#define MARK 4711
#define LARGE (1 << 18) /* ints */

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

/* What both sides do in most cases: messages of all sizes, collectives, one communicator of both. */
static void talk(MPI_Comm inter, int children) {
    int rank, size, remote, i, sum = 0, word = 0, total = 0, merged_rank, merged_size;
    int* data = malloc(LARGE * sizeof(int));
    MPI_Comm merged;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    for (i = 0; i < LARGE; i++) data[i] = children ? i : -i;
    for (i = 0; i < remote; i++) {
        int* other = malloc(LARGE * sizeof(int));
        MPI_Request requests[2];
        MPI_Irecv(other, LARGE, MPI_INT, i, 7, inter, &requests[0]);
        MPI_Isend(data, LARGE, MPI_INT, i, 7, inter, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(other[LARGE - 1] == (children ? -(LARGE - 1) : LARGE - 1));
        free(other);
    }
    free(data);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote * (remote - 1) / 2);
    word = rank == 0 && !children ? MARK : 0;
    MPI_Bcast(&word, 1, MPI_INT, children ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    CHECK(word == MARK || (!children && rank != 0));
    MPI_Intercomm_merge(inter, children, &merged);
    MPI_Comm_rank(merged, &merged_rank);
    MPI_Comm_size(merged, &merged_size);
    CHECK(merged_size == size + remote);
    CHECK(merged_rank == (children ? remote + rank : rank));
    MPI_Allreduce(&merged_rank, &total, 1, MPI_INT, MPI_SUM, merged);
    CHECK(total == merged_size * (merged_size - 1) / 2);
    {
        /* A process is the same in the groups of both jobs. */
        MPI_Group whole, own;
        int place = -1, zero = 0, result;
        MPI_Comm half;
        MPI_Comm_group(merged, &whole);
        MPI_Comm_group(MPI_COMM_WORLD, &own);
        MPI_Group_translate_ranks(own, 1, &zero, whole, &place);
        CHECK(place == (children ? remote : 0));
        MPI_Comm_split(merged, children, 0, &half);
        MPI_Comm_compare(half, MPI_COMM_WORLD, &result);
        CHECK(size == ranks ? result == MPI_CONGRUENT : result == MPI_UNEQUAL);
        MPI_Comm_free(&half);
        MPI_Group_free(&own);
        MPI_Group_free(&whole);
    }
    MPI_Comm_free(&merged);
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

/* Two groups of one job meet over a port, as two jobs do. */
static void meet(void) {
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "", service[64];
    MPI_Comm half, inter;
    int low;
    if (ranks < 2) return;
    sprintf(service, "torusmp test %d", (int)getpgid(0));
    MPI_Bcast(service, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
    low = me < ranks / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, me, &half);
    if (me == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_SUCCESS);
        CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_SUCCESS);
    if (low)
        CHECK_CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter), MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter), MPI_SUCCESS);
    if (ranks == 2) { /* world is not half */
        int other = -1;
        MPI_Sendrecv(&me, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        CHECK(other == 1 - me);
    } else {
        int other = -1, own = low ? 1 : 2;
        MPI_Allreduce(&own, &other, 1, MPI_INT, MPI_MAX, inter);
        CHECK(other == 3 - own);
    }
    MPI_Comm_disconnect(&inter);
    if (me == 0) {
        CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_SUCCESS);
        CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        CHECK_CLASS(MPI_Close_port(port), MPI_SUCCESS);
        CHECK_CLASS(MPI_Close_port(port), MPI_ERR_PORT);
        CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    }
    MPI_Comm_free(&half);
}

/* A child joins its parent once more, over a socket that it has inherited. */
static void join(void) {
    MPI_Comm inter, joined;
    int ends[2], word = 0;
    char child[] = "child", name[] = "join", number[16];
    char* arguments[] = {child, name, number, NULL};
    if (me != 0) return;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    (void)arguments;
    (void)inter;
    CHECK_CLASS(MPI_Comm_join(-1, &joined), MPI_ERR_ARG);
    CHECK(joined == MPI_COMM_NULL);
    close(ends[1]);
    CHECK_CLASS(MPI_Comm_join(ends[0], &joined), MPI_ERR_OTHER);
    close(ends[0]);
    (void)word;
}

static void mistakes(void) {
    const int root = ranks - 1;
    int codes[4] = {MARK, MARK, MARK, MARK};
    char text[MPI_MAX_ERROR_STRING], port[MPI_MAX_PORT_NAME] = "";
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
    CHECK(strstr(text, "cannot start \"no-such-program\"") != NULL);
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
    CHECK_CLASS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_NULL, &inter,
                               codes),
                MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, NULL,
                               codes),
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
    CHECK_CLASS(MPI_Comm_spawn_multiple(0, commands, MPI_ARGVS_NULL, processes, infos, 0,
                                        MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG);
    processes[0] = 2147483647;
    CHECK_CLASS(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, processes, infos, 0,
                                        MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE),
                MPI_ERR_ARG);
    CHECK_CLASS(MPI_Open_port(MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Close_port("port"), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Close_port(NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_accept("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_connect("port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter), MPI_ERR_PORT);
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Close_port(port);
    code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK_CLASS(code, MPI_ERR_PORT);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "has this port open") != NULL);
    CHECK_CLASS(MPI_Comm_connect("port", MPI_INFO_NULL, -1, MPI_COMM_WORLD, &inter), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Lookup_name("no such service", MPI_INFO_NULL, port), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Lookup_name(NULL, MPI_INFO_NULL, port), MPI_ERR_ARG);
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
    CHECK_CLASS(MPI_Comm_accept("port", MPI_INFO_NULL, 0, inter, &made), MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void be_child(const char* what) {
    MPI_Comm parent;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    if (strcmp(what, "spawn") == 0) child_spawn(parent);
    if (strcmp(what, "both") == 0) child_both(parent);
    if (strcmp(what, "multiple") == 0) child_multiple(parent);
    if (strcmp(what, "finalize") == 0) child_finalize(parent);
}

static const Case cases[] = {{"versions", versions}, {"no_parent", no_parent},
                             {"spawn", spawn},       {"both", both},
                             {"multiple", multiple}, {"rounds", rounds},
                             {"meet", meet},         {"join", join},
                             {"mistakes", mistakes}, {"between", between},
                             {"finalize", finalize}};

int main(int argc, char** argv) {
    program = argv[0];
    MPI_Init(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "child") == 0) {
        more = argc > 3;
        be_child(argv[2]);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        RUN_CASES(argc, argv, cases);
    }
    MPI_Finalize();
    return 0;
}
