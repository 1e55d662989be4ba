/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the bare programs, which only pass messages to neighbours: the plan of the machine, and
 * a control connection to rank 0 for barriers and sums. bare.c has the functions of net.h that do
 * not use links. There is one variant to send.
 *
 * The plan is a file that NET_RAW_PLAN names, this process's rank is in NET_RAW_RANK. Lines of it:
 *   size RANKS
 *   root ADDRESS PORT BUFFER_BYTES           where rank 0 gathers all for barriers and sums
 *   link RANK AXIS DIRECTION PEER DEVICE ADDRESS PEER_ADDRESS PORT
 * The end in direction +1 connects to the other. Axes count as in net_declare_grid(). */
#ifndef TORUSMP_BENCH_PEERS_BARE_H
#define TORUSMP_BENCH_PEERS_BARE_H

#include <arpa/inet.h>

#include "net.h"

enum { most_links = 12 };

typedef struct {
    int axis, direction, peer, port;
    char device[16], address[64], peer_address[64];
} PlannedLink;

extern PlannedLink planned[most_links];
extern int link_count;
extern int oversubscribed; /* ranks outnumber cores, so waiting ranks sleep */
extern int buffer_bytes;   /* of sockets */

/* Reads the plan and connects to rank 0. */
void bare_start(void);
void bare_die(const char* what); /* prints `what` and the text of errno, and ends the job */
/* The index of the link for a message. */
int bare_link_for(const Message* message);

struct Group {
    Message* messages;
    int count;
    int open; /* number of messages in progress */
};
/* Implements net_group() for arbitrary messages. */
Group* bare_group(const Message* messages, int count);

/* TCP. `device` may be NULL. */
int bare_socket(const char* device, const char* address, int port);
void bare_connect(int socket, const char* address, int port);
int bare_answer(int listener);

#endif
