/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "bare.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_ranks = 1024 };

PlannedLink planned[most_links];
int link_count, oversubscribed, buffer_bytes;

static int my_rank, all_ranks;
static char root_address[64];
static int root_port;
static int control[most_ranks]; /* at rank 0 of each other, elsewhere [0] to rank 0 */

void bare_die(const char* what) {
    fprintf(stderr, "exchange: rank %d: %s: %s\n", my_rank, what, strerror(errno));
    exit(1);
}

void net_abort(const char* why) {
    errno = 0;
    bare_die(why);
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct sockaddr_in place(const char* address, int port) {
    struct sockaddr_in to = {0};
    to.sin_family = AF_INET;
    to.sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) net_abort("the plan has a bad address");
    return to;
}

int bare_socket(const char* device, const char* address, int port) {
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (s < 0) bare_die("socket");
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    if (device && setsockopt(s, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)))
        bare_die(device);
    struct sockaddr_in mine = place(address, port);
    if (bind(s, (struct sockaddr*)&mine, sizeof mine)) bare_die("bind");
    return s;
}

/* The peer may not listen yet. */
void bare_connect(int s, const char* address, int port) {
    struct sockaddr_in to = place(address, port);
    struct timespec pause = {0, 20 * 1000 * 1000};
    for (int tries = 0; connect(s, (struct sockaddr*)&to, sizeof to); tries++) {
        if (tries == 1000) bare_die("connect");
        nanosleep(&pause, NULL);
    }
}

int bare_answer(int listener) {
    int on = 1, s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (s < 0) bare_die("accept");
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
}

static void send_all(int s, const void* data, size_t bytes) {
    for (size_t sent = 0; sent < bytes;) {
        ssize_t n = send(s, (const char*)data + sent, bytes - sent, MSG_NOSIGNAL);
        if (n <= 0) bare_die("a process is gone");
        sent += (size_t)n;
    }
}

static void receive_all(int s, void* data, size_t bytes) {
    if (recv(s, data, bytes, MSG_WAITALL) != (ssize_t)bytes) bare_die("a process is gone");
}

static void join_control(void) {
    if (my_rank != 0) {
        control[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bare_connect(control[0], root_address, root_port);
        send_all(control[0], &my_rank, sizeof my_rank);
    } else {
        int listener = bare_socket(NULL, root_address, root_port);
        if (listen(listener, most_ranks)) bare_die("listen");
        for (int i = 1; i < all_ranks; i++) {
            int s = bare_answer(listener), who;
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

static void read_plan(void) {
    const char *name = getenv("NET_RAW_PLAN"), *rank = getenv("NET_RAW_RANK");
    FILE* plan = name ? fopen(name, "r") : NULL;
    if (!plan || !rank) net_abort("NET_RAW_PLAN and NET_RAW_RANK must be set");
    my_rank = atoi(rank);
    char line[256];
    while (fgets(line, sizeof line, plan)) {
        PlannedLink l = {0};
        int owner;
        sscanf(line, "size %d", &all_ranks);
        sscanf(line, "root %63s %d %d", root_address, &root_port, &buffer_bytes);
        if (sscanf(line, "link %d %d %d %d %15s %63s %63s %d", &owner, &l.axis, &l.direction,
                   &l.peer, l.device, l.address, l.peer_address, &l.port) == 8 &&
            owner == my_rank && link_count < most_links)
            planned[link_count++] = l;
    }
    fclose(plan);
    if (all_ranks < 1 || all_ranks > most_ranks) net_abort("the plan has no size");
}

void bare_start(void) {
    read_plan();
    oversubscribed = all_ranks > sysconf(_SC_NPROCESSORS_ONLN);
    join_control();
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

void net_use_ordinary_memory(void) {}

void* net_allocate(size_t bytes) {
    void* buffer = NULL;
    if (posix_memalign(&buffer, 4096, bytes ? bytes : 1)) net_abort("no memory");
    return buffer;
}

void net_free(void* buffer) {
    free(buffer);
}

int bare_link_for(const Message* m) {
    for (int i = 0; i < link_count; i++) {
        const PlannedLink* l = &planned[i];
        if (l->peer == m->peer &&
            (m->axis < 0 || (l->axis == m->axis && l->direction == m->direction)))
            return i;
    }
    net_abort("bare sockets reach neighbours only");
    return -1;
}

int net_ways(void) {
    return 1;
}

const char* net_way_name(int way) {
    (void)way;
    return oversubscribed ? "poll(2)" : "polled";
}

int net_way_takes_many(int way) {
    (void)way;
    return 1;
}

Group* bare_group(const Message* messages, int count) {
    Group* group = calloc(1, sizeof *group);
    const size_t bytes = sizeof *messages * (size_t)count;
    if (!group || !(group->messages = malloc(bytes))) net_abort("no memory");
    memcpy(group->messages, messages, bytes);
    group->count = count;
    return group;
}

void net_release(Group* group) {
    free(group->messages);
    free(group);
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
