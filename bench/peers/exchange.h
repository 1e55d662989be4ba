/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of exchange.c share: their results, and those among them that tell what a job
 * costs. */
#ifndef TORUSMP_BENCH_PEERS_EXCHANGE_H
#define TORUSMP_BENCH_PEERS_EXCHANGE_H

#include <stdlib.h>

#include "net.h"
#include "timing.h"

typedef struct {
    Timing timing;
    char way[64];
} Result;

static inline void* allocate_or_die(size_t bytes) {
    void* memory = calloc(1, bytes);
    if (!memory) net_abort("no memory");
    return memory;
}

/* idle:SECONDS: rank 0 sleeps, all others wait for its message; percent of one core that the
 * whole job uses meanwhile. */
Result idle(int seconds);
/* memory:BYTES: every rank exchanges 8 bytes and then BYTES with every other; MiB a rank while all
 * are alive, shared parts counted once. */
Result memory(int bytes);
/* nothing:0: start and end only; compare-peers takes the time from outside. */
Result nothing(int unused);

#endif
