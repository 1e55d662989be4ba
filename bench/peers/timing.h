/* SPDX-License-Identifier: BSD-3-Clause */
/* Times a piece of work that all ranks do together, over net.h.
 *
 * Collective: every rank calls with the same numbers; ranks without a part in the work give a body
 * that does nothing. The result is the same on all ranks. */
#ifndef TORUSMP_BENCH_PEERS_TIMING_H
#define TORUSMP_BENCH_PEERS_TIMING_H

typedef struct {
    double median;
    double best;
} Timing;

/* Does its work `times` times; every rank calls it with the same number. */
typedef void (*Body)(void* state, long times);

/* Seconds, from some start. */
double now(void);

/* Seconds of the slowest rank, starting at a barrier. */
double timed(Body body, void* state, long times);

/* Seconds for one time round, over batches that take about `seconds` together: nine, or fewer, but
 * not less than three, where one time round alone takes long. Warms up while it looks for a number
 * that fills a batch. */
Timing measure(Body body, void* state, double seconds);

#endif
