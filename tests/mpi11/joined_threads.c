/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of one process that join others at the same time, and orders in which communicators of
 * joined processes end, in cases. As a child: PROGRAM child ROLE. */
#include "both_sides.h"

#include <pthread.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__ /* starts of processes take ten times as long */
enum { threads = 2, rounds = 1, messages = 300 };
#else
enum { threads = 2, rounds = 3, messages = 300 };
#endif

static char* program;

typedef struct {
    MPI_Comm comm;
    int number, accepts;
    char port[MPI_MAX_PORT_NAME];
} Work;

static void run(void* (*work)(void*), Work* works) {
    pthread_t all[threads];
    int t;
    for (t = 0; t < threads; t++) CHECK(pthread_create(&all[t], NULL, work, &works[t]) == 0);
    for (t = 0; t < threads; t++) CHECK(pthread_join(all[t], NULL) == 0);
}

static MPI_Comm start(const char* role, int processes, MPI_Comm comm) {
    char child[] = "child", name[16];
    char* arguments[] = {child, name, NULL};
    MPI_Comm inter;
    strcpy(name, role);
    CHECK(MPI_Comm_spawn(program, arguments, processes, MPI_INFO_NULL, 0, comm, &inter,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    return inter;
}

/* ---- two threads start processes ---- */

static void* spawn_work(void* own) {
    Work* const work = own;
    int i;
    thread_number = work->number;
    for (i = 0; i < rounds; i++) {
        MPI_Comm inter = start("talks", 1 + i % 2, work->comm);
        talk(inter, 0);
        MPI_Comm_disconnect(&inter);
    }
    return NULL;
}

static void spawns(void) {
    Work works[threads];
    int t;
    for (t = 0; t < threads; t++) {
        works[t].number = t;
        MPI_Comm_dup(MPI_COMM_WORLD, &works[t].comm);
    }
    run(spawn_work, works);
    for (t = 0; t < threads; t++) MPI_Comm_free(&works[t].comm);
}

static void child_talks(MPI_Comm parent) {
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
}

/* ---- two threads of each side meet at two ports ---- */

static MPI_Comm joined(const Work* work, MPI_Comm comm) {
    MPI_Comm inter;
    CHECK((work->accepts ? MPI_Comm_accept(work->port, MPI_INFO_NULL, 0, comm, &inter)
                         : MPI_Comm_connect(work->port, MPI_INFO_NULL, 0, comm, &inter)) ==
          MPI_SUCCESS);
    return inter;
}

/* The first process of the parents opens a port and sends its name to the first child. */
static void agree_on_port(Work* work, MPI_Comm inter, int parent) {
    work->accepts = parent;
    work->port[0] = '\0';
    if (me != 0) return;
    if (parent) {
        MPI_Open_port(MPI_INFO_NULL, work->port);
        MPI_Send(work->port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, inter);
    } else {
        MPI_Recv(work->port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE);
    }
}

static void close_port(const Work* work) {
    if (me == 0 && work->accepts) MPI_Close_port(work->port);
}

static void* meet_work(void* own) {
    const Work* const work = own;
    int i;
    thread_number = work->number;
    for (i = 0; i < rounds; i++) {
        MPI_Comm inter = joined(work, work->comm);
        talk(inter, !work->accepts);
        MPI_Comm_disconnect(&inter);
    }
    return NULL;
}

static void meet(MPI_Comm inter, int parent) {
    Work works[threads];
    int t;
    for (t = 0; t < threads; t++) {
        works[t].number = t;
        MPI_Comm_dup(MPI_COMM_WORLD, &works[t].comm);
        agree_on_port(&works[t], inter, parent);
    }
    run(meet_work, works);
    for (t = 0; t < threads; t++) {
        close_port(&works[t]);
        MPI_Comm_free(&works[t].comm);
    }
    MPI_Comm_disconnect(&inter);
}

static void ports(void) {
    meet(start("meets", 2, MPI_COMM_WORLD), 1);
}

static void child_meets(MPI_Comm parent) {
    meet(parent, 0);
}

/* ---- one thread waits in MPI_Comm_accept, others exchange messages ---- */

static void* accept_work(void* own) {
    Work* const work = own;
    MPI_Comm inter = joined(work, MPI_COMM_SELF);
    MPI_Comm_disconnect(&inter);
    return NULL;
}

static void* echo_work(void* own) {
    Work* const work = own;
    int i, word = -1;
    for (i = 0; i < messages; i++) {
        MPI_Recv(&word, 1, MPI_INT, 0, 1, work->comm, MPI_STATUS_IGNORE);
        CHECK(word == i);
        MPI_Send(&word, 1, MPI_INT, 0, 2, work->comm);
    }
    return NULL;
}

static void* main_work(void* own) {
    Work* const work = own;
    int i, word;
    for (i = 0; i < messages; i++) {
        word = i;
        MPI_Send(&word, 1, MPI_INT, 0, 1, work->comm);
        MPI_Recv(&word, 1, MPI_INT, 0, 2, work->comm, MPI_STATUS_IGNORE);
        CHECK(word == i);
    }
    return NULL;
}

/* The child calls only when all messages, inside this process and with the child, have come. */
static void waits(void) {
    MPI_Comm inter = start("calls", 1, MPI_COMM_WORLD), own;
    Work port, works[threads];
    pthread_t accepting, echoing;
    int i, word;
    agree_on_port(&port, inter, 1);
    if (me == 0) {
        MPI_Comm_dup(MPI_COMM_SELF, &own);
        works[0].comm = works[1].comm = own;
        CHECK(pthread_create(&accepting, NULL, accept_work, &port) == 0);
        CHECK(pthread_create(&echoing, NULL, echo_work, &works[0]) == 0);
        main_work(&works[1]);
        CHECK(pthread_join(echoing, NULL) == 0);
        for (i = 0; i < messages; i++) {
            MPI_Sendrecv(&i, 1, MPI_INT, 0, 2, &word, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE);
            CHECK(word == i);
        }
        CHECK(pthread_join(accepting, NULL) == 0);
        MPI_Comm_free(&own);
    }
    close_port(&port);
    MPI_Comm_disconnect(&inter);
}

static void child_calls(MPI_Comm parent) {
    Work port;
    int i;
    agree_on_port(&port, parent, 0);
    for (i = 0; i < messages; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 2, &(int){0}, 1, MPI_INT, 0, 2, parent, MPI_STATUS_IGNORE);
    accept_work(&port);
    MPI_Comm_disconnect(&parent);
}

/* ---- orders of ends ---- */

/* Two communicators of the same two sides: both orders, and either side may be the late one. */
static void end_both(MPI_Comm inter, int parent) {
    Work port;
    int order;
    agree_on_port(&port, inter, parent);
    for (order = 0; order < 4; order++) {
        MPI_Comm first = joined(&port, MPI_COMM_WORLD), second = joined(&port, MPI_COMM_WORLD);
        talk(order % 2 ? first : second, !parent);
        if (order / 2 == parent) usleep(20000);
        MPI_Comm_disconnect(order % 2 ? &first : &second);
        talk(order % 2 ? second : first, !parent);
        MPI_Comm_disconnect(order % 2 ? &second : &first);
    }
    close_port(&port);
    talk(inter, !parent);
    MPI_Comm_disconnect(&inter);
}

static void orders(void) {
    end_both(start("ends-both", 2, MPI_COMM_WORLD), 1);
}

static void child_ends_both(MPI_Comm parent) {
    end_both(parent, 0);
}

/* A child that has a child parts first from it, or first from the parents. */
static void nested(void) {
    MPI_Comm inter = start("inner-first", 2, MPI_COMM_WORLD);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
    inter = start("outer-first", 2, MPI_COMM_WORLD);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void child_nests(MPI_Comm parent, int inner_first) {
    MPI_Comm inner = start("talks", 2, MPI_COMM_WORLD);
    if (inner_first) {
        talk(inner, 0);
        MPI_Comm_disconnect(&inner);
    }
    talk(parent, 1);
    MPI_Comm_disconnect(&parent);
    if (!inner_first) {
        talk(inner, 0);
        MPI_Comm_disconnect(&inner);
    }
}

static void be_child(const char* role) {
    MPI_Comm parent;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_get_parent(&parent);
    if (strcmp(role, "talks") == 0) child_talks(parent);
    if (strcmp(role, "meets") == 0) child_meets(parent);
    if (strcmp(role, "calls") == 0) child_calls(parent);
    if (strcmp(role, "ends-both") == 0) child_ends_both(parent);
    if (strcmp(role, "inner-first") == 0) child_nests(parent, 1);
    if (strcmp(role, "outer-first") == 0) child_nests(parent, 0);
}

static const Case cases[] = {{"spawns", spawns},
                             {"ports", ports},
                             {"waits", waits},
                             {"orders", orders},
                             {"nested", nested}};

int main(int argc, char** argv) {
    int level = -1;
    program = argv[0];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    if (argc > 2 && strcmp(argv[1], "child") == 0)
        be_child(argv[2]);
    else
        RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
