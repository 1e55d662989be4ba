/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of processes that join, in the role that the test (spawn_test.py) selects:
 *     joined_roles accept|connect SERVICE ROUNDS [ROOT]
 *     joined_roles waits SERVICE FILE: has a port, and accepts nobody until FILE exists
 *     joined_roles apart SERVICE
 *     joined_roles parent CHILD-ROLE CHILDREN
 *     joined_roles spread CHILDREN ROUNDS
 *     joined_roles leaves CHILDREN CODE FILE: ends before its children, which end with CODE once
 *     FILE exists
 *     joined_roles again HOST: starts a child on HOST, and with it two more
 * and as a child: joined_roles child ROLE. Prints a line at each step that the test waits for. */
#include "both_sides.h"

#include <signal.h>
#include <unistd.h>

static char* program;

static void say(const char* what) {
    printf("%s %d\n", what, (int)getpid());
    fflush(stdout);
}

/* Ends the job with the library's own words. */
static void check(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "%s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A window of both sides is freed, whatever the two jobs do about deaths. */
static void share(MPI_Comm inter, int last) {
    int one = 1, sum = 0, size;
    MPI_Comm all;
    MPI_Win window;
    check(MPI_Intercomm_merge(inter, last, &all));
    MPI_Comm_size(all, &size);
    check(MPI_Win_create(&sum, sizeof sum, sizeof sum, MPI_INFO_NULL, all, &window));
    check(MPI_Win_fence(0, window));
    check(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window));
    check(MPI_Win_fence(0, window));
    check(MPI_Win_free(&window));
    MPI_Comm_rank(all, &one);
    CHECK(one != 0 || sum == size);
    MPI_Comm_free(&all);
}

static void meet(int accepts, const char* service, int rounds, int root) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    int i;
    if (accepts && me == root) {
        MPI_Open_port(MPI_INFO_NULL, port);
        check(MPI_Publish_name(service, MPI_INFO_NULL, port));
        printf("port %s\n", port);
        fflush(stdout);
    }
    while (!accepts && me == root &&
           MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS)
        usleep(10000);
    for (i = 0; i < rounds; i++) {
        check(accepts ? MPI_Comm_accept(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter)
                      : MPI_Comm_connect(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter));
        talk(inter, !accepts);
        share(inter, !accepts);
        MPI_Comm_disconnect(&inter);
    }
    if (accepts && me == root) {
        CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Close_port(port);
    }
}

