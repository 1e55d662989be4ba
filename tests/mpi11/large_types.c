/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes with counts of 64 bits, and datatypes by precision and range: their data and their
 * arguments. */
#include "cases.h"

#include <limits.h>
#include <stdint.h>

static const MPI_Count huge = (MPI_Count)1 << 40;

static void check_size(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent) {
    MPI_Count found = 0, found_lb = -1, found_extent = 0;
    int narrow = 0;
    CHECK(MPI_Type_size_c(type, &found) == MPI_SUCCESS && found == size);
    CHECK(MPI_Type_size(type, &narrow) == MPI_SUCCESS);
    CHECK(narrow == (size > INT_MAX ? MPI_UNDEFINED : (int)size));
    CHECK(MPI_Type_get_extent_c(type, &found_lb, &found_extent) == MPI_SUCCESS);
    CHECK(found_lb == lb && found_extent == extent);
    CHECK(MPI_Type_get_true_extent_c(type, &found_lb, &found_extent) == MPI_SUCCESS);
    CHECK(found_lb >= lb && found_lb + found_extent <= lb + extent);
}

/* Checks the constructor's arguments: `integers` ints, the counts, and `types` old types. Frees the
 * type. */
static void check_recipe(MPI_Datatype type, int combiner, int integers,
                         const int* expected_integers, int counts, const MPI_Count* expected,
                         int types, const MPI_Datatype* olds) {
    MPI_Count ni = -1, na = -1, nc = -1, nd = -1, found[16];
    int found_combiner = -1, found_integers[4], narrow, k;
    MPI_Aint addresses[1];
    MPI_Datatype found_types[4];
    CHECK(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &found_combiner) == MPI_SUCCESS);
    CHECK(ni == integers && na == 0 && nc == counts && nd == types && found_combiner == combiner);
    CHECK(MPI_Type_get_contents_c(type, ni, na, nc, nd, found_integers, addresses, found,
                                  found_types) == MPI_SUCCESS);
    for (k = 0; k < integers; k++) CHECK(found_integers[k] == expected_integers[k]);
    for (k = 0; k < counts; k++) CHECK(found[k] == expected[k]);
    for (k = 0; k < types; k++) CHECK(found_types[k] == olds[k]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Type_get_contents_c(type, ni, na, nc - 1, nd, found_integers, addresses, found,
                                        found_types),
                MPI_ERR_ARG);
    /* The queries with int fail, although these counts may be small. */
    CHECK_CLASS(MPI_Type_get_envelope(type, &narrow, &narrow, &narrow, &narrow), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents(type, 16, 16, 16, found_integers, addresses, found_types),
                MPI_ERR_TYPE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
}

#define COUNTS(...)                                                                \
    (int)(sizeof((MPI_Count[]){__VA_ARGS__}) / sizeof(MPI_Count)), (MPI_Count[]) { \
        __VA_ARGS__                                                                \
    }

