/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h over QMP: every message is a declared channel, and several form a multiple. */
#define _POSIX_C_SOURCE 200809L
#include <qmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

struct Group {
    QMP_msghandle_t handle;
};

/* QMP frees memory by its own handle, which is stored in front of each buffer. */
enum { front = QMP_ALIGN_DEFAULT };

static void check(QMP_status_t status, const char* call) {
    if (status == QMP_SUCCESS) return;
    fprintf(stderr, "exchange: %s: %s\n", call, QMP_error_string(status));
    QMP_abort(1);
}

void net_start(int* argc, char*** argv) {
    QMP_thread_level_t provided;
    check(QMP_init_msg_passing(argc, argv, QMP_THREAD_SINGLE, &provided), "QMP_init_msg_passing");
}

void net_end(void) {
    QMP_finalize_msg_passing();
}

int net_rank(void) {
    return QMP_get_node_number();
}

int net_size(void) {
    return QMP_get_number_of_nodes();
}

void net_abort(const char* why) {
    fprintf(stderr, "exchange: rank %d: %s\n", QMP_get_node_number(), why);
    QMP_abort(1);
    exit(1);
}

void net_declare_grid(const int* extents, int dimensions) {
    check(QMP_declare_logical_topology(extents, dimensions), "QMP_declare_logical_topology");
}

static int ordinary_memory;

void net_use_ordinary_memory(void) {
    ordinary_memory = 1;
}

void* net_allocate(size_t bytes) {
    if (ordinary_memory) {
        void* buffer = NULL;
        if (posix_memalign(&buffer, 4096, bytes ? bytes : 1)) net_abort("no memory");
        memset(buffer, 0, bytes);
        return buffer;
    }
    QMP_mem_t* memory = QMP_allocate_aligned_memory(front + bytes, 4096, QMP_MEM_DEFAULT);
    if (!memory) net_abort("no memory");
    char* base = QMP_get_memory_pointer(memory);
    *(QMP_mem_t**)base = memory;
    return base + front;
}

void net_free(void* buffer) {
    if (ordinary_memory) {
        free(buffer);
        return;
    }
    QMP_free_memory(*(QMP_mem_t**)((char*)buffer - front));
}

int net_ways(void) {
    return 1;
}

const char* net_way_name(int way) {
    (void)way;
    return "channels";
}

int net_way_takes_many(int way) {
    (void)way;
    return 1;
}

static QMP_msghandle_t declare(const Message* m) {
    QMP_msgmem_t memory = QMP_declare_msgmem(m->buffer, m->bytes);
    QMP_msghandle_t handle;
    if (m->axis < 0)
        handle = m->sending ? QMP_declare_send_to(memory, m->peer, 0)
                            : QMP_declare_receive_from(memory, m->peer, 0);
    else
        handle = m->sending ? QMP_declare_send_relative(memory, m->axis, m->direction, 0)
                            : QMP_declare_receive_relative(memory, m->axis, m->direction, 0);
    if (!handle) net_abort("a channel cannot be declared");
    QMP_free_msgmem(memory);
    return handle;
}

Group* net_group(const Message* messages, int count, int way) {
    (void)way;
    Group* group = malloc(sizeof *group);
    QMP_msghandle_t* handles = malloc(sizeof *handles * (size_t)count);
    if (!group || !handles) net_abort("no memory");
    for (int i = 0; i < count; i++) handles[i] = declare(&messages[i]);
    group->handle = count == 1 ? handles[0] : QMP_declare_multiple(handles, count);
    if (!group->handle) net_abort("a multiple cannot be declared");
    free(handles);
    return group;
}

void net_release(Group* group) {
    QMP_free_msghandle(group->handle);
    free(group);
}

void net_group_start(Group* group) {
    check(QMP_start(group->handle), "QMP_start");
}

void net_group_wait(Group* group) {
    check(QMP_wait(group->handle), "QMP_wait");
}

double net_sum(double value) {
    check(QMP_sum_double(&value), "QMP_sum_double");
    return value;
}

double net_maximum(double value) {
    check(QMP_max_double(&value), "QMP_max_double");
    return value;
}

void net_barrier(void) {
    check(QMP_barrier(), "QMP_barrier");
}

const char* net_library(void) {
    static char text[64];
    snprintf(text, sizeof text, "QMP %s", QMP_version_str());
    return text;
}
