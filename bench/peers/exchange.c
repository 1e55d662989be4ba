/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges that compare-peers times, written once over net.h: each library under comparison
 * runs this very source.
 *
 *   exchange [--seconds S] [--grid 2x2x2] [--line] [--window N] [--loaded] [--ordinary]
 * TEST:NUMBER[@PEER] ...
 *
 * --grid: how the ranks stand in a torus, the last dimension fastest, for links and node. --line:
 * they stand in a line that does not wrap around, for hop. --window: messages in flight in a
 * stream, 64 unless said. --loaded: beside each rank a process computes meanwhile, for message and
 * gigabyte. @PEER: rank 0's partner, otherwise 1. Rank 0 prints "library NAME" and
 * then, a line per test, "TEST:NUMBER MEDIAN BEST WAY": medians and best over batches, see
 * timing.h; microseconds, MB/s (10^6 bytes), percent of a core or MiB, see the test's comment.
 * Exit code 2: a test that does not exist. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

enum { halo_bytes = 8192, most_dimensions = 6 };

double budget = 0.2;
int partner = 1;
int window = most_window;
int loaded = 0;
static int on_a_line = 0;

/* The extents in the order of net_declare_grid(), the first dimension fastest. */
static int grid[most_dimensions];
static int grid_dimensions = 0;

/* ---- contents ------------------------------------------------------------------------------- */

/* Word i of a message with this number from `from`. */
static uint32_t word(int from, int number, size_t i) {
    return (uint32_t)(i * 2654435761u) ^ (uint32_t)(from * 7919 + number * 104729 + 1);
}

void fill(void* buffer, size_t bytes, int from, int number) {
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t w = word(from, number, at / 4);
        memcpy((char*)buffer + at, &w, bytes - at < 4 ? bytes - at : 4);
    }
}

void verify(const void* buffer, size_t bytes, int from, int number) {
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t w = word(from, number, at / 4);
        if (memcmp((const char*)buffer + at, &w, bytes - at < 4 ? bytes - at : 4) != 0)
            net_abort("a message arrived with wrong contents");
    }
}

/* ---- ping-pong ------------------------------------------------------------------------------ */

typedef struct {
    Group* send;
    Group* receive;
    int role;          /* 0 serves, 1 returns, -1 stands by */
    int receive_first; /* start the next receive before the send, or after it */
} PingPong;

static void ping_pong(void* state, long times) {
    PingPong* p = state;
    if (p->role < 0) return;
    if (p->role == 1) net_group_start(p->receive);
    for (long i = 0; i < times; i++) {
        if (p->role == 1) net_group_wait(p->receive);
        int again = p->role == 0 || i + 1 < times;
        if (again && p->receive_first) net_group_start(p->receive);
        net_group_start(p->send);
        if (again && !p->receive_first) net_group_start(p->receive);
        net_group_wait(p->send);
        if (p->role == 0) net_group_wait(p->receive);
    }
}

/* Half round trips between ranks 0 and `peer` by the library's fastest variant for this size;
 * the other ranks are idle. */
static Result half_round_trip(size_t bytes, int peer) {
    int role = net_rank() == 0 ? 0 : net_rank() == peer ? 1 : -1;
    int other = role == 0 ? peer : 0;
    char* out = net_allocate(bytes);
    char* in = net_allocate(bytes);
    Message sends = {out, bytes, other, -1, 0, 1};
    Message receives = {in, bytes, other, -1, 0, 0};
    Result best = {{0, 0}, ""};
    double fastest = 0;
    int chosen = 0;
    /* The last round times the fastest of the variants measured before, one per round. */
    int variants = 2 * net_ways();
    for (int round = 0; round <= variants; round++) {
        int variant = round < variants ? round : chosen;
        int way = variant / 2;
        PingPong p = {NULL, NULL, role, variant % 2};
        if (role >= 0) {
            fill(out, bytes, net_rank(), round);
            memset(in, 0, bytes);
            p.send = net_group(&sends, 1, way);
            p.receive = net_group(&receives, 1, way);
        }
        timed(ping_pong, &p, 1);
        if (role >= 0) verify(in, bytes, other, round);
        best.timing = measure(ping_pong, &p, round < variants ? budget / 10 : budget);
        if (round < variants && (round == 0 || best.timing.median < fastest)) {
            fastest = best.timing.median;
            chosen = variant;
        }
        snprintf(best.way, sizeof best.way, "%s,%s", net_way_name(way),
                 p.receive_first ? "receive-first" : "send-first");
        if (role >= 0) {
            net_release(p.send);
            net_release(p.receive);
        }
    }
    net_free(in);
    net_free(out);
    best.timing.median /= 2;
    best.timing.best /= 2;
    return best;
}

