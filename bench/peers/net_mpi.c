/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h over MPI-1: blocking calls, non-blocking calls, or persistent requests. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

enum { way_blocking, way_nonblocking, way_persistent, way_count };

struct Group {
    Message* messages;
    MPI_Request* requests;
    int count;
    int way;
};

static int my_rank;
static int all_ranks;

void net_start(int* argc, char*** argv) {
    int begun; /* set by a program that initializes threads itself */
    MPI_Initialized(&begun);
    if (!begun) MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
}

void net_end(void) {
    MPI_Finalize();
}

int net_rank(void) {
    return my_rank;
}

int net_size(void) {
    return all_ranks;
}

void net_abort(const char* why) {
    fprintf(stderr, "exchange: rank %d: %s\n", my_rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Messages carry the peer's rank, so MPI does not need the grid. */
void net_declare_grid(const int* extents, int extent_count) {
    (void)extents;
    (void)extent_count;
}

static int ordinary_memory;

void net_use_ordinary_memory(void) {
    ordinary_memory = 1;
}

/* Libraries recommend MPI_Alloc_mem, but most programs do not call it. */
void* net_allocate(size_t bytes) {
    void* buffer = NULL;
    if (ordinary_memory) {
        if (posix_memalign(&buffer, 4096, bytes ? bytes : 1)) net_abort("no memory");
        memset(buffer, 0, bytes);
        return buffer;
    }
    if (MPI_Alloc_mem((MPI_Aint)(bytes ? bytes : 1), MPI_INFO_NULL, &buffer) != MPI_SUCCESS)
        net_abort("no memory");
    return buffer;
}

void net_free(void* buffer) {
    if (ordinary_memory)
        free(buffer);
    else
        MPI_Free_mem(buffer);
}

int net_ways(void) {
    return way_count;
}

const char* net_way_name(int way) {
    static const char* const names[] = {"blocking", "nonblocking", "persistent"};
    return names[way];
}

int net_way_takes_many(int way) {
    return way != way_blocking;
}

/* MPI's ordering distinguishes several messages between one pair; in a grid with extent two,
 * where one rank is the neighbour on both sides, the tag identifies the link. */
static int tag_of(const Message* message) {
    if (message->axis < 0) return 0;
    int travels = message->sending ? message->direction : -message->direction;
    return 1 + 2 * message->axis + (travels > 0);
}

Group* net_group(const Message* messages, int count, int way) {
    Group* group = malloc(sizeof *group);
    if (!group) net_abort("no memory");
    group->messages = malloc(sizeof *messages * (size_t)count);
    group->requests = malloc(sizeof *group->requests * (size_t)count);
    if (!group->messages || !group->requests) net_abort("no memory");
    memcpy(group->messages, messages, sizeof *messages * (size_t)count);
    group->count = count;
    group->way = way;
    for (int i = 0; i < count && way == way_persistent; i++) {
        const Message* m = &messages[i];
        if (m->sending)
            MPI_Send_init(m->buffer, (int)m->bytes, MPI_BYTE, m->peer, tag_of(m), MPI_COMM_WORLD,
                          &group->requests[i]);
        else
            MPI_Recv_init(m->buffer, (int)m->bytes, MPI_BYTE, m->peer, tag_of(m), MPI_COMM_WORLD,
                          &group->requests[i]);
    }
    return group;
}

void net_release(Group* group) {
    for (int i = 0; i < group->count && group->way == way_persistent; i++)
        MPI_Request_free(&group->requests[i]);
    free(group->messages);
    free(group->requests);
    free(group);
}

void net_group_start(Group* group) {
    const Message* m = group->messages;
    if (group->way == way_persistent) {
        if (group->count == 1)
            MPI_Start(group->requests);
        else
            MPI_Startall(group->count, group->requests);
    } else if (group->way == way_blocking) {
        if (m->sending)
            MPI_Send(m->buffer, (int)m->bytes, MPI_BYTE, m->peer, tag_of(m), MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < group->count; i++, m++) {
            if (m->sending)
                MPI_Isend(m->buffer, (int)m->bytes, MPI_BYTE, m->peer, tag_of(m), MPI_COMM_WORLD,
                          &group->requests[i]);
            else
                MPI_Irecv(m->buffer, (int)m->bytes, MPI_BYTE, m->peer, tag_of(m), MPI_COMM_WORLD,
                          &group->requests[i]);
        }
    }
}

void net_group_wait(Group* group) {
    const Message* m = group->messages;
    if (group->way == way_blocking) {
        if (!m->sending)
            MPI_Recv(m->buffer, (int)m->bytes, MPI_BYTE, m->peer, tag_of(m), MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else if (group->count == 1) {
        MPI_Wait(group->requests, MPI_STATUS_IGNORE);
    } else {
        MPI_Waitall(group->count, group->requests, MPI_STATUSES_IGNORE);
    }
}

double net_sum(double value) {
    double total = 0;
    MPI_Allreduce(&value, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

double net_maximum(double value) {
    double largest = 0;
    MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

void net_barrier(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

const char* net_library(void) {
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n,")] = '\0';
    for (char* c = text; *c; c++)
        if (*c == '\t') *c = ' ';
    return text;
}
