/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h over bare sockets: one TCP connection a link, bound to the link's device and addresses,
 * Nagle off, polled. No credits, matching or headers: the upper bound of the rate of a link.
 * Neighbours only; bare.h describes how they find each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare.h"

enum { most_queued = 256 };

typedef struct {
    char* at;
    size_t left;
    Group* group;
} Transfer;

typedef struct {
    Transfer transfers[most_queued];
    int first, count;
} Queue;

typedef struct {
    int socket;
    Queue out, in;
} Link;

static Link links[most_links];
static char empty_byte; /* a stream cannot carry an empty message */

static void join_links(void) {
    int listeners[most_links];
    for (int i = 0; i < link_count; i++) {
        const PlannedLink* l = &planned[i];
        listeners[i] = -1;
        if (l->direction > 0) continue;
        listeners[i] = bare_socket(l->device, l->address, l->port);
        if (listen(listeners[i], 4)) bare_die("listen");
    }
    net_barrier();
    for (int i = 0; i < link_count; i++) {
        const PlannedLink* l = &planned[i];
        if (l->direction < 0) continue;
        links[i].socket = bare_socket(l->device, l->address, 0);
        bare_connect(links[i].socket, l->peer_address, l->port);
    }
    for (int i = 0; i < link_count; i++)
        if (listeners[i] >= 0) {
            links[i].socket = bare_answer(listeners[i]);
            close(listeners[i]);
        }
}

void net_start(int* argc, char*** argv) {
    (void)argc;
    (void)argv;
    bare_start();
    join_links();
}

/* ---- messages -------------------------------------------------------------------------------- */

Group* net_group(const Message* messages, int count, int way) {
    (void)way;
    return bare_group(messages, count);
}

void net_group_start(Group* group) {
    group->open = group->count;
    for (int i = 0; i < group->count; i++) {
        Message* m = &group->messages[i];
        Link* l = &links[bare_link_for(m)];
        Queue* q = m->sending ? &l->out : &l->in;
        if (q->count == most_queued) net_abort("too many messages at a time");
        Transfer* t = &q->transfers[(q->first + q->count++) % most_queued];
        t->at = m->bytes ? m->buffer : &empty_byte;
        t->left = m->bytes ? m->bytes : 1;
        t->group = group;
    }
}

static int move_queue(Queue* q, int socket, int sending) {
    if (q->count == 0) return 0;
    Transfer* t = &q->transfers[q->first];
    ssize_t n = sending ? send(socket, t->at, t->left, MSG_DONTWAIT | MSG_NOSIGNAL)
                        : recv(socket, t->at, t->left, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (n <= 0) bare_die("a neighbour is gone");
    t->at += n;
    t->left -= (size_t)n;
    if (t->left == 0) {
        t->group->open--;
        q->first = (q->first + 1) % most_queued;
        q->count--;
    }
    return 1;
}

void net_group_wait(Group* group) {
    while (group->open > 0) {
        int moved = 0;
        for (int i = 0; i < link_count; i++) {
            moved |= move_queue(&links[i].out, links[i].socket, 1);
            moved |= move_queue(&links[i].in, links[i].socket, 0);
        }
        if (moved || !oversubscribed) continue;
        struct pollfd wanted[most_links];
        for (int i = 0; i < link_count; i++) {
            wanted[i].fd = links[i].socket;
            wanted[i].events =
                (short)((links[i].out.count ? POLLOUT : 0) | (links[i].in.count ? POLLIN : 0));
        }
        poll(wanted, (nfds_t)link_count, 1000);
    }
}

const char* net_library(void) {
    return "bare sockets";
}
