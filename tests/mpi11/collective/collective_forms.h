/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of collectives: calls in all three forms, and buffers with gaps that must
 * stay unchanged. */
#ifndef COLLECTIVE_FORMS_H
#define COLLECTIVE_FORMS_H

#include "cases.h"

enum { BLOCKING, STARTED, PERSISTENT, FORMS };

/* The same programs test the functions of int and, with WIDE, those with counts of 64 bits. */
#ifdef WIDE
typedef MPI_Count Count;
typedef MPI_Aint Displacement;
#define CALLED(Name) MPI_##Name##_c
#define MPI_Barrier_c MPI_Barrier
#define MPI_Ibarrier_c MPI_Ibarrier
#define MPI_Barrier_init_c MPI_Barrier_init
#else
typedef int Count;
typedef int Displacement;
#define CALLED(Name) MPI_##Name
#endif

/* CALL(form, Bcast, Ibcast, arguments...): MPI_Bcast, MPI_Ibcast or MPI_Bcast_init, or those with
 * _c, and all that follows until it is complete. */
#define CALL(form, Name, Iname, ...)                                                          \
    do {                                                                                      \
        MPI_Request request_ = MPI_REQUEST_NULL;                                              \
        if ((form) == BLOCKING) {                                                             \
            CHECK(CALLED(Name)(__VA_ARGS__) == MPI_SUCCESS);                                  \
        } else if ((form) == STARTED) {                                                       \
            CHECK(CALLED(Iname)(__VA_ARGS__, &request_) == MPI_SUCCESS);                      \
            CHECK(request_ != MPI_REQUEST_NULL);                                              \
            CHECK(MPI_Wait(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS);                     \
            CHECK(request_ == MPI_REQUEST_NULL);                                              \
        } else {                                                                              \
            CHECK(CALLED(Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request_) == MPI_SUCCESS); \
            CHECK(MPI_Start(&request_) == MPI_SUCCESS);                                       \
            CHECK(MPI_Wait(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS);                     \
            CHECK(request_ != MPI_REQUEST_NULL);                                              \
            CHECK(MPI_Request_free(&request_) == MPI_SUCCESS);                                \
        }                                                                                     \
    } while (0)

/* Elements of two integers: side by side, or with a gap between them and one behind. */
typedef struct {
    MPI_Datatype type;
    int stride; /* integers from one element to the next */
    int second; /* where the second integer is */
} Elements;

static Elements tight, gappy;

static inline void make_elements(void) {
    MPI_Datatype vector;
    tight.stride = 2;
    tight.second = 1;
    CHECK(MPI_Type_contiguous(2, MPI_INT, &tight.type) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&tight.type) == MPI_SUCCESS);
    gappy.stride = 5;
    gappy.second = 2;
    CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(vector, 0, 5 * (MPI_Aint)sizeof(int), &gappy.type) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_commit(&gappy.type) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&vector) == MPI_SUCCESS);
}

static inline void free_elements(void) {
    CHECK(MPI_Type_free(&tight.type) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&gappy.type) == MPI_SUCCESS);
}

/* The whole of a program of cases that use these elements. */
static inline int run_with_elements(const Case* cases, int count, int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    make_elements();
    run_cases(cases, count, argc, argv);
    free_elements();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
#define RUN_WITH_ELEMENTS(argc, argv, cases) \
    run_with_elements(cases, (int)(sizeof(cases) / sizeof((cases)[0])), argc, argv)

#define UNTOUCHED (-77)

/* Memory for so many elements, all untouched. Never null. */
static inline int* new_elements(const Elements* kind, int count) {
    int i, total = kind->stride * count;
    int* memory = malloc(sizeof(int) * (size_t)(total + 1));
    CHECK(memory != NULL);
    for (i = 0; i <= total; i++) memory[i] = UNTOUCHED;
    return memory;
}

/* Integer k of `count` elements from `first` on becomes seed + k. */
static inline void put_elements(const Elements* kind, int* memory, int first, int count, int seed) {
    int i;
    for (i = 0; i < count; i++) {
        memory[(first + i) * kind->stride] = seed + 2 * i;
        memory[(first + i) * kind->stride + kind->second] = seed + 2 * i + 1;
    }
}

static inline int elements_are(const Elements* kind, const int* memory, int first, int count,
                               int seed) {
    int i, k;
    for (i = 0; i < count; i++) {
        const int* element = memory + (first + i) * kind->stride;
        for (k = 0; k < kind->stride; k++) {
            int expected = UNTOUCHED;
            if (k == 0) expected = seed + 2 * i;
            if (k == kind->second) expected = seed + 2 * i + 1;
            if (element[k] != expected) {
                fprintf(stderr, "element %d, integer %d: found %d, expected %d\n", first + i, k,
                        element[k], expected);
                return 0;
            }
        }
    }
    return 1;
}

static inline int elements_untouched(const Elements* kind, const int* memory, int first,
                                     int count) {
    int k;
    for (k = first * kind->stride; k < (first + count) * kind->stride; k++)
        if (memory[k] != UNTOUCHED) return 0;
    return 1;
}

#endif
