/* SPDX-License-Identifier: BSD-3-Clause */
/* What collectives.c needs from a library beside net.h: its collective operations.
 *
 * One thread calls, after net_start() and before net_end(), every rank the same in the same order.
 * Buffers belong to the caller and outlive the Collective, which belongs to the caller too. Any
 * failure ends the job with a message. */
#ifndef TORUSMP_BENCH_PEERS_COLLECTIVE_H
#define TORUSMP_BENCH_PEERS_COLLECTIVE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What each operation reads and writes; a block is `bytes` long, and all blocks stand in the order
 * of the ranks. The root is rank 0, reductions are sums of doubles.
 *   broadcast           in: a block
 *   sum, scan           in: a block, its own before, the result after
 *   reduce              out: a block; in, at the root: a block
 *   scatter             out, at the root: all blocks; in: a block
 *   gather              out: a block; in, at the root: all blocks
 *   allgather           out: a block; in: all blocks
 *   reduce_scatter      out: all blocks; in: a block
 *   alltoall            out, in: all blocks
 *   barrier             nothing */
typedef struct Collective Collective;

/* Returns null if the library does not have the operation. */
Collective* collective_make(const char* operation, void* in, void* out, size_t bytes);
void collective_call(Collective* collective);
void collective_free(Collective* collective);

#ifdef __cplusplus
}
#endif

#endif
