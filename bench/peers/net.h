/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of exchange.c to a message-passing library: the thinnest layer over QMP or MPI, so
 * that every library under comparison does the same work.
 *
 * One process is one rank and calls from one thread. Buffers come from net_allocate() and belong to
 * the caller. A group holds messages that are started and waited for together; it belongs to the
 * caller until net_release(). Any failure ends the job with a message. */
#ifndef TORUSMP_BENCH_PEERS_NET_H
#define TORUSMP_BENCH_PEERS_NET_H

#include <stddef.h>

typedef struct {
    void* buffer;
    size_t bytes;
    int peer;      /* rank of the peer */
    int axis;      /* of the declared grid; -1 if only peer is used */
    int direction; /* +1 or -1 along axis, towards the peer */
    int sending;   /* else receiving */
} Message;

typedef struct Group Group;

void net_start(int* argc, char*** argv);
void net_end(void);
int net_rank(void);
int net_size(void);
void net_abort(const char* why);

/* The grid of a halo exchange: ranks are numbered with the first dimension fastest. Call at most
 * once. */
void net_declare_grid(const int* extents, int dimensions);

/* From now on net_allocate() gives memory as malloc gives it, page by page, in place of memory that
 * the library has made for messages: most programs have no other. */
void net_use_ordinary_memory(void);
void* net_allocate(size_t bytes);
void net_free(void* buffer);

/* The number of a library's variants to pass a message; each measurement uses the fastest. */
int net_ways(void);
const char* net_way_name(int way);
/* Whether that variant supports groups of several messages. */
int net_way_takes_many(int way);

Group* net_group(const Message* messages, int count, int way);
void net_release(Group* group);
void net_group_start(Group* group);
void net_group_wait(Group* group);

double net_sum(double value);
double net_maximum(double value);
void net_barrier(void);
/* "torusmp 0.1.0", "Open MPI v4.1.4, ..." */
const char* net_library(void);

#endif
