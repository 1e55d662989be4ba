/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that hang, one for each mistake: "hangs CASE", started with four ranks. Each rank prints
 * a line before the call in which it hangs. */
#include <mpi.h>
#include <qmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, ranks;
static char big[1 << 20], other_big[1 << 20];
static int number = 42;

static void in_place(void) {
    printf("in place\n");
    fflush(stdout);
}
static void barrier(void) {
    in_place();
    MPI_Barrier(MPI_COMM_WORLD);
}
static void compute(void) {
    volatile unsigned long turns = 0;
    in_place();
    for (;;) turns++;
}
static void receive_int(int source, int tag, MPI_Comm comm) {
    in_place();
    MPI_Recv(&number, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
}

static void tag(void) {
    if (me == 0) MPI_Send(&number, 1, MPI_INT, 1, 78, MPI_COMM_WORLD);
    if (me == 1) receive_int(0, 77, MPI_COMM_WORLD);
    barrier();
}
static void size(void) {
    in_place();
    MPI_Bcast(big, me == 2 ? 2000 : 1000, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void root(void) {
    in_place();
    MPI_Bcast(big, sizeof big, MPI_CHAR, me == 2 ? 2 : 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void order(void) {
    in_place();
    if (me == 3) MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void cyclic_sends(void) {
    if (me == 3) barrier();
    in_place();
    MPI_Send(big, sizeof big, MPI_CHAR, (me + 1) % 3, 0, MPI_COMM_WORLD);
}
static void stopped(void) {
    if (me == 1) {
        in_place();
        raise(SIGSTOP);
    }
    barrier();
}
static void exits(void) {
    if (me == 1) {
        in_place();
        exit(0);
    }
    barrier();
}
static void wildcard(void) {
    if (me == 0) receive_int(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD);
    barrier();
}
static void unserved(void) {
    if (me == 1) receive_int(0, 5, MPI_COMM_WORLD);
    barrier();
}
static void forgotten_wait(void) {
    MPI_Request request;
    if (me == 0) MPI_Isend(big, sizeof big, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request);
    if (me == 0) compute();
    in_place();
    if (me == 1) MPI_Recv(big, sizeof big, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void credits(void) {
    if (me == 1) compute();
    in_place();
    if (me == 0)
        for (;;) MPI_Send(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void communicators(void) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "copy");
    if (me == 0) MPI_Send(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (me == 1) receive_int(0, 5, copy);
    barrier();
}
static void infinite_loop(void) {
    if (me == 2) compute();
    barrier();
}
static void looks(void) {
    int found = 0;
    if (me == 2) {
        in_place();
        while (!found) MPI_Iprobe(0, 5, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    barrier();
}
static void tests(void) {
    int done = 0;
    MPI_Request request;
    if (me == 2) {
        MPI_Irecv(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        in_place();
        while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    barrier();
}
static void sleeping(void) {
    if (me == 3) {
        in_place();
        for (;;) sleep(1000);
    }
    barrier();
}
static void crossed_exchange(void) {
    const int peer = 1 - me, tag = 1 + me;
    if (me > 1) barrier();
    in_place();
    MPI_Sendrecv(big, 8, MPI_CHAR, peer, tag, other_big, 8, MPI_CHAR, peer, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}
static void probe(void) {
    if (me == 0) receive_int(1, 6, MPI_COMM_WORLD);
    in_place();
    if (me == 1) MPI_Probe(0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void not_started(void) {
    MPI_Request request;
    if (me == 0) MPI_Send_init(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    if (me == 1) receive_int(0, 5, MPI_COMM_WORLD);
    barrier();
}
static void finalized(void) {
    if (me == 1) receive_int(0, 5, MPI_COMM_WORLD);
    in_place();
    MPI_Finalize();
}
static void crossed_barriers(void) {
    MPI_Comm a, b;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    MPI_Comm_set_name(a, "a");
    MPI_Comm_set_name(b, "b");
    in_place();
    MPI_Barrier(me == 2 ? b : a);
}
static void between_groups(void) {
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me < 2 ? 2 : 0, 7, &both);
    MPI_Comm_set_name(both, "both halves");
    in_place();
    if (me < 2)
        MPI_Barrier(both);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}
static void splits(void) {
    MPI_Comm half;
    if (me == 1) receive_int(0, 5, MPI_COMM_WORLD);
    in_place();
    MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &half);
}
static void creates(void) {
    MPI_Group all;
    MPI_Comm same;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (me == 0) receive_int(1, 5, MPI_COMM_WORLD);
    in_place();
    MPI_Comm_create(MPI_COMM_WORLD, all, &same);
}
static void to_itself(void) {
    in_place();
    if (me == 0) MPI_Ssend(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}
static void any_of_several(void) {
    MPI_Request requests[2];
    int values[2], i;
    if (me == 0) {
        for (i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, i + 1, 5, MPI_COMM_WORLD, &requests[i]);
        in_place();
        MPI_Waitany(2, requests, &i, MPI_STATUS_IGNORE);
    }
    barrier();
}
static void not_in_step(void) {
    MPI_Request request;
    if (me == 0) {
        in_place();
        MPI_Ssend(&number, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
    }
    if (me == 1) MPI_Irecv(&number, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    barrier();
}

static void ring(void) {
    in_place();
    MPI_Send(big, sizeof big, MPI_CHAR, (me + 1) % ranks, 0, MPI_COMM_WORLD);
}
/* No hang: what is left over is reported at the end. */
static void leftovers(void) {
    MPI_Request request;
    if (me == 0) MPI_Send(&number, 1, MPI_INT, 1, 78, MPI_COMM_WORLD);
    if (me == 1) MPI_Irecv(&number, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* With QMP alone. */
static void declared(void) {
    static int block[2];
    QMP_msgmem_t memory = QMP_declare_msgmem(block, sizeof block);
    QMP_msghandle_t handle;
    if (me == 0) handle = QMP_declare_send_to(memory, 1, 0);
    if (me == 1) {
        handle = QMP_declare_receive_from(memory, 0, 0);
        QMP_start(handle);
        in_place();
        QMP_wait(handle);
    }
    in_place();
    QMP_barrier();
}

static const struct {
    const char* name;
    void (*run)(void);
} cases[] = {{"tag", tag},
             {"size", size},
             {"root", root},
             {"order", order},
             {"cyclic_sends", cyclic_sends},
             {"stopped", stopped},
             {"exits", exits},
             {"wildcard", wildcard},
             {"unserved", unserved},
             {"forgotten_wait", forgotten_wait},
             {"credits", credits},
             {"communicators", communicators},
             {"infinite_loop", infinite_loop},
             {"looks", looks},
             {"tests", tests},
             {"sleeping", sleeping},
             {"crossed_exchange", crossed_exchange},
             {"probe", probe},
             {"not_started", not_started},
             {"finalized", finalized},
             {"crossed_barriers", crossed_barriers},
             {"between_groups", between_groups},
             {"splits", splits},
             {"creates", creates},
             {"to_itself", to_itself},
             {"any_of_several", any_of_several},
             {"not_in_step", not_in_step},
             {"ring", ring},
             {"leftovers", leftovers},
             {NULL, NULL}};

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "";
    const char* rank = getenv("TORUSMP_RANK");
    int i;
    if (strcmp(name, "not_joined") == 0 && rank != NULL && atoi(rank) == 2) {
        in_place();
        for (;;) pause();
    }
    if (strcmp(name, "declared") == 0) {
        QMP_thread_level_t provided;
        QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided);
        me = QMP_get_node_number();
        declared();
        return 0;
    }
    if (strcmp(name, "not_joined") == 0) in_place();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 0; cases[i].name != NULL; i++)
        if (strcmp(cases[i].name, name) == 0) cases[i].run();
    MPI_Finalize();
    return 0;
}