static void datatypes(void) {
    const MPI_Count lengths[] = {huge, 3}, places[] = {2 * huge, 0}, sizes[] = {huge, 7},
                    subsizes[] = {huge - 2, 5}, starts[] = {1, 2};
    const MPI_Datatype ints[] = {MPI_INT}, mixed[] = {MPI_SHORT, MPI_INT};
    const int dims_order[] = {2, MPI_ORDER_C};
    MPI_Datatype type;
    CHECK(MPI_Type_contiguous_c(huge, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 4 * huge, 0, 4 * huge);
    check_recipe(type, MPI_COMBINER_CONTIGUOUS, 0, NULL, COUNTS(huge), 1, ints);

    CHECK(MPI_Type_vector_c(huge, 2, 5, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 8 * huge, 0, 20 * (huge - 1) + 8);
    check_recipe(type, MPI_COMBINER_VECTOR, 0, NULL, COUNTS(huge, 2, 5), 1, ints);

    CHECK(MPI_Type_vector_c(2, 1, -huge, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 8, -4 * huge, 4 * huge + 4);
    check_recipe(type, MPI_COMBINER_VECTOR, 0, NULL, COUNTS(2, 1, -huge), 1, ints);

    CHECK(MPI_Type_create_hvector_c(3, huge, 5 * huge, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 12 * huge, 0, 14 * huge);
    check_recipe(type, MPI_COMBINER_HVECTOR, 0, NULL, COUNTS(3, huge, 5 * huge), 1, ints);

    CHECK(MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 4 * (huge + 3), 0, 12 * huge);
    check_recipe(type, MPI_COMBINER_INDEXED, 0, NULL, COUNTS(2, huge, 3, 2 * huge, 0), 1, ints);

    CHECK(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 4 * (huge + 3), 0, 6 * huge);
    check_recipe(type, MPI_COMBINER_HINDEXED, 0, NULL, COUNTS(2, huge, 3, 2 * huge, 0), 1, ints);

    CHECK(MPI_Type_create_indexed_block_c(2, huge, places, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 8 * huge, 0, 12 * huge);
    check_recipe(type, MPI_COMBINER_INDEXED_BLOCK, 0, NULL, COUNTS(2, huge, 2 * huge, 0), 1, ints);

    CHECK(MPI_Type_create_hindexed_block_c(2, 3, places, MPI_INT, &type) == MPI_SUCCESS);
    check_size(type, 24, 0, 2 * huge + 12);
    check_recipe(type, MPI_COMBINER_HINDEXED_BLOCK, 0, NULL, COUNTS(2, 3, 2 * huge, 0), 1, ints);

    CHECK(MPI_Type_create_struct_c(2, lengths, places, mixed, &type) == MPI_SUCCESS);
    check_size(type, 2 * huge + 12, 0, 4 * huge);
    check_recipe(type, MPI_COMBINER_STRUCT, 0, NULL, COUNTS(2, huge, 3, 2 * huge, 0), 2, mixed);

    CHECK(MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type) ==
          MPI_SUCCESS);
    check_size(type, 4 * 5 * (huge - 2), 0, 4 * 7 * huge);
    check_recipe(type, MPI_COMBINER_SUBARRAY, 2, dims_order, COUNTS(huge, 7, huge - 2, 5, 1, 2), 1,
                 ints);

    CHECK(MPI_Type_create_resized_c(MPI_INT, -huge, 2 * huge, &type) == MPI_SUCCESS);
    check_size(type, 4, -huge, 2 * huge);
    check_recipe(type, MPI_COMBINER_RESIZED, 0, NULL, COUNTS(-huge, 2 * huge), 1, ints);
}

/* Small types made either way are the same in a message, and the wide queries describe both. */
static void narrow_types(void) {
    const int lengths[] = {2, 1}, places[] = {3, 0};
    const MPI_Count wide_lengths[] = {2, 1}, wide_places[] = {3, 0};
    int out[] = {1, 2, 3, 4, 5}, in[5] = {0}, combiner = -1, integers[5];
    MPI_Count ni = -1, na = -1, nc = -1, nd = -1;
    MPI_Aint addresses[1];
    MPI_Datatype narrow, wide, old;
    MPI_Type_indexed(2, lengths, places, MPI_INT, &narrow);
    MPI_Type_indexed_c(2, wide_lengths, wide_places, MPI_INT, &wide);
    MPI_Type_commit(&narrow);
    MPI_Type_commit(&wide);
    MPI_Sendrecv(out, 1, narrow, me, 1, in, 1, wide, me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == 1 && in[1] == 0 && in[2] == 0 && in[3] == 4 && in[4] == 5);
    MPI_Sendrecv_c(out, 1, wide, me, 2, in, 3, MPI_INT, me, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in[0] == 4 && in[1] == 5 && in[2] == 1);
    CHECK(MPI_Type_get_envelope_c(narrow, &ni, &na, &nc, &nd, &combiner) == MPI_SUCCESS);
    CHECK(ni == 5 && na == 0 && nc == 0 && nd == 1 && combiner == MPI_COMBINER_INDEXED);
    CHECK(MPI_Type_get_contents_c(narrow, 5, 0, 0, 1, integers, addresses, NULL, &old) ==
          MPI_SUCCESS);
    CHECK(integers[0] == 2 && integers[1] == 2 && integers[4] == 0 && old == MPI_INT);
    CHECK(MPI_Type_get_envelope_c(MPI_INT, &ni, &na, &nc, &nd, &combiner) == MPI_SUCCESS);
    CHECK(ni == 0 && na == 0 && nc == 0 && nd == 0 && combiner == MPI_COMBINER_NAMED);
    MPI_Type_free(&narrow);
    MPI_Type_free(&wide);
}

static void errors(void) {
    const MPI_Count one = 1, beyond = INT64_MAX / 2;
    MPI_Datatype type, larger;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Type_contiguous_c(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_contiguous_c(beyond, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_vector_c(2, 1, beyond, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_indexed_c(1, &one, &beyond, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_subarray_c(1, &beyond, &one, &one, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_ARG);
    CHECK(MPI_Type_contiguous_c(huge, MPI_INT, &type) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Type_contiguous_c(huge, type, &larger), MPI_ERR_ARG);
    {
        const MPI_Count lengths[] = {INT64_MAX / 5, INT64_MAX / 5}, places[] = {0, 0};
        const MPI_Datatype ints[] = {MPI_INT, MPI_INT};
        CHECK_CLASS(MPI_Type_create_struct_c(2, lengths, places, ints, &larger), MPI_ERR_ARG);
    }
    MPI_Type_free(&type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* By precision and range. */
static void parametrised(void) {
    MPI_Datatype real, again, complex_type, integer, inside, vector;
    MPI_Count ni = -1, na = -1, nc = -1, nd = -1;
    int combiner = -1, integers[2] = {0}, size = 0, length = -1, numbers = 0, zero = -1;
    MPI_Aint addresses[1];
    char name[MPI_MAX_OBJECT_NAME] = "?";
    double in = me, out = -1;
    CHECK(MPI_Type_create_f90_real(10, MPI_UNDEFINED, &real) == MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_real(10, MPI_UNDEFINED, &again) == MPI_SUCCESS && again == real);
    CHECK(MPI_Type_create_f90_complex(10, MPI_UNDEFINED, &complex_type) == MPI_SUCCESS);
    CHECK(MPI_Type_create_f90_integer(12, &integer) == MPI_SUCCESS);
    CHECK(real != complex_type && real != integer && real != MPI_DOUBLE);
    CHECK(MPI_Type_get_envelope(real, &numbers, &zero, &size, &combiner) == MPI_SUCCESS);
    CHECK(numbers == 2 && zero == 0 && size == 0 && combiner == MPI_COMBINER_F90_REAL);
    CHECK(MPI_Type_get_envelope_c(integer, &ni, &na, &nc, &nd, &combiner) == MPI_SUCCESS);
    CHECK(ni == 1 && na == 0 && nc == 0 && nd == 0 && combiner == MPI_COMBINER_F90_INTEGER);
    CHECK(MPI_Type_get_contents(real, 2, 0, 0, integers, addresses, &inside) == MPI_SUCCESS);
    CHECK(integers[0] == 10 && integers[1] == MPI_UNDEFINED);
    CHECK(MPI_Type_size(complex_type, &size) == MPI_SUCCESS && size == 16);
    CHECK(MPI_Type_get_name(real, name, &length) == MPI_SUCCESS && length == 0 && name[0] == 0);
    CHECK(MPI_Allreduce(&in, &out, 1, real, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(out == ranks - 1);
    /* Inside another type it is the same handle, which must not be freed. */
    MPI_Type_vector(2, 1, 2, real, &vector);
    CHECK(MPI_Type_get_contents(vector, 3, 0, 1, (int[3]){0}, addresses, &inside) == MPI_SUCCESS);
    CHECK(inside == real);
    MPI_Type_free(&vector);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Type_free(&again), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &again), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_f90_real(1, 5000, &again), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_f90_integer(100, &again), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {{"datatypes", datatypes},
                             {"narrow_types", narrow_types},
                             {"errors", errors},
                             {"parametrised", parametrised}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
