/* The exchanges that compare-peers times, written once over net.h: each library under comparison
 * runs this very source.
 *
 *   exchange [--seconds S] TEST:NUMBER ...
 *
 * Rank 0 prints "library NAME" and then, a line per test, "TEST:NUMBER MEDIAN BEST WAY": medians
 * and best over batches, each batch the slowest rank's time; microseconds, MB/s (10^6 bytes),
 * percent of a core or MiB as the test's comment says. Exit code 2: a test that does not exist. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "net.h"

enum { batches = 9, window = 64, halo_bytes = 8192 };

static double budget = 0.2; /* seconds a measurement */

typedef struct {
    double median;
    double best;
} Timing;

/* Does its work so many times; every rank is called with the same number. */
typedef void (*Body)(void* state, long times);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void* allocate_or_die(size_t bytes) {
    void* memory = calloc(1, bytes);
    if (!memory) net_abort("no memory");
    return memory;
}

/* ---- timing --------------------------------------------------------------------------------- */

/* Seconds of the slowest rank, the same on all ranks. */
static double timed(Body body, void* state, long times) {
    net_barrier();
    double start = now();
    body(state, times);
    return net_maximum(now() - start);
}

static int by_value(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* Seconds for one time round. Warms up while it looks for a number that fills a batch. */
static Timing measure(Body body, void* state, double seconds) {
    long times = 1;
    double batch = seconds / batches;
    for (;;) {
        double t = timed(body, state, times);
        if (t >= batch / 2) break;
        times *= t < batch / 16 ? 8 : 2;
    }
    double each[batches];
    for (int i = 0; i < batches; i++) each[i] = timed(body, state, times) / (double)times;
    qsort(each, batches, sizeof *each, by_value);
    return (Timing){each[batches / 2], each[0]};
}

/* ---- contents ------------------------------------------------------------------------------- */

/* Word i of a message that `from` sends under this number. */
static uint32_t word(int from, int number, size_t i) {
    return (uint32_t)(i * 2654435761u) ^ (uint32_t)(from * 7919 + number * 104729 + 1);
}

static void fill(void* buffer, size_t bytes, int from, int number) {
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t w = word(from, number, at / 4);
        memcpy((char*)buffer + at, &w, bytes - at < 4 ? bytes - at : 4);
    }
}

