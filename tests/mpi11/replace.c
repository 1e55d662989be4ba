/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes die (SIGKILL) and new ones take their places: replace SEED ROUNDS VICTIMS. In each round
 * up to VICTIMS processes die, at a time that the seed decides: while they wait, send, or replace
 * others. Started with --keep-going. As "replace mistakes" and "replace last_words" the program tests
 * single calls. */
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int failures;
static char* program;
#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: process %d: %s\n", __FILE__, __LINE__, (int)getpid(),     \
                    #condition);                                                              \
            failures++;                                                                       \
        }                                                                                     \
    } while (0)
#define CHECK_CLASS(code, expected) CHECK(class_of(code) == (expected))

static MPI_Comm all = MPI_COMM_NULL;
static int me, size;

static int class_of(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void take(MPI_Comm comm) {
    all = comm;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &size);
}

/* Puts new processes in the places of the dead: all survivors call it after any error. */
static void repair(char* arguments[]) {
    MPI_Comm whole = MPI_COMM_WORLD;
    const int rank = me, ranks = size;
    int code;
    MPIX_Comm_revoke(all);
    code = torusmp_replace(all, program, arguments, MPI_INFO_NULL, &whole);
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, text);
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
    CHECK(MPI_Comm_free(&all) == MPI_SUCCESS);
    take(whole);
    CHECK(me == rank && size == ranks);
}

static void killed(int signal) {
    (void)signal;
    raise(SIGKILL);
}

static unsigned draw(unsigned* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* The same victims on all processes: each dies some milliseconds after it has begun the round. */
static void choose_end(int seed, int round, int victims) {
    unsigned state = (unsigned)(seed * 7919 + round * 104729 + 1);
    int victim, count;
    for (victim = 0; victim < 8; victim++) draw(&state);
    count = 1 + (int)(draw(&state) % (unsigned)victims);
    for (victim = 0; victim < count; victim++) {
        const int rank = (int)(draw(&state) % (unsigned)size);
        const long us = 1000L * (long)(draw(&state) % (victim == 0 ? 30 : 600)) + 1;
        const struct itimerval once = {{0, 0}, {0, us}};
        if (rank == me) setitimer(ITIMER_REAL, &once, NULL);
    }
}

/* Collectives and messages of all. Returns an error code, or 0. */
static int work(void) {
    int i, code = MPI_SUCCESS;
    for (i = 0; i < 10 && code == MPI_SUCCESS; i++) {
        long sum = 0, mine = me + i;
        int got = -1;
        code = MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, all);
        if (code == MPI_SUCCESS) CHECK(sum == (long)size * (size - 1) / 2 + (long)size * i);
        if (code == MPI_SUCCESS)
            code = MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % size, 5, &got, 1, MPI_INT,
                                (me + size - 1) % size, 5, all, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS) CHECK(got == (me + size - 1) % size);
        usleep(5000);
    }
    return code;
}

static int lose_and_replace(int seed, int rounds, int victims, char* arguments[], int fresh) {
    int round = 0, armed = fresh ? -2 : -1;
    signal(SIGALRM, killed);
    while (1) {
        const int mine = round;
        int code = MPI_Allreduce(&mine, &round, 1, MPI_INT, MPI_MAX, all), good;
        if (code != MPI_SUCCESS) round = mine;
        if (code == MPI_SUCCESS && armed == -2) armed = round; /* lives through its first round */
        if (code == MPI_SUCCESS && armed != round && round < rounds) {
            armed = round;
            choose_end(seed, round, victims);
        }
        if (round >= rounds) {
            const struct itimerval never = {{0, 0}, {0, 0}};
            setitimer(ITIMER_REAL, &never, NULL);
        }
        if (code == MPI_SUCCESS) code = work();
        good = code == MPI_SUCCESS;
        if (!good) MPIX_Comm_revoke(all);
        /* All survivors agree at this place alone, so they replace together. */
        if (MPI_Comm_agree(all, &good) != MPI_SUCCESS || !good)
            repair(arguments);
        else if (++round > rounds)
            return rounds;
    }
}

static void mistakes(void) {
    char none[] = "/there/is/no/such/program", nothing[] = "";
    MPI_Comm made = MPI_COMM_WORLD, freed, inter, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    made = freed;
    MPI_Comm_free(&freed);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(torusmp_replace(made, program, MPI_ARGV_NULL, MPI_INFO_NULL, &freed), MPI_ERR_COMM);
    CHECK(freed == MPI_COMM_NULL);
    CHECK_CLASS(torusmp_replace(all, program, MPI_ARGV_NULL, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    CHECK_CLASS(torusmp_replace(all, NULL, MPI_ARGV_NULL, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    CHECK_CLASS(torusmp_replace(all, nothing, MPI_ARGV_NULL, MPI_INFO_NULL, &made), MPI_ERR_SPAWN);
    CHECK_CLASS(torusmp_replace(MPI_COMM_NULL, program, MPI_ARGV_NULL, MPI_INFO_NULL, &made),
                MPI_ERR_COMM);
    CHECK_CLASS(torusmp_replace(all, program, MPI_ARGV_NULL, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    MPI_Comm_split(all, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, all, 1 - me % 2, 3, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(torusmp_replace(inter, program, MPI_ARGV_NULL, MPI_INFO_NULL, &made), MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Barrier(all);
    if (me == size - 1) raise(SIGKILL);
    while (MPI_Barrier(all) == MPI_SUCCESS) continue;
    MPIX_Comm_revoke(all);
    CHECK_CLASS(torusmp_replace(all, none, MPI_ARGV_NULL, MPI_INFO_NULL, &made), MPI_ERR_SPAWN);
    CHECK(made == MPI_COMM_NULL);
    /* Ends before it joins. */
    none[0] = '\0';
    strcat(none, "false");
    CHECK_CLASS(torusmp_replace(all, none, MPI_ARGV_NULL, MPI_INFO_NULL, &made), MPI_ERR_SPAWN);
    MPI_Comm_free(&all);
}

/* Without --keep-going. */
static void refused(void) {
    MPI_Comm made;
    CHECK_CLASS(torusmp_replace(all, program, MPI_ARGV_NULL, MPI_INFO_NULL, &made),
                MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Comm_free(&all);
}

int main(int argc, char** argv) {
    MPI_Comm parent, whole;
    int fresh;
    program = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    fresh = parent != MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (fresh)
        CHECK(torusmp_replace(MPI_COMM_NULL, NULL, NULL, MPI_INFO_NULL, &whole) == MPI_SUCCESS);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &whole);
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    take(whole);
    if (argc == 2 && strcmp(argv[1], "mistakes") == 0) {
        mistakes();
    } else if (argc == 2 && strcmp(argv[1], "refused") == 0) {
        refused();
    } else if (argc == 4) {
        const int rounds = lose_and_replace(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), argv + 1,
                                            fresh);
        if (me == 0 && failures == 0)
            printf("replace: %d processes are whole after %d rounds\n", size, rounds);
        MPI_Comm_free(&all);
    } else {
        fprintf(stderr, "usage: replace SEED ROUNDS VICTIMS | mistakes | refused\n");
        failures++;
    }
    MPI_Finalize();
    return failures != 0;
}
