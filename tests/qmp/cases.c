/* SPDX-License-Identifier: BSD-3-Clause */
/* The requirements of QMP programs, one case per run: cases NAME [-qmp-... flags]. Each case works
 * on any number of processes unless it says otherwise. */
#include "cases.h"

#include <signal.h>

int me, nodes;
int next_node, previous_node;

QMP_msghandle_t send_block(void* memory, size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = QMP_declare_send_to(m, node, 0);
    CHECK(m != NULL && h != NULL);
    QMP_free_msgmem(m); /* may go before the handle is used */
    return h;
}

QMP_msghandle_t receive_block(void* memory, size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = QMP_declare_receive_from(m, node, 0);
    CHECK(m != NULL && h != NULL);
    QMP_free_msgmem(m);
    return h;
}

QMP_msghandle_t relative(int is_send, void* memory, size_t bytes, int axis, int dir) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = is_send ? QMP_declare_send_relative(m, axis, dir, 0)
                                : QMP_declare_receive_relative(m, axis, dir, 0);
    CHECK(h != NULL);
    QMP_free_msgmem(m);
    return h;
}

void exchange(QMP_msghandle_t receive, QMP_msghandle_t send) {
    CHECK(QMP_start(receive) == QMP_SUCCESS);
    CHECK(QMP_start(send) == QMP_SUCCESS);
    CHECK(QMP_wait(receive) == QMP_SUCCESS);
    CHECK(QMP_wait(send) == QMP_SUCCESS);
}

void grid_of_nodes(int dims[], int ndim) {
    int rest = nodes, d, p;
    for (d = 0; d < ndim; d++) dims[d] = 1;
    for (p = 2; rest > 1; p++)
        while (rest % p == 0) {
            int smallest = 0;
            for (d = 1; d < ndim; d++)
                if (dims[d] < dims[smallest]) smallest = d;
            dims[smallest] *= p;
            rest /= p;
        }
}

/* SIGUSR1 asks what this process waits for; the program goes on. */
static void signal_report(void) {
    int in = -1, out = me;
    QMP_msghandle_t r = receive_block(&in, sizeof in, previous_node);
    QMP_msghandle_t s = send_block(&out, sizeof out, next_node);
    CHECK(QMP_start(r) == QMP_SUCCESS);
    CHECK(raise(SIGUSR1) == 0);
    CHECK(QMP_is_complete(r) == QMP_FALSE); /* no rank sends before the barrier */
    CHECK(QMP_barrier() == QMP_SUCCESS);
    CHECK(QMP_start(s) == QMP_SUCCESS && QMP_wait(s) == QMP_SUCCESS && QMP_wait(r) == QMP_SUCCESS);
    CHECK(in == previous_node);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
}

/* Leaves handles, message memory and memory behind: finalize does not mind. */
static QMP_mem_t* left_memory;
static QMP_msghandle_t left_handle;
static void leave_things(void) {
    left_memory = QMP_allocate_memory(64);
    left_handle = send_block(QMP_get_memory_pointer(left_memory), 64, next_node);
    QMP_declare_multiple(NULL, 0);
}

static const struct test_case own_cases[] = {
    {"signal_report", signal_report},
    {"leave_things", leave_things},
    {NULL, NULL},
};

/* NULL: there is none of that name. */
static const struct test_case* find(const char* name) {
    const struct test_case* const all[] = {grid_cases, message_cases, collective_cases, own_cases};
    const struct test_case* one;
    size_t i;
    for (i = 0; i < sizeof all / sizeof *all; i++)
        for (one = all[i]; one->name != NULL; one++)
            if (strcmp(one->name, name) == 0) return one;
    return NULL;
}

int main(int argc, char** argv) {
    QMP_thread_level_t provided = QMP_THREAD_SINGLE;
    int word, ran = 0;
    CHECK(QMP_is_initialized() == QMP_FALSE);
    CHECK(QMP_verbose(2) == 0);
    CHECK(QMP_init_msg_passing(&argc, &argv, QMP_THREAD_FUNNELED, &provided) == QMP_SUCCESS);
    CHECK(provided == QMP_THREAD_FUNNELED);
    CHECK(argv[argc] == NULL);
    me = QMP_get_node_number();
    nodes = QMP_get_number_of_nodes();
    next_node = (me + 1) % nodes;
    previous_node = (me + nodes - 1) % nodes;
    for (word = 1; word < argc; word++) {
        const struct test_case* found = find(argv[word]);
        if (found == NULL) QMP_abort_string(8, argv[word]);
        found->run();
        ran++;
    }
    CHECK(ran > 0);
    QMP_finalize_msg_passing();
    CHECK(QMP_is_initialized() == QMP_FALSE);
    /* Printing and freeing work after the end. */
    CHECK(QMP_info("done") == 4);
    if (left_handle != NULL) {
        memset(QMP_get_memory_pointer(left_memory), 1, 64);
        QMP_free_msghandle(left_handle);
        QMP_free_memory(left_memory);
    }
    return 0;
}
