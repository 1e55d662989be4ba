/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of cases: PROGRAM [CASE...] runs the named cases, or all. Each case works on any number
 * of processes unless it says otherwise, and leaves nothing behind that disturbs the next. */
#ifndef CASES_H
#define CASES_H

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the job with the place where something is not as it must be. */
#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            int rank_ = -1;                                                              \
            MPI_Comm_rank(MPI_COMM_WORLD, &rank_);                                       \
            fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, rank_, \
                    #condition);                                                         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                \
        }                                                                                \
    } while (0)

/* The call must fail with that class on a communicator that returns errors. */
#define CHECK_CLASS(call, expected)                                                           \
    do {                                                                                      \
        int class_ = -1;                                                                      \
        MPI_Error_class((call), &class_);                                                     \
        if (class_ != (expected)) {                                                           \
            fprintf(stderr, "%s:%d: error class %d of %s, expected %d\n", __FILE__, __LINE__, \
                    class_, #call, (expected));                                               \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                     \
        }                                                                                     \
    } while (0)

typedef struct {
    const char* name;
    void (*run)(void);
} Case;

static int me, ranks;

/* Between MPI_Init and MPI_Finalize. */
static inline void run_cases(const Case* cases, int count, int argc, char** argv) {
    int i, k;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (k = 1; k < argc; k++) {
        for (i = 0; i < count && strcmp(argv[k], cases[i].name) != 0; i++) {
        }
        if (i == count) {
            fprintf(stderr, "%s: found no case '%s'\n", argv[0], argv[k]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        cases[i].run();
    }
    for (i = 0; argc == 1 && i < count; i++) cases[i].run();
}

#define RUN_CASES(argc, argv, cases) \
    run_cases(cases, (int)(sizeof(cases) / sizeof((cases)[0])), argc, argv)

#endif