/* The benchmark latency:BYTES returns the microseconds of half a round trip. */
static Result latency(int bytes) {
    Result r = half_round_trip((size_t)bytes, partner);
    r.timing.median *= 1e6;
    r.timing.best *= 1e6;
    return r;
}

Result as_bandwidth(Result r, double bytes) {
    r.timing.median = bytes / r.timing.median / 1e6;
    r.timing.best = bytes / r.timing.best / 1e6;
    return r;
}

/* The benchmark pingpong:BYTES returns MB/s. */
static Result ping_pong_bandwidth(int bytes) {
    return as_bandwidth(half_round_trip((size_t)bytes, partner), bytes);
}

/* The benchmark hop:BYTES on a ring or a line of ranks returns the microseconds that each
 * further hop adds to half a round trip, by a straight line through the distances 1 to half way
 * round, or to the end. */
static Result hop(int bytes) {
    int farthest = on_a_line ? net_size() - 1 : net_size() / 2;
    if (farthest < 2) net_abort("hop needs a ring of at least 4 ranks, or a line of 3");
    Result r = {{0, 0}, ""};
    double n = 0, sx = 0, sxx = 0, sy = 0, sxy = 0, sb = 0, sxb = 0;
    for (int h = 1; h <= farthest; h++) {
        r = half_round_trip((size_t)bytes, h);
        n += 1, sx += h, sxx += (double)h * h;
        sy += r.timing.median, sxy += h * r.timing.median;
        sb += r.timing.best, sxb += h * r.timing.best;
    }
    double below = n * sxx - sx * sx;
    r.timing.median = 1e6 * (n * sxy - sx * sy) / below;
    r.timing.best = 1e6 * (n * sxb - sx * sb) / below;
    return r;
}

/* ---- halo and sum --------------------------------------------------------------------------- */

static void halo_exchange(void* state, long times) {
    if (!state) return;
    for (long i = 0; i < times; i++) {
        net_group_start(state);
        net_group_wait(state);
    }
}

/* Neighbour in the grid. */
static int neighbour(int rank, int axis, int direction) {
    int stride = 1;
    for (int i = 0; i < axis; i++) stride *= grid[i];
    int at = rank / stride % grid[axis];
    return rank + ((at + direction + grid[axis]) % grid[axis] - at) * stride;
}

static void declare_grid(void) {
    static int declared = 0;
    int ranks = 1;
    for (int i = 0; i < grid_dimensions; i++) ranks *= grid[i];
    if (grid_dimensions == 0 || ranks != net_size()) net_abort("the ranks do not form that grid");
    if (!declared) net_declare_grid(grid, grid_dimensions);
    declared = 1;
}

/* The time to start and complete these messages together, with the fastest variant. `number`
 * identifies the expected contents of each received message. */
static Result exchange_of(Message* messages, int count, const int* number) {
    Result best = {{0, 0}, ""};
    double fastest = 0;
    int chosen = -1;
    for (int way = 0; way <= net_ways(); way++) {
        int last = way == net_ways();
        int use = last ? chosen : way;
        if (!net_way_takes_many(use)) continue;
        for (int i = 0; i < count; i++)
            if (!messages[i].sending) memset(messages[i].buffer, 0, messages[i].bytes);
        Group* group = count ? net_group(messages, count, use) : NULL;
        timed(halo_exchange, group, 1);
        for (int i = 0; i < count; i++)
            if (!messages[i].sending)
                verify(messages[i].buffer, messages[i].bytes, messages[i].peer, number[i]);
        best.timing = measure(halo_exchange, group, last ? budget : budget / 10);
        if (chosen < 0 || (!last && best.timing.median < fastest)) {
            fastest = best.timing.median;
            chosen = way;
        }
        snprintf(best.way, sizeof best.way, "%s", net_way_name(use));
        if (group) net_release(group);
    }
    return best;
}

/* Messages of `bytes` on all links of the grid: from every rank, or from rank 0 alone. */
static Result grid_exchange(size_t bytes, int from_one) {
    Message messages[4 * most_dimensions];
    int number[4 * most_dimensions], count = 0;
    declare_grid();
    char* buffers = net_allocate(bytes * 4 * most_dimensions);
    for (int sending = 0; sending < 2; sending++) /* receives first, as usual in halo codes */
        for (int i = 0; i < 2 * grid_dimensions; i++) {
            int axis = i / 2, direction = i % 2 ? -1 : +1;
            int peer = neighbour(net_rank(), axis, direction);
            if (grid[axis] == 1 || (from_one && (sending ? net_rank() : peer) != 0)) continue;
            Message m = {buffers + bytes * (size_t)count, bytes, peer, axis, direction, sending};
            messages[count] = m;
            number[count++] = sending ? i : i ^ 1; /* data from + was sent towards - */
            if (sending) fill(m.buffer, bytes, net_rank(), i);
        }
    Result best = exchange_of(messages, count, number);
    net_free(buffers);
    return best;
}

