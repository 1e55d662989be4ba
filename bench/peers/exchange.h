/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of exchange.c and those in separate files: streams, and the cost of a job. */
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

enum { most_window = 64 };

/* Options of the command line. */
extern double budget; /* seconds a measurement */
extern int partner;   /* of rank 0 */
extern int window;    /* messages of a stream in flight */
extern int loaded;    /* whether other processes compute beside the ranks */

/* Contents of a message that `from` sends under this number. */
void fill(void* buffer, size_t bytes, int from, int number);
void verify(const void* buffer, size_t bytes, int from, int number);

/* Converts a time for this many bytes to MB/s. */
Result as_bandwidth(Result r, double bytes);

/* Processor seconds of this process, including the kernel's time for it. */
double cpu_seconds(void);

/* The benchmark stream:BYTES returns MB/s one way with a window of messages in flight, each with
 * a buffer of its own. */
Result stream_bandwidth(int bytes);
/* The benchmark message:BYTES returns the microseconds of processor time that both ends together
 * spend on a message of such a stream, which is seconds for a million; its best is the fastest
 * batch's. */
Result message_cost(int bytes);
/* The benchmark gigabyte:BYTES returns the seconds of processor time for 10^9 bytes of such a
 * stream. */
Result gigabyte_cost(int bytes);

/* In the benchmark idle:SECONDS, rank 0 sleeps and all others wait for its message. Returns the
 * percentage of one core that the whole job uses meanwhile. */
Result idle(int seconds);
/* In the benchmark memory:BYTES, every rank exchanges 8 bytes and then BYTES with every other.
 * Returns MiB for each rank while all are alive, with shared parts counted once. */
Result memory(int bytes);
/* The benchmark nothing:0 only starts and ends; compare-peers measures the time from outside. */
Result nothing(int unused);

#endif
