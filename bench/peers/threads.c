/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of several threads of a rank at the same time (MPI_THREAD_MULTIPLE), the same source for
 * each library under comparison.
 *
 *   threads [--seconds S] rate:THREADS ...
 *
 * Prints as messages.c does. rate: millions of messages of 8 bytes a second, of all threads: each
 * sends to one of rank 1, 64 at a time, then gets an empty message back. Exit code 2: a test that
 * does not exist. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "timing.h"

enum { window = 64, most_threads = 64 };

typedef struct {
    int number;
    long times;
    double values[window];
    MPI_Request requests[window];
} Thread;

static Thread threads[most_threads];
static int count;

/* The thread's tag separates its messages from those of other threads. */
static void* windows(void* state) {
    Thread* t = state;
    for (long i = 0; i < t->times; i++) {
        for (int k = 0; k < window; k++)
            if (net_rank() == 0)
                MPI_Isend(&t->values[k], 1, MPI_DOUBLE, 1, t->number, MPI_COMM_WORLD,
                          &t->requests[k]);
            else
                MPI_Irecv(&t->values[k], 1, MPI_DOUBLE, 0, t->number, MPI_COMM_WORLD,
                          &t->requests[k]);
        MPI_Waitall(window, t->requests, MPI_STATUSES_IGNORE);
        if (net_rank() == 0)
            MPI_Recv(NULL, 0, MPI_DOUBLE, 1, t->number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_DOUBLE, 0, t->number, MPI_COMM_WORLD);
    }
    return NULL;
}

/* The calling thread is the first of them. */
static void all_threads(void* state, long times) {
    pthread_t others[most_threads];
    (void)state;
    if (net_rank() > 1) return;
    for (int i = 0; i < count; i++) threads[i].times = times;
    for (int i = 1; i < count; i++)
        if (pthread_create(&others[i], NULL, windows, &threads[i]) != 0)
            net_abort("no thread could be made");
    windows(&threads[0]);
    for (int i = 1; i < count; i++) pthread_join(others[i], NULL);
}

static Timing rate(double seconds) {
    for (int i = 0; i < count; i++) {
        threads[i].number = i;
        for (int k = 0; k < window; k++) threads[i].values[k] = net_rank() == 0 ? 100 * i + k : -1;
    }
    timed(all_threads, NULL, 1);
    for (int i = 0; i < count && net_rank() < 2; i++)
        for (int k = 0; k < window; k++)
            if (threads[i].values[k] != 100 * i + k)
                net_abort("a message arrived with wrong contents");
    Timing t = measure(all_threads, NULL, seconds);
    return (Timing){1e-6 * count * window / t.median, 1e-6 * count * window / t.best};
}

int main(int argc, char** argv) {
    int level;
    double budget = 0.2; /* seconds a measurement */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    net_start(&argc, &argv);
    if (level < MPI_THREAD_MULTIPLE) net_abort("several threads must not call");
    if (net_rank() == 0) printf("library %s\n", net_library());
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            budget = atof(argv[++i]);
        } else if (sscanf(argv[i], "rate:%d", &count) == 1 && count >= 1 && count <= most_threads &&
                   net_size() > 1) {
            const Timing t = rate(budget);
            if (net_rank() == 0) printf("%s %.6g %.6g called\n", argv[i], t.median, t.best);
            fflush(stdout);
        } else {
            if (net_rank() == 0) fprintf(stderr, "threads: unknown test '%s'\n", argv[i]);
            net_barrier();
            exit(2);
        }
    }
    net_end();
    return 0;
}
