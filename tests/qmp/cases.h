/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the cases of the program `cases`: the process's rank and position, and its usual
 * messages. */
#ifndef TORUSMP_TESTS_QMP_CASES_H
#define TORUSMP_TESTS_QMP_CASES_H

#include "check.h"

/* Known before the first case runs. */
extern int me, nodes;
extern int next_node, previous_node;

/* Each ends with a case without a name. */
extern const struct test_case grid_cases[], message_cases[], collective_cases[];

QMP_msghandle_t send_block(void* memory, size_t bytes, int node);
QMP_msghandle_t receive_block(void* memory, size_t bytes, int node);
QMP_msghandle_t relative(int is_send, void* memory, size_t bytes, int axis, int dir);
/* Receive first, then send, then wait for both. */
void exchange(QMP_msghandle_t receive, QMP_msghandle_t send);
/* The longest and most even grid of all nodes in ndim dimensions, first dimension largest. */
void grid_of_nodes(int dims[], int ndim);

#endif
