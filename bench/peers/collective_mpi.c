/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.h over MPI-1, blocking, as applications call it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "net.h"

struct Collective {
    void (*call)(const Collective* c);
    void* in;
    void* out;
    int bytes;
    int doubles;
    int* counts; /* reduce_scatter: doubles by rank */
};

static void broadcast(const Collective* c) {
    MPI_Bcast(c->in, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void sum(const Collective* c) {
    MPI_Allreduce(MPI_IN_PLACE, c->in, c->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(const Collective* c) {
    MPI_Scan(MPI_IN_PLACE, c->in, c->doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(const Collective* c) {
    MPI_Reduce(c->out, c->in, c->doubles, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void scatter(const Collective* c) {
    MPI_Scatter(c->out, c->bytes, MPI_BYTE, c->in, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void gather(const Collective* c) {
    MPI_Gather(c->out, c->bytes, MPI_BYTE, c->in, c->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allgather(const Collective* c) {
    MPI_Allgather(c->out, c->bytes, MPI_BYTE, c->in, c->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void reduce_scatter(const Collective* c) {
    MPI_Reduce_scatter(c->out, c->in, c->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall(const Collective* c) {
    MPI_Alltoall(c->out, c->bytes, MPI_BYTE, c->in, c->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void barrier(const Collective* c) {
    (void)c;
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char* name;
    void (*call)(const Collective* c);
} operations[] = {
    {"broadcast", broadcast}, {"sum", sum},
    {"scan", scan},           {"reduce", reduce},
    {"scatter", scatter},     {"gather", gather},
    {"allgather", allgather}, {"reduce_scatter", reduce_scatter},
    {"alltoall", alltoall},   {"barrier", barrier},
};

Collective* collective_make(const char* operation, void* in, void* out, size_t bytes) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].name, operation) != 0) continue;
        Collective* c = malloc(sizeof *c);
        int* counts = malloc(sizeof *counts * (size_t)net_size());
        if (!c || !counts) net_abort("no memory");
        for (int r = 0; r < net_size(); r++) counts[r] = (int)(bytes / sizeof(double));
        *c = (Collective){
            operations[i].call, in, out, (int)bytes, (int)(bytes / sizeof(double)), counts};
        return c;
    }
    return NULL;
}

void collective_call(Collective* c) {
    c->call(c);
}

void collective_free(Collective* c) {
    free(c->counts);
    free(c);
}
