/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h over bare sockets: one TCP connection a link, bound to the link's device and addresses,
 * Nagle off, polled. No credits, no matching, no headers: what a link gives to whoever asks for
 * nothing else. Neighbours only.
 *
 * The plan of the machine is a file that NET_RAW_PLAN names, this process's rank is in
 * NET_RAW_RANK. Lines of the plan:
 *   size RANKS
 *   root ADDRESS PORT BUFFER_BYTES           where rank 0 gathers all for barriers and sums
 *   link RANK AXIS DIRECTION PEER DEVICE ADDRESS PEER_ADDRESS PORT
 * The end in direction +1 connects to the other. Axes count as in net_declare_grid(). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

enum { most_links = 12, most_ranks = 1024, most_queued = 256 };

struct Group {
    Message* messages;
    int count;
    int open; /* messages that are not over */
};

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
    int axis, direction, peer, port, socket;
    char device[16], address[64], peer_address[64];
    Queue out, in;
} Link;

static int my_rank, all_ranks, crowded, buffer_bytes;
static char root_address[64];
static int root_port;
static Link links[most_links];
static int link_count;
static int control[most_ranks]; /* at rank 0 of each other, elsewhere [0] to rank 0 */
static char empty_byte;         /* a stream knows no empty message */

static void die(const char* what) {
    fprintf(stderr, "exchange: rank %d: %s: %s\n", my_rank, what, strerror(errno));
    exit(1);
}

void net_abort(const char* why) {
    errno = 0;
    die(why);
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct sockaddr_in place(const char* address, int port) {
    struct sockaddr_in to = {0};
    to.sin_family = AF_INET;
    to.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) net_abort("the plan has a bad address");
    return to;
}

static int open_socket(const char* device, const char* address, int port) {
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (s < 0) die("socket");
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    if (device && setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)))
        die(device);
    struct sockaddr_in mine = place(address, port);
    if (bind(s, (struct sockaddr*)&mine, sizeof mine)) die("bind");
    return s;
}

/* The other end may not listen yet. */
static void connect_patiently(int s, const char* address, int port) {
    struct sockaddr_in to = place(address, port);
    struct timespec pause = {0, 20 * 1000 * 1000};
    for (int tries = 0; connect(s, (struct sockaddr*)&to, sizeof to); tries++) {
        if (tries == 1000) die("connect");
        nanosleep(&pause, NULL);
    }
}

static int answer(int listener) {
    int on = 1, s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (s < 0) die("accept");
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
}

static void send_all(int s, const void* data, size_t bytes) {
    for (size_t sent = 0; sent < bytes;) {
        ssize_t n = send(s, (const char*)data + sent, bytes - sent, MSG_NOSIGNAL);
        if (n <= 0) die("a process is gone");
        sent += (size_t)n;
    }
}

static void receive_all(int s, void* data, size_t bytes) {
    if (recv(s, data, bytes, MSG_WAITALL) != (ssize_t)bytes) die("a process is gone");
}