static double link_ends(void) {
    int ends = 0;
    for (int i = 0; i < grid_dimensions; i++) ends += grid[i] > 1 ? 2 : 0;
    return ends;
}

/* The benchmark halo:EXTENT on EXTENT^3 ranks returns the microseconds for six sends of 8 KiB
 * and six receives on every rank. */
static Result halo(int extent) {
    for (int i = 0; i < 3; i++) grid[i] = extent;
    grid_dimensions = 3;
    Result best = grid_exchange(halo_bytes, 0);
    best.timing.median *= 1e6;
    best.timing.best *= 1e6;
    return best;
}

/* The benchmark links:BYTES returns the MB/s that all link ends of the grid send in messages of
 * BYTES, all at the same time. */
static Result all_links(int bytes) {
    Result r = grid_exchange((size_t)bytes, 0);
    return as_bandwidth(r, (double)bytes * link_ends() * net_size());
}

/* The benchmark node:BYTES returns the MB/s that rank 0 sends on all its links at the same time;
 * the others only receive. */
static Result one_node(int bytes) {
    Result r = grid_exchange((size_t)bytes, 1);
    return as_bandwidth(r, (double)bytes * link_ends());
}

static void sums(void* state, long times) {
    double expected = *(double*)state;
    for (long i = 0; i < times; i++)
        if (net_sum(net_rank() + 1.0) != expected) net_abort("a sum came out wrong");
}

/* The benchmark sum:RANKS returns the microseconds for the sum of one double on every rank. */
static Result sum(int ranks) {
    if (net_size() != ranks) net_abort("sum: started with another number of ranks");
    double expected = 0.5 * ranks * (ranks + 1.0);
    Result r = {measure(sums, &expected, budget), "sum"};
    r.timing.median *= 1e6;
    r.timing.best *= 1e6;
    return r;
}

/* ---- main ----------------------------------------------------------------------------------- */

static const struct {
    const char* name;
    Result (*run)(int number);
} tests[] = {
    {"latency", latency},
    {"pingpong", ping_pong_bandwidth},
    {"stream", stream_bandwidth},
    {"message", message_cost},
    {"gigabyte", gigabyte_cost},
    {"hop", hop},
    {"halo", halo},
    {"links", all_links},
    {"node", one_node},
    {"sum", sum},
    {"idle", idle},
    {"memory", memory},
    {"nothing", nothing},
};

static void run(const char* request) {
    const char* colon = strchr(request, ':');
    size_t length = colon ? (size_t)(colon - request) : 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (strlen(tests[i].name) != length || strncmp(tests[i].name, request, length)) continue;
        const char* at = strchr(colon, '@');
        partner = at ? atoi(at + 1) : 1;
        if (partner < 1 || partner >= (net_size() > 1 ? net_size() : 2))
            net_abort("@PEER is not a rank of the job");
        Result r = tests[i].run(atoi(colon + 1));
        if (net_rank() == 0) {
            printf("%s %.6g %.6g %s\n", request, r.timing.median, r.timing.best, r.way);
            fflush(stdout);
        }
        return;
    }
    if (net_rank() == 0) fprintf(stderr, "exchange: unknown test '%s'\n", request);
    net_barrier();
    exit(2);
}

static void read_grid(const char* text) {
    for (const char* at = text; *at && grid_dimensions < most_dimensions; grid_dimensions++) {
        memmove(grid + 1, grid, sizeof *grid * (most_dimensions - 1));
        grid[0] = (int)strtol(at, (char**)&at, 10);
        if (*at == 'x') at++;
    }
}

static void read_window(const char* text) {
    window = atoi(text);
    if (window < 1 || window > most_window) net_abort("--window: expected 1 to 64");
}

int main(int argc, char** argv) {
    net_start(&argc, &argv);
    if (net_rank() == 0) printf("library %s\n", net_library());
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            budget = atof(argv[++i]);
        else if (strcmp(argv[i], "--grid") == 0 && i + 1 < argc)
            read_grid(argv[++i]);
        else if (strcmp(argv[i], "--line") == 0)
            on_a_line = 1;
        else if (strcmp(argv[i], "--window") == 0 && i + 1 < argc)
            read_window(argv[++i]);
        else if (strcmp(argv[i], "--ordinary") == 0)
            net_use_ordinary_memory();
        else if (strcmp(argv[i], "--loaded") == 0)
            loaded = 1;
        else
            run(argv[i]);
    }
    net_end();
    return 0;
}