static void verify(const void* buffer, size_t bytes, int from, int number) {
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

typedef struct {
    Timing timing;
    char way[64];
} Result;

/* Half round trips between ranks 0 and `peer` by the library's fastest way for this size; the
 * other ranks stand by. */
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
    /* The last round times what the rounds before it, one a variant, found to be fastest. */
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

/* latency:BYTES, 2 ranks: microseconds for half a round trip. */
static Result latency(int bytes) {
    Result r = half_round_trip((size_t)bytes, 1);
    r.timing.median *= 1e6;
    r.timing.best *= 1e6;
    return r;
}

static Result as_bandwidth(Result r, double bytes) {
    r.timing.median = bytes / r.timing.median / 1e6;
    r.timing.best = bytes / r.timing.best / 1e6;
    return r;
}

/* pingpong:BYTES, 2 ranks: MB/s. */
static Result ping_pong_bandwidth(int bytes) {
    return as_bandwidth(half_round_trip((size_t)bytes, 1), bytes);
}

/* hop:BYTES, a ring of ranks: microseconds that each further hop adds to half a round trip, by a
 * straight line through the distances 1 to half way round. */
static Result hop(int bytes) {
    int farthest = net_size() / 2;
    if (farthest < 2) net_abort("hop needs a ring of at least 4 ranks");
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

/* ---- stream --------------------------------------------------------------------------------- */

typedef struct {
    Group* data;
    Group* acknowledgement;
    int sender;
} Stream;

/* A window of messages, all in flight, then a word back. Receives are started before their
 * messages can arrive, so that no library has to keep unexpected ones. */
static void stream(void* state, long times) {
    Stream* s = state;
    if (!s->sender) net_group_start(s->data);
    for (long i = 0; i < times; i++) {
        if (s->sender) {
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

/* stream:BYTES, 2 ranks: MB/s one way with 64 messages in flight, each with a buffer of its own. */
static Result stream_bandwidth(int bytes) {
    int sender = net_rank() == 0; /* also the number of the other rank */
    size_t each = (size_t)bytes;
    char* data = net_allocate(each * window);
    char* ack = net_allocate(8);
    Message messages[window];
    for (int i = 0; i < window; i++) {
        Message m = {data + each * (size_t)i, each, sender, -1, 0, sender};
        messages[i] = m;
        fill(m.buffer, sender ? each : 0, 0, i);
    }
    Message back = {ack, 8, sender, -1, 0, !sender};
    Result best = {{0, 0}, ""};
    double fastest = 0;
    int chosen = -1;
    for (int way = 0; way <= net_ways(); way++) {
        int last = way == net_ways();
        int use = last ? chosen : way;
        if (!net_way_takes_many(use)) continue;
        Stream s = {net_group(messages, window, use), net_group(&back, 1, use), sender};
        if (!sender) memset(data, 0, each * window);
        timed(stream, &s, 1);
        for (int i = 0; i < window && !sender; i++) verify(messages[i].buffer, each, 0, i);
        best.timing = measure(stream, &s, last ? budget : budget / 10);
        if (chosen < 0 || (!last && best.timing.median < fastest)) {
            fastest = best.timing.median;
            chosen = way;
        }
        snprintf(best.way, sizeof best.way, "%s", net_way_name(use));
        net_release(s.data);
        net_release(s.acknowledgement);
    }
    net_free(ack);
    net_free(data);
    return as_bandwidth(best, (double)bytes * window);
}

/* ---- halo and sum --------------------------------------------------------------------------- */

static void halo_exchange(void* state, long times) {
    for (long i = 0; i < times; i++) {
        net_group_start(state);
        net_group_wait(state);
    }
}

/* Neighbour in a cubic grid whose first dimension is fastest. */
static int neighbour(int rank, int extent, int axis, int direction) {
    int stride = 1;
    for (int i = 0; i < axis; i++) stride *= extent;
    int at = rank / stride % extent;
    return rank + ((at + direction + extent) % extent - at) * stride;
}

/* halo:EXTENT, EXTENT^3 ranks: microseconds for six sends of 8 KiB and six receives on every rank.
 */
static Result halo(int extent) {
    static int declared = 0;
    int extents[3] = {extent, extent, extent};
    if (net_size() != extent * extent * extent) net_abort("halo: the ranks do not form that cube");
    if (!declared) net_declare_grid(extents, 3);
    declared = 1;
    char* buffers = net_allocate(12 * halo_bytes);
    memset(buffers, 0, 12 * halo_bytes);
    Message messages[12];
    for (int i = 0; i < 6; i++) { /* receives first, as every halo code does */
        int direction = i % 2 ? -1 : +1;
        int peer = neighbour(net_rank(), extent, i / 2, direction);
        Message in = {buffers + i * halo_bytes, halo_bytes, peer, i / 2, direction, 0};
        Message out = {buffers + (6 + i) * halo_bytes, halo_bytes, peer, i / 2, direction, 1};
        messages[i] = in;
        messages[6 + i] = out;
        fill(out.buffer, halo_bytes, net_rank(), i);
    }
    Result best = {{0, 0}, ""};
    double fastest = 0;
    int chosen = -1;
    for (int way = 0; way <= net_ways(); way++) {
        int last = way == net_ways();
        int use = last ? chosen : way;
        if (!net_way_takes_many(use)) continue;
        memset(buffers, 0, 6 * halo_bytes);
        Group* group = net_group(messages, 12, use);
        timed(halo_exchange, group, 1);
        for (int i = 0; i < 6; i++) /* what came from + was sent towards - */
            verify(messages[i].buffer, halo_bytes, messages[i].peer, i ^ 1);
        best.timing = measure(halo_exchange, group, last ? budget : budget / 10);
        if (chosen < 0 || (!last && best.timing.median < fastest)) {
            fastest = best.timing.median;
            chosen = way;
        }
        snprintf(best.way, sizeof best.way, "%s", net_way_name(use));
        net_release(group);
    }
    net_free(buffers);
    best.timing.median *= 1e6;
    best.timing.best *= 1e6;
    return best;
}

static void sums(void* state, long times) {
    double expected = *(double*)state;
    for (long i = 0; i < times; i++)
        if (net_sum(net_rank() + 1.0) != expected) net_abort("a sum came out wrong");
}

/* sum:RANKS: microseconds for the sum of one double on every rank. */
static Result sum(int ranks) {
    if (net_size() != ranks) net_abort("sum: started with another number of ranks");
    double expected = 0.5 * ranks * (ranks + 1.0);
    Result r = {measure(sums, &expected, budget), "sum"};
    r.timing.median *= 1e6;
    r.timing.best *= 1e6;
    return r;
}

/* ---- what a job costs ----------------------------------------------------------------------- */

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* idle:SECONDS: rank 0 sleeps, all others wait for its message; percent of one core that the
 * whole job uses meanwhile. */
static Result idle(int seconds) {
    char* buffer = net_allocate(8);
    int others = net_size() - 1;
    int count = net_rank() == 0 ? others : 1;
    Message* messages = allocate_or_die(sizeof *messages * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        Message m = {buffer, 8, net_rank() == 0 ? i + 1 : 0, -1, 0, net_rank() == 0};
        messages[i] = m;
    }
    int way = net_ways() - 1;
    Group* group = net_group(messages, count, way);
    net_barrier();
    double cpu = cpu_seconds(), start = now();
    if (net_rank() == 0) {
        struct timespec t = {seconds, 0};
        nanosleep(&t, NULL);
    }
    double mine = net_rank() == 0 ? cpu_seconds() - cpu : 0;
    net_group_start(group);
    net_group_wait(group);
    if (net_rank() != 0) mine = cpu_seconds() - cpu;
    double elapsed = now() - start;
    double share = net_sum(mine) / net_maximum(elapsed) * 100;
    net_release(group);
    free(messages);
    net_free(buffer);
    Result r = {{share, share}, ""};
    snprintf(r.way, sizeof r.way, "%s", net_way_name(way));
    return r;
}

/* Proportional set size of this process in MiB: shared pages count by their part. */
static double resident_share(void) {
    FILE* f = fopen("/proc/self/smaps_rollup", "r");
    if (!f) net_abort("/proc/self/smaps_rollup cannot be read");
    char line[256];
    double kib = -1;
    while (fgets(line, sizeof line, f)) sscanf(line, "Pss: %lf", &kib);
    fclose(f);
    if (kib < 0) net_abort("/proc/self/smaps_rollup has no Pss line");
    return kib / 1024;
}

/* memory:BYTES: every rank exchanges 8 bytes and then BYTES with every other; MiB a rank while all
 * are alive, shared parts counted once. */
static Result memory(int bytes) {
    size_t sizes[2] = {8, (size_t)bytes};
    char* out = net_allocate((size_t)bytes);
    char* in = net_allocate((size_t)bytes);
    memset(out, 1, (size_t)bytes);
    int way = net_ways() - 1, n = net_size();
    for (int s = 0; s < 2; s++)
        for (int step = 1; step < n; step++) {
            Message messages[2] = {{in, sizes[s], (net_rank() - step + n) % n, -1, 0, 0},
                                   {out, sizes[s], (net_rank() + step) % n, -1, 0, 1}};
            Group* group = net_group(messages, 2, way);
            net_group_start(group);
            net_group_wait(group);
            net_release(group);
        }
    net_barrier();
    double mine = resident_share();
    net_barrier();
    double share = net_sum(mine) / n;
    net_free(in);
    net_free(out);
    Result r = {{share, net_maximum(mine)}, ""};
    snprintf(r.way, sizeof r.way, "%s", net_way_name(way));
    return r;
}

/* nothing:0: start and end only; compare-peers takes the time from outside. */
static Result nothing(int unused) {
    (void)unused;
    net_barrier();
    Result r = {{0, 0}, "none"};
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
    {"hop", hop},
    {"halo", halo},
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
        Result r = tests[i].run(atoi(colon + 1));
        if (net_rank() == 0) {
            printf("%s %.6g %.6g %s\n", request, r.timing.median, r.timing.best, r.way);
            fflush(stdout);
        }
        return;
    }
    if (net_rank() == 0) fprintf(stderr, "exchange: there is no test '%s'\n", request);
    net_barrier();
    exit(2);
}

int main(int argc, char** argv) {
    net_start(&argc, &argv);
    if (net_rank() == 0) printf("library %s\n", net_library());
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            budget = atof(argv[++i]);
        else
            run(argv[i]);
    }
    net_end();
    return 0;
}
