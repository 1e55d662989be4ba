/* What the cases of the program `cases` share: who and where the process is, and its usual
 * messages. */
#ifndef TORUSMP_TESTS_QMP_CASES_H
#define TORUSMP_TESTS_QMP_CASES_H

#include "check.h"

/* Known before the first case runs. */
extern int me, nodes;
extern int next_node, previous_node;

/* Each ends with a case without a name. */
extern const struct test_case grid_cases[], message_cases[], collective_cases[];

static inline QMP_msghandle_t send_block(void* memory, size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = QMP_declare_send_to(m, node, 0);
    CHECK(m != NULL && h != NULL);
    QMP_free_msgmem(m); /* may go before the handle is used */
    return h;
}

static inline QMP_msghandle_t receive_block(void* memory, size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = QMP_declare_receive_from(m, node, 0);
    CHECK(m != NULL && h != NULL);
    QMP_free_msgmem(m);
    return h;
}

static inline QMP_msghandle_t relative(int is_send, void* memory, size_t bytes, int axis, int dir) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = is_send ? QMP_declare_send_relative(m, axis, dir, 0)
                                : QMP_declare_receive_relative(m, axis, dir, 0);
    CHECK(h != NULL);
    QMP_free_msgmem(m);
    return h;
}

/* Receive first, then send, then wait for both. */
static inline void exchange(QMP_msghandle_t receive, QMP_msghandle_t send) {
    CHECK(QMP_start(receive) == QMP_SUCCESS);
    CHECK(QMP_start(send) == QMP_SUCCESS);
    CHECK(QMP_wait(receive) == QMP_SUCCESS);
    CHECK(QMP_wait(send) == QMP_SUCCESS);
}

/* The longest and most even grid of all nodes in ndim dimensions, first dimension largest. */
static inline void grid_of_nodes(int dims[], int ndim) {
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

#endif
