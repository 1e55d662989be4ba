/* SPDX-License-Identifier: BSD-3-Clause */
/* See timing.h. */
#define _POSIX_C_SOURCE 200809L
#include "timing.h"

#include <stdlib.h>
#include <time.h>

#include "net.h"

enum { batches = 9, fewest_batches = 3 };

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double timed(Body body, void* state, long times) {
    net_barrier();
    double start = now();
    body(state, times);
    return net_maximum(now() - start);
}

static int by_value(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

Timing measure(Body body, void* state, double seconds) {
    long times = 1;
    double batch = seconds / batches;
    for (;;) {
        double t = timed(body, state, times);
        if (t >= batch / 2) break;
        times *= t < batch / 16 ? 8 : 2;
    }
    double each[batches], spent = 0;
    int done = 0;
    while (done < batches && (done < fewest_batches || spent < 4 * seconds)) {
        double t = timed(body, state, times);
        each[done++] = t / (double)times;
        spent += t;
    }
    qsort(each, (size_t)done, sizeof *each, by_value);
    return (Timing){each[done / 2], each[0]};
}