static void join_control(void) {
    if (my_rank != 0) {
        control[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        connect_patiently(control[0], root_address, root_port);
        send_all(control[0], &my_rank, sizeof my_rank);
    } else {
        int listener = open_socket(NULL, root_address, root_port);
        if (listen(listener, most_ranks)) die("listen");
        for (int i = 1; i < all_ranks; i++) {
            int s = answer(listener), who;
            receive_all(s, &who, sizeof who);
            if (who < 1 || who >= all_ranks) net_abort("an unknown process called");
            control[who] = s;
        }
        close(listener);
    }
    for (int i = 0; i < (my_rank ? 1 : all_ranks); i++) {
        int on = 1;
        setsockopt(control[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
}

static void join_links(void) {
    int listeners[most_links];
    for (int i = 0; i < link_count; i++) {
        Link* l = &links[i];
        listeners[i] = -1;
        if (l->direction > 0) continue;
        listeners[i] = open_socket(l->device, l->address, l->port);
        if (listen(listeners[i], 4)) die("listen");
    }
    net_barrier();
    for (int i = 0; i < link_count; i++) {
        Link* l = &links[i];
        if (l->direction < 0) continue;
        l->socket = open_socket(l->device, l->address, 0);
        connect_patiently(l->socket, l->peer_address, l->port);
    }
    for (int i = 0; i < link_count; i++)
        if (listeners[i] >= 0) {
            links[i].socket = answer(listeners[i]);
            close(listeners[i]);
        }
}

static void read_plan(void) {
    const char *name = getenv("NET_RAW_PLAN"), *rank = getenv("NET_RAW_RANK");
    FILE* plan = name ? fopen(name, "r") : NULL;
    if (!plan || !rank) net_abort("NET_RAW_PLAN and NET_RAW_RANK must say what to do");
    my_rank = atoi(rank);
    char line[256];
    while (fgets(line, sizeof line, plan)) {
        Link l = {0};
        int owner;
        sscanf(line, "size %d", &all_ranks);
        sscanf(line, "root %63s %d %d", root_address, &root_port, &buffer_bytes);
        if (sscanf(line, "link %d %d %d %d %15s %63s %63s %d", &owner, &l.axis, &l.direction,
                   &l.peer, l.device, l.address, l.peer_address, &l.port) == 8 &&
            owner == my_rank && link_count < most_links)
            links[link_count++] = l;
    }
    fclose(plan);
    if (all_ranks < 1 || all_ranks > most_ranks) net_abort("the plan has no size");
}

void net_start(int* argc, char*** argv) {
    (void)argc;
    (void)argv;
    read_plan();
    crowded = all_ranks > sysconf(_SC_NPROCESSORS_ONLN);
    join_control();
    join_links();
}

void net_end(void) {
    net_barrier();
}

int net_rank(void) {
    return my_rank;
}

int net_size(void) {
    return all_ranks;
}

void net_declare_grid(const int* extents, int dimensions) {
    (void)extents;
    (void)dimensions;
}

void* net_allocate(size_t bytes) {
    void* buffer = NULL;
    if (posix_memalign(&buffer, 4096, bytes ? bytes : 1)) net_abort("no memory");
    return buffer;
}

void net_free(void* buffer) {
    free(buffer);
}

int net_ways(void) {
    return 1;
}

const char* net_way_name(int way) {
    (void)way;
    return crowded ? "poll(2)" : "polled";
}

int net_way_takes_many(int way) {
    (void)way;
    return 1;
}

/* ---- messages -------------------------------------------------------------------------------- */

static Link* link_for(const Message* m) {
    for (int i = 0; i < link_count; i++) {
        Link* l = &links[i];
        if (l->peer == m->peer &&
            (m->axis < 0 || (l->axis == m->axis && l->direction == m->direction)))
            return l;
    }
    net_abort("a bare socket reaches neighbours only");
    return NULL;
}

Group* net_group(const Message* messages, int count, int way) {
    (void)way;
    Group* group = calloc(1, sizeof *group);
    if (!group) net_abort("no memory");
    group->messages = malloc(sizeof *messages * (size_t)count);
    if (!group->messages) net_abort("no memory");
    memcpy(group->messages, messages, sizeof *messages * (size_t)count);
    group->count = count;
    return group;
}

void net_release(Group* group) {
    free(group->messages);
    free(group);
}

void net_group_start(Group* group) {
    group->open = group->count;
    for (int i = 0; i < group->count; i++) {
        Message* m = &group->messages[i];
        Link* l = link_for(m);
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
    if (n <= 0) die("a neighbour is gone");
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
        if (moved || !crowded) continue;
        struct pollfd wanted[most_links];
        for (int i = 0; i < link_count; i++) {
            wanted[i].fd = links[i].socket;
            wanted[i].events =
                (short)((links[i].out.count ? POLLOUT : 0) | (links[i].in.count ? POLLIN : 0));
        }
        poll(wanted, (nfds_t)link_count, 1000);
    }
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static double combine(double value, int summing) {
    if (my_rank != 0) {
        send_all(control[0], &value, sizeof value);
        receive_all(control[0], &value, sizeof value);
        return value;
    }
    for (int i = 1; i < all_ranks; i++) {
        double other;
        receive_all(control[i], &other, sizeof other);
        value = summing ? value + other : value > other ? value : other;
    }
    for (int i = 1; i < all_ranks; i++) send_all(control[i], &value, sizeof value);
    return value;
}

double net_sum(double value) {
    return combine(value, 1);
}

double net_maximum(double value) {
    return combine(value, 0);
}

void net_barrier(void) {
    combine(0, 0);
}

const char* net_library(void) {
    return "bare sockets";
}
