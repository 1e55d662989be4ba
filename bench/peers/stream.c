/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams in one direction between rank 0 and its partner: their rate and the processor time
 * they take, alone and beside processes that compute. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"

/* Starts a process that computes on this rank's core or, if ranks are not bound, on any core. */
static pid_t start_rival(void) {
    pid_t rank = getpid(), rival = fork();
    if (rival < 0) net_abort("no process could be started to compute beside this rank");
    /* The process ends when its rank dies. */
    for (volatile unsigned long turns = 1; rival == 0; turns++)
        if (turns % (1ul << 28) == 0 && getppid() != rank) _exit(0);
    return rival;
}

static void end_rival(pid_t rival) {
    kill(rival, SIGKILL);
    waitpid(rival, NULL, 0);
}

typedef struct {
    Group* data;
    Group* acknowledgement;
    int role; /* 0 sends, 1 receives, -1 stands by */
} Stream;

/* A window of messages, all in flight, then a word back. Receives are started before their
 * messages can arrive, so that no library has to keep unexpected ones. */
static void stream(void* state, long times) {
    Stream* s = state;
    if (s->role < 0) return;
    if (s->role == 1) net_group_start(s->data);
    for (long i = 0; i < times; i++) {
        if (s->role == 0) {
            net_group_start(s->acknowledgement);
            net_group_start(s->data);
            net_group_wait(s->data);
            net_group_wait(s->acknowledgement);
        } else {
            net_group_wait(s->data);
            if (i + 1 < times) net_group_start(s->data);
            net_group_start(s->acknowledgement);
            net_group_wait(s->acknowledgement);
        }
    }
}

/* Processor time of a window, of both ends, over about so many seconds; each of them takes `each`.
 */
static double cost_of(Stream* s, double each, double seconds) {
    long times = (long)(seconds / each) + 1;
    double before = cpu_seconds();
    timed(stream, s, times);
    return net_sum(s->role < 0 ? 0 : cpu_seconds() - before) / (double)times;
}

/* One run of a stream by one way, its contents checked first. A `cost` that is not null receives
 * the processor time of a window, of both ends. */
static Timing timed_stream(char* data, char* ack, size_t each, int role, int way, double seconds,
                           double* cost) {
    int other = role == 0 ? partner : 0;
    Message messages[most_window];
    Message back = {ack, 8, other, -1, 0, role == 1};
    Stream s = {NULL, NULL, role};
    for (int i = 0; i < window && role >= 0; i++) {
        Message m = {data + each * (size_t)i, each, other, -1, 0, role == 0};
        messages[i] = m;
        if (role == 0) fill(m.buffer, each, 0, i);
    }
    if (role >= 0) {
        s.data = net_group(messages, window, way);
        s.acknowledgement = net_group(&back, 1, way);
    }
    if (role == 1) memset(data, 0, each * (size_t)window);
    timed(stream, &s, 1);
    for (int i = 0; i < window && role == 1; i++) verify(messages[i].buffer, each, 0, i);
    Timing timing = measure(stream, &s, seconds);
    if (cost) *cost = cost_of(&s, timing.median, seconds);
    if (role >= 0) {
        net_release(s.data);
        net_release(s.acknowledgement);
    }
    return timing;
}

/* A window of messages of `each` bytes, with the fastest variant. For `cost` see above. */
static Result stream_of(size_t each, double* cost) {
    int role = net_rank() == 0 ? 0 : net_rank() == partner ? 1 : -1;
    char* data = net_allocate(role < 0 ? 8 : each * (size_t)window);
    char* ack = net_allocate(8);
    Result best = {{0, 0}, ""};
    double fastest = 0;
    int chosen = -1;
    pid_t rival = cost && loaded && role >= 0 ? start_rival() : -1;
    for (int way = 0; way <= net_ways(); way++) {
        int last = way == net_ways();
        int use = last ? chosen : way;
        if (!net_way_takes_many(use)) continue;
        best.timing = timed_stream(data, ack, each, role, use, last ? budget : budget / 10,
                                   last ? cost : NULL);
        if (chosen < 0 || (!last && best.timing.median < fastest)) {
            fastest = best.timing.median;
            chosen = way;
        }
        snprintf(best.way, sizeof best.way, "%s", net_way_name(use));
    }
    if (rival > 0) end_rival(rival);
    net_free(ack);
    net_free(data);
    return best;
}

Result stream_bandwidth(int bytes) {
    return as_bandwidth(stream_of((size_t)bytes, NULL), (double)bytes * window);
}

/* In units of `unit` seconds, for `windows` windows. */
static Result cost(int bytes, double windows, double unit) {
    double each = 0;
    Result r = stream_of((size_t)bytes, &each);
    r.timing.median = r.timing.best = each * windows / unit;
    return r;
}

Result message_cost(int bytes) {
    return cost(bytes, 1.0 / window, 1e-6);
}

Result gigabyte_cost(int bytes) {
    return cost(bytes, 1e9 / ((double)bytes * window), 1);
}
