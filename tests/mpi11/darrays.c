/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that are distributed over a grid of processes: all parts together are the array, with each
 * element once, and each process has the elements of a plain enumeration, in the order of memory.
 */
#include "cases.h"

enum { most_dims = 4, most_elements = 5000 };

typedef struct {
    int dims, processes, order;
    int sizes[most_dims], distributions[most_dims], arguments[most_dims], grid[most_dims];
} Array;

/* The process of a dimension that has index i: from the definition, one index at a time. */
static int owner(const Array* array, int dim, int i) {
    int block = array->arguments[dim];
    const int n = array->sizes[dim], p = array->grid[dim];
    if (array->distributions[dim] == MPI_DISTRIBUTE_NONE) return 0;
    if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block = array->distributions[dim] == MPI_DISTRIBUTE_CYCLIC ? 1 : (n + p - 1) / p;
    return i / block % p;
}

/* The elements of process `rank`, as their places in memory, ascending. */
static int elements_of(const Array* array, int rank, int* places) {
    int all = 1, found = 0, place, d;
    for (d = 0; d < array->dims; d++) all *= array->sizes[d];
    for (place = 0; place < all; place++) {
        int index[most_dims], left = place, whose = 0;
        for (d = 0; d < array->dims; d++) {
            const int dim = array->order == MPI_ORDER_C ? array->dims - 1 - d : d;
            index[dim] = left % array->sizes[dim];
            left /= array->sizes[dim];
        }
        for (d = 0; d < array->dims; d++)
            whose = whose * array->grid[d] + owner(array, d, index[d]);
        if (whose == rank) places[found++] = place;
    }
    return found;
}

static MPI_Datatype make(const Array* array, int rank, MPI_Datatype element) {
    MPI_Datatype type;
    CHECK(MPI_Type_create_darray(array->processes, rank, array->dims, array->sizes,
                                 array->distributions, array->arguments, array->grid, array->order,
                                 element, &type) == MPI_SUCCESS);
    MPI_Type_commit(&type);
    return type;
}

/* `element` has room for one int, at its lower bound, among gaps. */
static void check_array(const Array* array, MPI_Datatype element) {
    static int places[most_elements], packed[most_elements];
    static unsigned char seen[most_elements];
    MPI_Aint lb, extent, whole_lb, whole;
    unsigned char* memory;
    int all = 1, rank, i, total = 0;
    for (i = 0; i < array->dims; i++) all *= array->sizes[i];
    CHECK(all <= most_elements);
    MPI_Type_get_extent(element, &lb, &extent);
    memory = malloc((size_t)(all * extent));
    for (i = 0; i < all; i++) memcpy(memory + i * extent, &i, sizeof i);
    memset(seen, 0, sizeof seen);
    for (rank = 0; rank < array->processes; rank++) {
        const int count = elements_of(array, rank, places);
        MPI_Datatype type = make(array, rank, element);
        int position = 0, size;
        MPI_Type_get_extent(type, &whole_lb, &whole);
        CHECK(whole_lb == 0 && whole == all * extent);
        MPI_Type_size(type, &size);
        CHECK(size == count * (int)sizeof(int));
        MPI_Pack(memory, 1, type, packed, (int)sizeof packed, &position, MPI_COMM_SELF);
        CHECK(position == size);
        for (i = 0; i < count; i++) {
            CHECK(packed[i] == places[i]);
            CHECK(seen[places[i]]++ == 0);
        }
        total += count;
        MPI_Type_free(&type);
    }
    CHECK(total == all);
    free(memory);
}

static unsigned state;
static int below(int n) {
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 8) % n;
}

static void random_array(Array* array) {
    int d;
    array->dims = 1 + below(most_dims);
    array->order = below(2) != 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    array->processes = 1;
    for (d = 0; d < array->dims; d++) {
        static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                    MPI_DISTRIBUTE_NONE};
        const int kind = kinds[below(3)];
        const int n = 1 + below(array->dims < 3 ? 23 : 8);
        const int p = kind == MPI_DISTRIBUTE_NONE ? 1 : 1 + below(4);
        int argument = MPI_DISTRIBUTE_DFLT_DARG;
        if (below(3) != 0)
            argument = kind == MPI_DISTRIBUTE_BLOCK ? (n + p - 1) / p + below(3) : 1 + below(7);
        array->sizes[d] = n;
        array->grid[d] = p;
        array->distributions[d] = kind;
        array->arguments[d] = argument;
        array->processes *= p;
    }
}

