/* SPDX-License-Identifier: BSD-3-Clause */
/* Times MPI calls, with the same source for each library under comparison, including torusmp.
 * exchange.c uses the fastest variant of each library; this file uses the calls that are named.
 *
 *   messages [--seconds S] TEST:NUMBER ...
 *
 * Rank 0 prints "library NAME" and then, a line per test, "TEST:NUMBER MEDIAN BEST called": median
 * and best over batches, see timing.h; microseconds, millions a second or MB/s (10^6 bytes) as the
 * test's comment describes. What arrives is checked before anything is timed. Exit code 2: a test
 * that does not exist. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "timing.h"

enum { window = 64, dimensions = 3 };

static double budget = 0.2; /* seconds a measurement */

static void check(int right) {
    if (!right) net_abort("a message arrived with wrong contents");
}

/* ---- pairs: rank 0 serves, rank 1 returns, others stand by ---------------------------------- */

typedef struct {
    char* out;
    char* in;
    int bytes;
} PingPong;

static void ping_pong(void* state, long times) {
    const PingPong* p = state;
    for (long i = 0; i < times && net_rank() < 2; i++) {
        if (net_rank() == 0) MPI_Send(p->out, p->bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(p->in, p->bytes, MPI_BYTE, 1 - net_rank(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (net_rank() == 1) MPI_Send(p->out, p->bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

/* The benchmark latency:BYTES returns the microseconds of half a round trip of MPI_Send and
 * MPI_Recv. */
static Timing latency(int bytes) {
    PingPong p = {net_allocate((size_t)bytes), net_allocate((size_t)bytes), bytes};
    memset(p.out, 'a' + net_rank() % 2, (size_t)bytes);
    memset(p.in, 0, (size_t)bytes);
    timed(ping_pong, &p, 1);
    for (int i = 0; i < bytes && net_rank() < 2; i++) check(p.in[i] == 'b' - net_rank());
    Timing t = measure(ping_pong, &p, budget);
    net_free(p.out);
    net_free(p.in);
    return (Timing){0.5e6 * t.median, 0.5e6 * t.best};
}

typedef struct {
    char* buffers; /* consecutive buffers of `bytes` each */
    int bytes;
    MPI_Request requests[window];
} Window;

/* A window of messages, all in flight, answered by an empty one. */
static void windows(void* state, long times) {
    Window* w = state;
    for (long i = 0; i < times && net_rank() < 2; i++) {
        for (int k = 0; k < window; k++) {
            char* buffer = w->buffers + (size_t)k * (size_t)w->bytes;
            if (net_rank() == 0)
                MPI_Isend(buffer, w->bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &w->requests[k]);
            else
                MPI_Irecv(buffer, w->bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &w->requests[k]);
        }
        MPI_Waitall(window, w->requests, MPI_STATUSES_IGNORE);
        if (net_rank() == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    }
}

/* Messages of `bytes` per second. */
static Timing one_way(int bytes) {
    size_t all = window * (size_t)bytes;
    Window w = {.buffers = net_allocate(all), .bytes = bytes};
    for (size_t i = 0; i < all; i++) w.buffers[i] = net_rank() == 0 ? (char)(i * 7 + i / 1024) : 0;
    timed(windows, &w, 1);
    for (size_t i = 0; i < all && net_rank() < 2; i++)
        check(w.buffers[i] == (char)(i * 7 + i / 1024));
    Timing t = measure(windows, &w, budget);
    net_free(w.buffers);
    return (Timing){window / t.median, window / t.best};
}

/* The benchmark rate:BYTES returns millions of messages a second with 64 in flight. */
static Timing rate(int bytes) {
    Timing t = one_way(bytes);
    return (Timing){1e-6 * t.median, 1e-6 * t.best};
}

/* The benchmark bandwidth:BYTES returns MB/s one way with 64 messages in flight, each with a
 * separate buffer. */
static Timing bandwidth(int bytes) {
    Timing t = one_way(bytes);
    return (Timing){1e-6 * bytes * t.median, 1e-6 * bytes * t.best};
}

typedef struct {
    int count;
    int* values;
    MPI_Request* requests;
} Posted;

/* Receives with tags 0, 1, 2 ...; the message with the highest tag arrives first. */
static void posted_reverse(void* state, long times) {
    Posted* p = state;
    for (long i = 0; i < times && net_rank() < 2; i++) {
        if (net_rank() == 0) {
            MPI_Recv(NULL, 0, MPI_INT, 1, p->count, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int tag = p->count - 1; tag >= 0; tag--)
                MPI_Send(&p->values[tag], 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        } else {
            for (int tag = 0; tag < p->count; tag++)
                MPI_Irecv(&p->values[tag], 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &p->requests[tag]);
            MPI_Send(NULL, 0, MPI_INT, 0, p->count, MPI_COMM_WORLD);
            MPI_Waitall(p->count, p->requests, MPI_STATUSES_IGNORE);
        }
    }
}

/* The benchmark posted:COUNT returns the microseconds for COUNT receives, posted first and
 * matched in reverse order. */
static Timing posted(int count) {
    Posted p = {count, net_allocate((size_t)count * sizeof *p.values),
                net_allocate((size_t)count * sizeof *p.requests)};
    for (int i = 0; i < count; i++) p.values[i] = net_rank() == 0 ? 3 * i + 1 : 0;
    timed(posted_reverse, &p, 1);
    for (int i = 0; i < count && net_rank() < 2; i++) check(p.values[i] == 3 * i + 1);
    Timing t = measure(posted_reverse, &p, budget);
    net_free(p.values);
    net_free(p.requests);
    return (Timing){1e6 * t.median, 1e6 * t.best};
}

/* ---- halo ----------------------------------------------------------------------------------- */

typedef struct {
    MPI_Comm grid;
    /* (extent + 2)^3, with one layer of the neighbours' values around it */
    double* field;
    int extent;                    /* of the interior */
    MPI_Datatype face[dimensions]; /* one layer across each dimension */
    int neighbour[dimensions][2];  /* below, above */
    MPI_Request requests[4 * dimensions];
} Halo;

static size_t place(const Halo* h, int x, int y, int z) {
    size_t row = (size_t)h->extent + 2;
    return ((size_t)x * row + (size_t)y) * row + (size_t)z;
}

/* The start of layer number `at` across a dimension. */
static double* layer(const Halo* h, int dimension, int at) {
    int begin[dimensions] = {1, 1, 1};
    begin[dimension] = at;
    return h->field + place(h, begin[0], begin[1], begin[2]);
}

/* Rows in a plane for the first dimension, rows far apart for the second, single values for the
 * last: each a vector, or a vector of vectors. */
static void make_faces(Halo* h) {
    int n = h->extent, row = n + 2, plane = row * row;
    MPI_Datatype column;
    MPI_Type_vector(n, n, row, MPI_DOUBLE, &h->face[0]);
    MPI_Type_vector(n, n, plane, MPI_DOUBLE, &h->face[1]);
    MPI_Type_vector(n, 1, row, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(n, 1, (MPI_Aint)plane * (MPI_Aint)sizeof(double), column, &h->face[2]);
    MPI_Type_free(&column);
    for (int d = 0; d < dimensions; d++) MPI_Type_commit(&h->face[d]);
}

static void exchange_faces(void* state, long times) {
    Halo* h = state;
    for (long i = 0; i < times; i++) {
        MPI_Request* request = h->requests;
        for (int d = 0; d < dimensions; d++)
            for (int side = 0; side < 2; side++)
                MPI_Irecv(layer(h, d, side ? h->extent + 1 : 0), 1, h->face[d],
                          h->neighbour[d][side], 2 * d + side, h->grid, request++);
        /* A message sent down arrives from above. */
        for (int d = 0; d < dimensions; d++)
            for (int side = 0; side < 2; side++)
                MPI_Isend(layer(h, d, side ? h->extent : 1), 1, h->face[d], h->neighbour[d][side],
                          2 * d + !side, h->grid, request++);
        MPI_Waitall((int)(request - h->requests), h->requests, MPI_STATUSES_IGNORE);
    }
}

/* A value that identifies rank and position. */
static double value_at(int rank, size_t at) {
    return rank * 1e6 + (double)at;
}

static void fill(Halo* h, int rank) {
    size_t all = place(h, h->extent + 1, h->extent + 1, h->extent + 1) + 1;
    for (size_t i = 0; i < all; i++) h->field[i] = -1;
    for (int x = 1; x <= h->extent; x++)
        for (int y = 1; y <= h->extent; y++)
            for (int z = 1; z <= h->extent; z++)
                h->field[place(h, x, y, z)] = value_at(rank, place(h, x, y, z));
}

/* Checks that each outer layer holds the neighbour's values from its opposite end. */
static void verify(const Halo* h) {
    int n = h->extent;
    for (int d = 0; d < dimensions; d++)
        for (int side = 0; side < 2; side++)
            for (int a = 1; a <= n; a++)
                for (int b = 1; b <= n; b++) {
                    int here[dimensions] = {a, a, a}, there[dimensions];
                    here[(d + 1) % dimensions] = b;
                    memcpy(there, here, sizeof there);
                    here[d] = side ? n + 1 : 0;
                    there[d] = side ? 1 : n;
                    check(h->field[place(h, here[0], here[1], here[2])] ==
                          value_at(h->neighbour[d][side], place(h, there[0], there[1], there[2])));
                }
}

/* The benchmark halo:EXTENT returns the microseconds for the six faces of EXTENT^3 doubles on
 * every rank, sent and received in place with vector types, on a periodic grid that
 * MPI_Cart_create makes of all ranks. */
static Timing halo(int extent) {
    int sizes[dimensions] = {0, 0, 0}, wrap[dimensions] = {1, 1, 1}, rank;
    Halo h = {.extent = extent};
    h.field = net_allocate((place(&h, extent + 1, extent + 1, extent + 1) + 1) * sizeof *h.field);
    MPI_Dims_create(net_size(), dimensions, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, wrap, 1, &h.grid);
    MPI_Comm_rank(h.grid, &rank);
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(h.grid, d, 1, &h.neighbour[d][0], &h.neighbour[d][1]);
    make_faces(&h);
    fill(&h, rank);
    timed(exchange_faces, &h, 1);
    verify(&h);
    Timing t = measure(exchange_faces, &h, budget);
    for (int d = 0; d < dimensions; d++) MPI_Type_free(&h.face[d]);
    MPI_Comm_free(&h.grid);
    net_free(h.field);
    return (Timing){1e6 * t.median, 1e6 * t.best};
}

/* ---- main ----------------------------------------------------------------------------------- */

static const struct {
    const char* name;
    int fewest_ranks;
    Timing (*run)(int number);
} tests[] = {
    {"latency", 2, latency}, {"rate", 2, rate}, {"bandwidth", 2, bandwidth},
    {"posted", 2, posted},   {"halo", 1, halo},
};

static void run(const char* request) {
    char name[32];
    int number = 0;
    if (sscanf(request, "%31[^:]:%d", name, &number) == 2 && number >= 0)
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
            if (strcmp(tests[i].name, name) != 0 || net_size() < tests[i].fewest_ranks) continue;
            Timing t = tests[i].run(number);
            if (net_rank() == 0) {
                printf("%s %.6g %.6g called\n", request, t.median, t.best);
                fflush(stdout);
            }
            return;
        }
    if (net_rank() == 0)
        fprintf(stderr, "messages: unknown test '%s' for %d ranks\n", request, net_size());
    net_barrier();
    exit(2);
}

int main(int argc, char** argv) {
    net_start(&argc, &argv);
    if (net_rank() == 0) printf("library %s\n", net_library());
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            budget = atof(argv[++i]);
        else if (strcmp(argv[i], "--ordinary") == 0)
            net_use_ordinary_memory();
        else
            run(argv[i]);
    net_end();
    return 0;
}
