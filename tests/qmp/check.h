/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks for test programs that run as several processes: a failed one names the node and the line,
 * and ends the job with exit code 9. */
#ifndef TORUSMP_TESTS_QMP_CHECK_H
#define TORUSMP_TESTS_QMP_CHECK_H

#include <qmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            QMP_abort(9);                                                             \
        }                                                                             \
    } while (0)

/* Runs the case that argv[1] names; every process runs the same. */
struct test_case {
    const char* name;
    void (*run)(void);
};

#endif
