/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective operations that compare-peers times, written once over net.h and collective.h:
 * each library under comparison runs this very source.
 *
 *   collectives [--seconds S] OPERATION:BYTES ...
 *
 * BYTES: of the vector or, where every rank has a block of its own, of a block. Rank 0 prints
 * "library NAME" and then, a line per operation, "OPERATION:BYTES MEDIAN BEST called": microseconds
 * for a call, one after the other without a barrier between them; see timing.h. The first call of
 * each operation is checked byte by byte. Exit code 2: an operation that does not exist. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "net.h"
#include "timing.h"

static double budget = 0.2; /* seconds a measurement */

/* ---- contents ------------------------------------------------------------------------------- */

/* The contents of results: bytes that identify their source and destination, or sums of small
 * integers, which are exact. */
static unsigned char byte_of(int from, int to, size_t i) {
    return (unsigned char)((unsigned)from * 31u + (unsigned)to * 17u + (unsigned)(i % 251u));
}

static double number_of(int rank, int block, size_t i) {
    return (double)(rank + 1) * (double)(1 + (i + (size_t)block) % 7u);
}

static void fill_bytes(char* block, size_t bytes, int from, int to) {
    for (size_t i = 0; i < bytes; i++) block[i] = (char)byte_of(from, to, i);
}

static int are_bytes(const char* block, size_t bytes, int from, int to) {
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)block[i] != byte_of(from, to, i)) return 0;
    return 1;
}

static void fill_numbers(char* block, size_t bytes, int rank, int number) {
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        double value = number_of(rank, number, i);
        memcpy(block + i * sizeof value, &value, sizeof value);
    }
}

/* Whether the block is the sum of what ranks 0 to `last` filled in. */
static int are_sums(const char* block, size_t bytes, int last, int number) {
    for (size_t i = 0; i < bytes / sizeof(double); i++) {
        double value, expected = number_of(0, number, i) * (last + 1.0) * (last + 2.0) / 2;
        memcpy(&value, block + i * sizeof value, sizeof value);
        if (value != expected) return 0;
    }
    return 1;
}

/* ---- operations ----------------------------------------------------------------------------- */

/* in_all and out_all are 1 if the input or the output has all blocks, and 0 if it has one block
 * or none. */
typedef struct {
    const char* name;
    int in_all;
    int out_all;
    int adds;
} Operation;

static const Operation operations[] = {
    {"broadcast", 0, 0, 0}, {"sum", 0, 0, 1},      {"scan", 0, 0, 1},
    {"reduce", 0, 0, 1},    {"scatter", 0, 1, 0},  {"gather", 1, 0, 0},
    {"allgather", 1, 0, 0}, {"alltoall", 1, 1, 0}, {"reduce_scatter", 0, 1, 1},
    {"barrier", 0, 0, 0},
};

static int is(const Operation* o, const char* name) {
    return strcmp(o->name, name) == 0;
}

/* Fills the input of this rank before the first call. */
static void prepare(const Operation* o, char* in, char* out, size_t bytes) {
    int me = net_rank(), all = net_size();
    if (is(o, "broadcast") && me == 0) fill_bytes(in, bytes, 0, 0);
    if (is(o, "sum") || is(o, "scan")) fill_numbers(in, bytes, me, 0);
    if (is(o, "reduce")) fill_numbers(out, bytes, me, 0);
    if (is(o, "gather") || is(o, "allgather")) fill_bytes(out, bytes, me, 0);
    for (int r = 0; r < all && o->out_all; r++) {
        char* block = out + bytes * (size_t)r;
        if (o->adds)
            fill_numbers(block, bytes, me, r);
        else
            fill_bytes(block, bytes, me, r);
    }
}

/* Whether the result of this rank is correct after the first call. */
static int is_right(const Operation* o, const char* in, size_t bytes) {
    int me = net_rank(), all = net_size();
    if (is(o, "broadcast")) return are_bytes(in, bytes, 0, 0);
    if (is(o, "sum")) return are_sums(in, bytes, all - 1, 0);
    if (is(o, "scan")) return are_sums(in, bytes, me, 0);
    if (is(o, "reduce")) return me != 0 || are_sums(in, bytes, all - 1, 0);
    if (is(o, "scatter")) return are_bytes(in, bytes, 0, me);
    if (is(o, "reduce_scatter")) return are_sums(in, bytes, all - 1, me);
    for (int r = 0; r < all && o->in_all; r++)
        if (!(is(o, "gather") && me != 0) &&
            !are_bytes(in + bytes * (size_t)r, bytes, r, is(o, "alltoall") ? me : 0))
            return 0;
    return 1;
}

static void call_often(void* state, long times) {
    for (long i = 0; i < times; i++) collective_call(state);
}

static void refuse(const char* request, const char* why) {
    if (net_rank() == 0) fprintf(stderr, "collectives: %s: %s\n", request, why);
    net_barrier();
    exit(2);
}

/* "scatter_apart" is scatter with a separate algorithm, and the same contents. */
static const Operation* find(const char* name) {
    const Operation* found = NULL;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        size_t length = strlen(operations[i].name);
        if (strncmp(name, operations[i].name, length) != 0) continue;
        if (name[length] != '\0' && name[length] != '_') continue;
        if (!found || length > strlen(found->name)) found = &operations[i];
    }
    return found;
}

static void run(const char* request) {
    char name[64];
    long bytes = 0;
    if (sscanf(request, "%63[^:]:%ld", name, &bytes) != 2 || bytes < 0)
        refuse(request, "expected OPERATION:BYTES");
    const Operation* o = find(name);
    if (!o) refuse(request, "unknown operation");
    if (o->adds && bytes % (long)sizeof(double) != 0)
        refuse(request, "expected whole doubles, a multiple of 8 bytes");
    size_t block = (size_t)bytes, all = block * (size_t)net_size();
    char* in = net_allocate(o->in_all ? all : block);
    char* out = net_allocate(o->out_all ? all : block);
    memset(in, 0, o->in_all ? all : block);
    memset(out, 0, o->out_all ? all : block);
    Collective* collective = collective_make(name, in, out, block);
    if (!collective) refuse(request, "the library has no such operation");
    prepare(o, in, out, block);
    collective_call(collective);
    if (!is_right(o, in, block)) net_abort("a collective came out wrong");
    /* Repeated sums would overflow; zeros stay zeros. */
    if (o->adds) memset(in, 0, block), memset(out, 0, o->out_all ? all : block);
    Timing t = measure(call_often, collective, budget);
    if (net_rank() == 0) {
        printf("%s %.6g %.6g called\n", request, 1e6 * t.median, 1e6 * t.best);
        fflush(stdout);
    }
    collective_free(collective);
    net_free(out);
    net_free(in);
}

int main(int argc, char** argv) {
    net_start(&argc, &argv);
    if (net_rank() == 0) printf("library %s\n", net_library());
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            budget = atof(argv[++i]);
        else
            run(argv[i]);
    net_end();
    return 0;
}