static void tiles(void) {
    MPI_Datatype spaced;
    int round;
    MPI_Type_create_resized(MPI_INT, 0, 12, &spaced);
    state = 2024;
    for (round = 0; round < 400; round++) {
        Array array;
        random_array(&array);
        check_array(&array, round % 3 == 0 ? spaced : MPI_INT);
    }
    MPI_Type_free(&spaced);
}

/* The standard's example (100 x 200 x 300 in two, whole and cyclic) in small. */
static void by_hand(void) {
    const int sizes[] = {4, 6}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 2};
    const int second_c[] = {2, 3, 8, 9}, second_fortran[] = {8, 9, 12, 13};
    int memory[24], packed[24], i, order;
    for (i = 0; i < 24; i++) memory[i] = i;
    for (order = 0; order < 2; order++) {
        MPI_Datatype type;
        int position = 0;
        MPI_Type_create_darray(4, 1, 2, sizes, kinds, arguments, grid,
                               order == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Pack(memory, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
        CHECK(position == 16);
        CHECK(memcmp(packed, order == 0 ? second_c : second_fortran, 16) == 0);
        MPI_Type_free(&type);
    }
}

/* Everybody sends its part of an array to rank 0, which puts it together. */
static void gathered(void) {
    Array array = {2,
                   ranks,
                   MPI_ORDER_FORTRAN,
                   {13, 37},
                   {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC},
                   {MPI_DISTRIBUTE_DFLT_DARG, 3},
                   {1, 1}};
    double mine[13 * 37], whole[13 * 37];
    MPI_Request request;
    MPI_Datatype type;
    int i, rank;
    array.grid[1] = ranks;
    for (i = 0; i < 13 * 37; i++) mine[i] = 1000 * me + i, whole[i] = -1;
    type = make(&array, me, MPI_DOUBLE);
    MPI_Isend(mine, 1, type, 0, 5, MPI_COMM_WORLD, &request);
    MPI_Type_free(&type);
    for (rank = 0; me == 0 && rank < ranks; rank++) {
        type = make(&array, rank, MPI_DOUBLE);
        MPI_Recv(whole, 1, type, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; me == 0 && i < 13 * 37; i++) CHECK(whole[i] == 1000 * (i / 13 / 3 % ranks) + i);
}

static void contents(void) {
    const int sizes[] = {4, 6}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
    const int expected[] = {6,
                            4,
                            2,
                            4,
                            6,
                            MPI_DISTRIBUTE_BLOCK,
                            MPI_DISTRIBUTE_CYCLIC,
                            MPI_DISTRIBUTE_DFLT_DARG,
                            2,
                            2,
                            3,
                            MPI_ORDER_C};
    int integers[12], found_integers, found_addresses, found_types, combiner;
    MPI_Datatype type, inner;
    MPI_Type_create_darray(6, 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_get_envelope(type, &found_integers, &found_addresses, &found_types, &combiner);
    CHECK(combiner == MPI_COMBINER_DARRAY);
    CHECK(found_integers == 12 && found_addresses == 0 && found_types == 1);
    MPI_Type_get_contents(type, 12, 0, 1, integers, NULL, &inner);
    CHECK(memcmp(integers, expected, sizeof expected) == 0 && inner == MPI_DOUBLE);
    MPI_Type_free(&type);
}

/* The form of 64-bit sizes makes the same types, and says in which form they were made. */
static void wide(void) {
    const int sizes[] = {7, 9}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {4, 2}, grid[] = {2, 3};
    const MPI_Count wide_sizes[] = {7, 9}, huge[] = {(MPI_Count)3 << 31};
    const int last[] = {MPI_DISTRIBUTE_BLOCK}, none[] = {MPI_DISTRIBUTE_DFLT_DARG}, two[] = {2};
    int memory[63], packed[2][63], integers[16], rank, i, combiner;
    MPI_Count counts[2], ni, na, nc, nd, lb, extent;
    MPI_Datatype types[2], inner;
    for (i = 0; i < 63; i++) memory[i] = i;
    for (rank = 0; rank < 6; rank++) {
        int positions[] = {0, 0};
        MPI_Type_create_darray(6, rank, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                               &types[0]);
        MPI_Type_create_darray_c(6, rank, 2, wide_sizes, kinds, arguments, grid, MPI_ORDER_C,
                                 MPI_INT, &types[1]);
        for (i = 0; i < 2; i++) {
            MPI_Type_commit(&types[i]);
            MPI_Pack(memory, 1, types[i], packed[i], sizeof packed[i], &positions[i],
                     MPI_COMM_SELF);
        }
        CHECK(positions[0] == positions[1]);
        CHECK(memcmp(packed[0], packed[1], (size_t)positions[0]) == 0);
        MPI_Type_get_envelope_c(types[1], &ni, &na, &nc, &nd, &combiner);
        CHECK(combiner == MPI_COMBINER_DARRAY && ni == 10 && na == 0 && nc == 2 && nd == 1);
        MPI_Type_get_contents_c(types[1], ni, na, nc, nd, integers, NULL, counts, &inner);
        CHECK(counts[0] == 7 && counts[1] == 9 && inner == MPI_INT);
        CHECK(integers[0] == 6 && integers[1] == rank && integers[2] == 2 && integers[9] == 12);
        CHECK(integers[4] == MPI_DISTRIBUTE_CYCLIC && integers[5] == 4 && integers[8] == 3);
        for (i = 0; i < 2; i++) MPI_Type_free(&types[i]);
    }
    MPI_Type_create_darray_c(2, 1, 1, huge, last, none, two, MPI_ORDER_C, MPI_SHORT, &types[0]);
    MPI_Type_get_extent_x(types[0], &lb, &extent);
    CHECK(lb == 0 && extent == huge[0] * 2);
    MPI_Type_get_true_extent_x(types[0], &lb, &extent);
    CHECK(lb == huge[0] && extent == huge[0]);
    MPI_Type_free(&types[0]);
}

static void errors(void) {
    int sizes[] = {8}, kinds[] = {MPI_DISTRIBUTE_BLOCK}, arguments[] = {MPI_DISTRIBUTE_DFLT_DARG};
    int grid[] = {4};
    MPI_Datatype type;
#define MAKE(processes, rank, dims, order, element)                                              \
    MPI_Type_create_darray(processes, rank, dims, sizes, kinds, arguments, grid, order, element, \
                           &type)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MAKE(4, 4, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    CHECK_CLASS(MAKE(4, -1, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    CHECK_CLASS(MAKE(5, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    CHECK_CLASS(MAKE(3, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    CHECK_CLASS(MAKE(4, 0, 0, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    CHECK_CLASS(MAKE(4, 0, 1, 0, MPI_INT), MPI_ERR_ARG);
    CHECK_CLASS(MAKE(4, 0, 1, MPI_ORDER_C, MPI_DATATYPE_NULL), MPI_ERR_TYPE);
    arguments[0] = 1; /* four blocks of 1 do not hold 8 */
    CHECK_CLASS(MAKE(4, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    kinds[0] = MPI_DISTRIBUTE_CYCLIC;
    arguments[0] = 0;
    CHECK_CLASS(MAKE(4, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    kinds[0] = MPI_DISTRIBUTE_NONE;
    CHECK_CLASS(MAKE(4, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    kinds[0] = 1;
    CHECK_CLASS(MAKE(4, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    kinds[0] = MPI_DISTRIBUTE_BLOCK;
    arguments[0] = MPI_DISTRIBUTE_DFLT_DARG;
    sizes[0] = 0;
    CHECK_CLASS(MAKE(4, 0, 1, MPI_ORDER_C, MPI_INT), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
#undef MAKE
}

static const Case cases[] = {
    {"tiles", tiles},       {"by_hand", by_hand}, {"gathered", gathered},
    {"contents", contents}, {"wide", wide},       {"errors", errors},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
