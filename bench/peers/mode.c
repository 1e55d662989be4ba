/* SPDX-License-Identifier: BSD-3-Clause */
/* How near two processors of this host are to each other. Virtual machines move: the same two may
 * be threads of one core in one minute and on two sockets in the next, which changes every figure
 * of messages in memory.
 *
 *   mode            prints the time in which a cache line goes from one processor to the other and
 *                   back, in ns, and the rate at which one reads 256 KiB that the other has
 * written, in GB/s: the best of some batches, so that other programs do not count. The processors
 * are the first two that this process may use. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { trips = 200, batches = 50, area = 256 << 10, copies = 20 };

static _Alignas(128) atomic_long ball;
static _Alignas(128) char written[area];
static int processors[2];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stay_on(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("mode: sched_setaffinity");
        exit(1);
    }
}

static void wait_for(long value) {
    while (atomic_load_explicit(&ball, memory_order_acquire) != value) {
    }
}

static void give(long value) {
    atomic_store_explicit(&ball, value, memory_order_release);
}

static void* far_end(void* nothing) {
    stay_on(processors[1]);
    long value = 0;
    for (int i = 0; i < trips * batches; ++i) {
        wait_for(value + 1);
        value += 2;
        give(value);
    }
    for (int i = 0; i < copies; ++i) {
        wait_for(value + 1);
        memset(written, i, area);
        value += 2;
        give(value);
    }
    return nothing;
}

int main(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) {
        fprintf(stderr, "mode: this process may use only one processor (expected two)\n");
        return 1;
    }
    int found = 0;
    for (int p = 0; p < CPU_SETSIZE && found < 2; ++p)
        if (CPU_ISSET(p, &allowed)) processors[found++] = p;
    stay_on(processors[0]);
    pthread_t thread;
    if (pthread_create(&thread, NULL, far_end, NULL) != 0) {
        perror("mode: pthread_create");
        return 1;
    }
    static char taken[area];
    double trip = 1e9, rate = 0;
    long value = 0;
    for (int b = 0; b < batches; ++b) {
        double start = now();
        for (int i = 0; i < trips; ++i) {
            give(value + 1);
            value += 2;
            wait_for(value);
        }
        double each = (now() - start) / trips * 1e9;
        if (each < trip) trip = each;
    }
    for (int c = 0; c < copies; ++c) {
        give(value + 1);
        value += 2;
        wait_for(value);
        double start = now();
        memcpy(taken, written, area);
        double each = area / (now() - start) / 1e9;
        if (each > rate) rate = each;
        if (taken[area - 1] != (char)c) return 1; /* also keeps the copy */
    }
    pthread_join(thread, NULL);
    printf("%.1f ns %.2f GB/s\n", trip, rate);
    return 0;
}