static void waits(const char* service, const char* file) {
    char port[MPI_MAX_PORT_NAME] = "";
    if (me != 0) return;
    MPI_Open_port(MPI_INFO_NULL, port);
    check(MPI_Publish_name(service, MPI_INFO_NULL, port));
    say("open");
    while (access(file, F_OK) != 0) usleep(10000);
    check(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    MPI_Close_port(port);
}

static void expect(int code, int expected) {
    char text[MPI_MAX_ERROR_STRING];
    int class_ = -1, length;
    MPI_Error_class(code, &class_);
    MPI_Error_string(code, text, &length);
    CHECK(class_ == expected);
    if (code != MPI_SUCCESS) printf("%s\n", text);
}

/* The last rank, on another host, finds the name that the first rank publishes. Mistakes fail. */
static void names_of_other_hosts(const char* service) {
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    const int last = me == ranks - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (last) expect(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    MPI_Barrier(MPI_COMM_WORLD); /* the name does not exist before the first lookup has ended */
    if (me == 0) {
        expect(MPI_Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
        expect(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_SUCCESS);
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (last) {
        expect(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_SUCCESS);
        CHECK(strcmp(found, port) == 0);
        expect(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        expect(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        found[20] = found[20] == 'a' ? 'b' : 'a'; /* another place */
        expect(MPI_Comm_connect(found, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
        strcat(strcpy(found, port), "x"); /* another host */
        expect(MPI_Comm_connect(found, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        MPI_Close_port(port);
        expect(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (last) {
        expect(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
        expect(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    }
}

/* Before MPI_Init: returns in the children that live. */
static void start_as_child(const char* role) {
    if (strcmp(role, "killed-early") == 0) raise(SIGKILL);
    if (strcmp(role, "exits-early") == 0) exit(3);
}

static void be_child(const char* role) {
    MPI_Comm parent;
    int word = 0;
    MPI_Comm_get_parent(&parent);
    if (strcmp(role, "killed") == 0) {
        MPI_Barrier(parent);
        raise(SIGKILL);
    }
    if (strcmp(role, "aborts") == 0) {
        MPI_Barrier(parent);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    MPI_Barrier(parent);
    say("child");
    if (strcmp(role, "waits") == 0) MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    if (strcmp(role, "computes") == 0)
        for (;;) pause();
}

static void be_parent(const char* role, int children) {
    char child[] = "child", name[32];
    char* arguments[] = {child, name, NULL};
    MPI_Comm inter;
    int codes[8], code, word = 0, class_ = -1, length;
    char text[MPI_MAX_ERROR_STRING];
    strcpy(name, role);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                          codes);
    if (strstr(role, "early") != NULL) {
        MPI_Error_class(code, &class_);
        MPI_Error_string(code, text, &length);
        CHECK(class_ == MPI_ERR_SPAWN && codes[0] != MPI_SUCCESS && inter == MPI_COMM_NULL);
        if (me == 0) printf("refused: %s\n", text);
        return;
    }
    CHECK(code == MPI_SUCCESS);
    MPI_Barrier(inter);
    say("parent");
    code = MPI_Recv(&word, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class_);
    MPI_Error_string(code, text, &length);
    CHECK(class_ == MPI_ERR_PROC_ABORTED);
    if (me == 0) printf("lost: %s\n", text);
    fflush(stdout);
}

/* A host of a testbed has a network of its own. */
static void say_network(void) {
    char network[64] = "";
    CHECK(readlink("/proc/self/ns/net", network, sizeof network - 1) > 0);
    printf("%s\n", network);
}

static void child_spread(void) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    say_network();
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
}

static void spread(int children, int rounds) {
    char child[] = "child", name[] = "spread";
    char* arguments[] = {child, name, NULL};
    MPI_Comm inter;
    for (; rounds > 0; rounds--) {
        MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, ranks - 1, MPI_COMM_WORLD,
                       &inter, MPI_ERRCODES_IGNORE);
        talk(inter, 0);
        MPI_Comm_disconnect(&inter);
    }
}

/* The parents and the child on one host of several start two more together. */
static void start_more(MPI_Comm inter, int children) {
    char child[] = "child", name[] = "spread";
    char* arguments[] = {child, name, NULL};
    int size, round;
    MPI_Comm merged, more;
    MPI_Intercomm_merge(inter, children, &merged);
    MPI_Comm_size(merged, &size);
    for (round = 0; round < 2; round++) {
        MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, round == 0 ? 0 : size - 1, merged,
                       &more, MPI_ERRCODES_IGNORE);
        talk(more, 0);
        MPI_Comm_disconnect(&more);
    }
    MPI_Comm_disconnect(&merged);
    MPI_Comm_disconnect(&inter);
}

static void again(const char* host) {
    char child[] = "child", name[] = "again";
    char* arguments[] = {child, name, NULL};
    MPI_Info info;
    MPI_Comm inter;
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", host);
    MPI_Comm_spawn(program, arguments, 1, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    start_more(inter, 0);
}

static void child_again(void) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    say_network();
    start_more(parent, 1);
}

static void leaves(char* code, char* file, int children) {
    char child[] = "child", name[] = "stays";
    char* arguments[] = {child, name, code, file, NULL};
    MPI_Comm inter;
    MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, ranks - 1, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    if (me == ranks - 1) say("finalized");
    exit(0);
}

static void child_stays(int code, const char* file) {
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
    while (access(file, F_OK) != 0) usleep(10000);
    MPI_Barrier(MPI_COMM_WORLD);
    say("child");
    MPI_Finalize();
    exit(code);
}

int main(int argc, char** argv) {
    const char* const role = argc > 2 ? argv[1] : "";
    program = argv[0];
    if (strcmp(role, "child") == 0) start_as_child(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(role, "child") == 0)
        strcmp(argv[2], "stays") == 0  ? child_stays(atoi(argv[3]), argv[4])
        : strcmp(argv[2], "spread") == 0  ? child_spread()
        : strcmp(argv[2], "again") == 0 ? child_again()
                                        : be_child(argv[2]);
    if (strcmp(role, "spread") == 0) spread(atoi(argv[2]), atoi(argv[3]));
    if (strcmp(role, "again") == 0) again(argv[2]);
    if (strcmp(role, "leaves") == 0) leaves(argv[3], argv[4], atoi(argv[2]));
    if (strcmp(role, "parent") == 0) be_parent(argv[2], atoi(argv[3]));
    if (strcmp(role, "waits") == 0) waits(argv[2], argv[3]);
    if (strcmp(role, "apart") == 0) names_of_other_hosts(argv[2]);
    if (strcmp(role, "accept") == 0 || strcmp(role, "connect") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        meet(strcmp(role, "accept") == 0, argv[2], atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 0);
    }
    MPI_Finalize();
    return 0;
}
