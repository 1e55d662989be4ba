/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups that connect: over ports, names of ports, and sockets. As a child (argv[1] is "child")
 * this program joins its parent over a socket, too. */
#include "both_sides.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static char* program;

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
        /* A name may outlive its port. */
        CHECK_CLASS(MPI_Close_port(port), MPI_SUCCESS);
        CHECK_CLASS(MPI_Close_port(port), MPI_ERR_PORT);
        CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_SUCCESS);
        CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    }
    MPI_Comm_free(&half);
}

/* Connected, to each other. */
static void listen_locally(int* listener, int* port) {
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    *listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(*listener, (struct sockaddr*)&address, sizeof address) == 0);
    CHECK(listen(*listener, 1) == 0);
    CHECK(getsockname(*listener, (struct sockaddr*)&address, &size) == 0);
    *port = ntohs(address.sin_port);
}

static int connect_locally(int port) {
    struct sockaddr_in address = {0};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((unsigned short)port);
    CHECK(connect(fd, (struct sockaddr*)&address, sizeof address) == 0);
    return fd;
}

/* The socket stays the program's: nothing is lost in it, and nothing left. */
static void join_and_talk(int fd, int high) {
    MPI_Comm joined = MPI_COMM_NULL;
    char word = 0;
    int remote = 0;
    CHECK(MPI_Comm_join(fd, &joined) == MPI_SUCCESS);
    MPI_Comm_remote_size(joined, &remote);
    CHECK(remote == 1);
    CHECK(write(fd, high ? "h" : "l", 1) == 1);
    CHECK(read(fd, &word, 1) == 1 && word == (high ? 'l' : 'h'));
    talk(joined, high);
    MPI_Comm_disconnect(&joined);
    CHECK(write(fd, "e", 1) == 1);
    CHECK(read(fd, &word, 1) == 1 && word == 'e');
    close(fd);
}

/* Rank 0 and a child that it has started meet once more over a socket, then two ranks do. */
static void join(void) {
    int listener, port;
    if (me < 2) listen_locally(&listener, &port);
    if (me == 0) {
        char child[] = "child", name[] = "join", number[16];
        char* arguments[] = {child, name, number, NULL};
        MPI_Comm inter;
        int fd;
        sprintf(number, "%d", port);
        CHECK(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                             MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
        fd = accept(listener, NULL, NULL);
        CHECK(fd >= 0);
        join_and_talk(fd, 0);
        MPI_Comm_disconnect(&inter);
    }
    if (ranks > 1 && me == 1) {
        MPI_Send(&port, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        join_and_talk(accept(listener, NULL, NULL), 1);
    } else if (ranks > 1 && me == 0) {
        MPI_Recv(&port, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        join_and_talk(connect_locally(port), 0);
    }
    if (me < 2) close(listener);
}

static void child_join(MPI_Comm parent, const char* port) {
    join_and_talk(connect_locally(atoi(port)), 1);
    MPI_Comm_disconnect(&parent);
}

static void bad_sockets(void) {
    MPI_Comm joined = MPI_COMM_WORLD;
    int ends[2];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_join(-1, &joined), MPI_ERR_ARG);
    CHECK(joined == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_join(0, NULL), MPI_ERR_ARG);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    close(ends[1]);
    CHECK_CLASS(MPI_Comm_join(ends[0], &joined), MPI_ERR_OTHER);
    close(ends[0]);
    /* Another program is at the other end. */
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(write(ends[1], "GET / HTTP/1.0\r\n\r\n", 18) == 18);
    CHECK_CLASS(MPI_Comm_join(ends[0], &joined), MPI_ERR_OTHER);
    close(ends[0]);
    close(ends[1]);
}

/* Any text may be published, also one that looks like a port. */
static void made_up_names(void) {
    char text[400] = "torusmp-port:", service[64], found[MPI_MAX_PORT_NAME];
    const size_t lengths[] = {13, 20, 100, 255, 399};
    size_t i;
    sprintf(service, "made up %d", (int)getpid());
    for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memset(text + 13, 'a', sizeof text - 13);
        text[lengths[i]] = '\0';
        if (lengths[i] > 13) text[lengths[i] - 1] = ':';
        CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, text), MPI_SUCCESS);
        CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, "other"), MPI_ERR_SERVICE);
        CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_SUCCESS);
        CHECK(strncmp(found, text, MPI_MAX_PORT_NAME - 1) == 0);
        CHECK_CLASS(MPI_Unpublish_name(service, MPI_INFO_NULL, text), MPI_SUCCESS);
    }
}

static void mistakes(void) {
    char text[MPI_MAX_ERROR_STRING], port[MPI_MAX_PORT_NAME] = "";
    int length, code;
    MPI_Comm inter = MPI_COMM_WORLD;
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
    made_up_names();
}

/* A group that has two sides cannot accept as one. */
static void between(void) {
    MPI_Comm half, inter, made;
    if (ranks < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 0, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_accept("port", MPI_INFO_NULL, 0, inter, &made), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_connect("port", MPI_INFO_NULL, 0, inter, &made), MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static const Case cases[] = {{"meet", meet},
                             {"join", join},
                             {"bad_sockets", bad_sockets},
                             {"mistakes", mistakes},
                             {"between", between}};

int main(int argc, char** argv) {
    program = argv[0];
    MPI_Init(&argc, &argv);
    if (argc > 3 && strcmp(argv[1], "child") == 0) {
        MPI_Comm parent;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        MPI_Comm_get_parent(&parent);
        CHECK(parent != MPI_COMM_NULL);
        child_join(parent, argv[3]);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        RUN_CASES(argc, argv, cases);
    }
    MPI_Finalize();
    return 0;
}
