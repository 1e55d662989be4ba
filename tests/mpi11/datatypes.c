/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes: the data that they describe, and messages of them. */
#include "pass_on.h"

#include <limits.h>
#include <stddef.h>

static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent, int size) {
    MPI_Aint found_lb, found_extent, lower, upper, length;
    MPI_Count lb_x, extent_x, size_x;
    int found_size;
    MPI_Type_get_extent(type, &found_lb, &found_extent);
    MPI_Type_get_extent_x(type, &lb_x, &extent_x);
    MPI_Type_size(type, &found_size);
    MPI_Type_size_x(type, &size_x);
    MPI_Type_lb(type, &lower);
    MPI_Type_ub(type, &upper);
    MPI_Type_extent(type, &length);
    CHECK(found_lb == lb && found_extent == extent && found_size == size);
    CHECK(lb_x == lb && extent_x == extent && size_x == size);
    CHECK(lower == lb && upper == lb + extent && length == extent);
}

static void check_true(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent) {
    MPI_Aint found_lb, found_extent;
    MPI_Type_get_true_extent(type, &found_lb, &found_extent);
    CHECK(found_lb == lb && found_extent == extent);
}

static void bounds(void) {
    const int lengths[] = {2, 1, 3}, places[] = {4, 0, 10};
    const MPI_Aint bytes[] = {40, 0, -24};
    const int sizes[] = {6, 5}, subsizes[] = {2, 3}, starts[] = {1, 2};
    MPI_Datatype type;
    MPI_Type_contiguous(7, MPI_DOUBLE, &type);
    check_bounds(type, 0, 56, 56);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    check_bounds(type, 0, 48, 24);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 2, -5, MPI_INT, &type);
    check_bounds(type, -40, 48, 24);
    MPI_Type_free(&type);
    MPI_Type_create_hvector(3, 1, 7, MPI_SHORT, &type);
    check_bounds(type, 0, 16, 6);
    MPI_Type_free(&type);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    check_bounds(type, 0, 52, 24);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_DOUBLE, &type);
    check_bounds(type, -24, 80, 48);
    MPI_Type_free(&type);
    MPI_Type_create_indexed_block(3, 2, places, MPI_CHAR, &type);
    check_bounds(type, 0, 12, 6);
    MPI_Type_free(&type);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_CHAR, &type);
    check_bounds(type, -24, 66, 6);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    check_bounds(type, 0, 120, 24);
    check_true(type, (1 * 5 + 2) * 4, (5 + 3) * 4);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    check_bounds(type, 0, 120, 24);
    check_true(type, (2 * 6 + 1) * 4, (2 * 6 + 2) * 4);
    MPI_Type_free(&type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    check_bounds(type, 0, 0, 0);
    MPI_Type_free(&type);
}

/* Structures end where a compiler ends them. */
static void structures(void) {
    struct Record {
        char letter;
        double value;
        short pair[3];
    } records[2];
    int lengths[] = {1, 1, 3}, one = 1;
    MPI_Aint places[] = {offsetof(struct Record, letter), offsetof(struct Record, value),
                         offsetof(struct Record, pair)};
    MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, type, outer;
    MPI_Aint nothing = 3;
    MPI_Type_create_struct(3, lengths, places, types, &type);
    check_bounds(type, 0, sizeof(struct Record), 15);
    CHECK((char*)&records[1] - (char*)&records[0] == (ptrdiff_t)sizeof(struct Record));
    MPI_Type_create_struct(1, &one, &nothing, &type, &outer);
    check_bounds(outer, 3, sizeof(struct Record), 15);
    MPI_Type_free(&outer);
    MPI_Type_free(&type);
}

/* The markers of MPI-1 stick through any constructor, and so does a new size. */
static void markers(void) {
    int lengths[] = {1, 4, 1};
    MPI_Aint places[] = {-3, 0, 6};
    MPI_Datatype types[] = {MPI_LB, MPI_BYTE, MPI_UB}, marked, type, resized;
    MPI_Type_struct(3, lengths, places, types, &marked);
    check_bounds(marked, -3, 9, 4);
    check_true(marked, 0, 4);
    MPI_Type_contiguous(3, marked, &type);
    check_bounds(type, -3, 27, 12);
    check_true(type, 0, 22);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 1, 2, marked, &type);
    check_bounds(type, -3, 45, 12);
    MPI_Type_free(&type);
    MPI_Type_vector(3, 1, -2, marked, &type);
    check_bounds(type, -39, 45, 12);
    MPI_Type_free(&type);
    MPI_Type_create_resized(marked, 2, -5, &resized);
    check_bounds(resized, 2, -5, 4);
    check_true(resized, 0, 4);
    MPI_Type_free(&resized);
    MPI_Type_free(&marked);
    places[0] = 10;
    MPI_Type_struct(1, lengths, places, types, &type);
    check_bounds(type, 10, -10, 0);
    MPI_Type_free(&type);
}

static int drawn = 1;
static int draw(int below) {
    drawn = (int)((drawn * 1103515245u + 12345u) & 0x7fffffff);
    return (drawn >> 8) % below;
}

/* A type of random build; all ranks draw the same. Frees what it is made of. */
static MPI_Datatype draw_type(int depth) {
    static const MPI_Datatype basics[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_DOUBLE_INT};
    MPI_Datatype inner, result = MPI_DATATYPE_NULL;
    MPI_Aint lb, extent, places[4], at = 0;
    int lengths[4], i, count;
    if (depth == 0) {
        MPI_Type_dup(basics[draw(5)], &result);
        return result;
    }
    inner = draw_type(depth - 1);
    MPI_Type_get_extent(inner, &lb, &extent);
    switch (draw(4)) {
        case 0:
            MPI_Type_contiguous(1 + draw(6), inner, &result);
            break;
        case 1: {
            const int length = 1 + draw(3);
            MPI_Type_vector(1 + draw(9), length, length + draw(3), inner, &result);
            break;
        }
        case 2:
            MPI_Type_create_resized(inner, lb, extent + draw(20), &result);
            break;
        default:
            count = 1 + draw(4);
            for (i = 0; i < count; i++) {
                lengths[i] = 1 + draw(3);
                places[i] = at;
                at += lengths[i] * extent + draw(2) * 12;
            }
            MPI_Type_create_hindexed(count, lengths, places, inner, &result);
    }
    MPI_Type_free(&inner);
    return result;
}

static void fill(unsigned char* memory, size_t bytes, int seed) {
    size_t i;
    for (i = 0; i < bytes; i++) memory[i] = (unsigned char)((i * 2654435761u >> 7) + (size_t)seed);
}

/* A message of a random type arrives as its packed bytes, and the bytes as the type. */
static void random_types(void) {
    int round;
    for (round = 0; round < 60; round++) {
        MPI_Datatype type = draw_type(1 + draw(5));
        const int count = 1 + draw(round % 4 == 0 ? 400 : 5), left = (me + ranks - 1) % ranks;
        MPI_Aint lb, extent;
        MPI_Count size;
        unsigned char *out, *in, *packed, *expected;
        size_t memory;
        int bytes, position, found;
        MPI_Status status;
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lb, &extent);
        MPI_Type_size_x(type, &size);
        if (extent > 2000000 / count) {
            MPI_Type_free(&type);
            continue;
        }
        memory = (size_t)extent * (size_t)count;
        bytes = (int)size * count;
        CHECK(lb == 0);
        out = malloc(memory + 1);
        in = malloc(memory + 1);
        packed = malloc((size_t)bytes + 1);
        expected = malloc(memory + 1);

        fill(out, memory, me);
        pass_on(out, count, type, packed, bytes, MPI_BYTE, &status);
        MPI_Get_count(&status, MPI_BYTE, &found);
        CHECK(found == bytes);
        /* The packed message, unpacked over zeros, is the sender's memory with holes. */
        fill(in, memory, left);
        memset(expected, 0, memory);
        position = 0;
        MPI_Unpack(packed, bytes, &position, expected, count, type, MPI_COMM_WORLD);
        CHECK(position == bytes);
        memset(in, 0, memory);
        pass_on(packed, bytes, MPI_BYTE, in, count, type, &status);
        MPI_Get_count(&status, type, &found);
        CHECK(found == count);
        /* Those bytes came from two to the left. */
        fill(out, memory, (me + 2 * ranks - 2) % ranks);
        position = 0;
        MPI_Pack(out, count, type, packed, bytes, &position, MPI_COMM_WORLD);
        CHECK(position == bytes);
        memset(expected, 0, memory);
        position = 0;
        MPI_Unpack(packed, bytes, &position, expected, count, type, MPI_COMM_WORLD);
        CHECK(memcmp(in, expected, memory) == 0);

        /* Scattered at both ends. */
        fill(out, memory, me);
        memset(in, 0, memory);
        memset(expected, 0, memory);
        pass_on(out, count, type, in, count, type, &status);
        fill(out, memory, left);
        position = 0;
        MPI_Pack(out, count, type, packed, bytes, &position, MPI_COMM_WORLD);
        position = 0;
        MPI_Unpack(packed, bytes, &position, expected, count, type, MPI_COMM_WORLD);
        CHECK(memcmp(in, expected, memory) == 0);
        free(out);
        free(in);
        free(packed);
        free(expected);
        MPI_Type_free(&type);
    }
}

static void addresses(void) {
    double values[2] = {me + 0.5, -1};
    int number = me;
    MPI_Aint places[2], more;
    int lengths[] = {1, 1};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT}, type;
    double got[2] = {0, 0};
    MPI_Get_address(&values[0], &places[0]);
    MPI_Address(&number, &places[1]);
    MPI_Get_address(&values[1], &more);
    CHECK(MPI_Aint_diff(more, places[0]) == 8 && MPI_Aint_add(places[0], 8) == more);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    pass_on(MPI_BOTTOM, 1, type, got, 12, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(got[0] == (me + ranks - 1) % ranks + 0.5);
    CHECK(memcmp(&got[1], &(int){(me + ranks - 1) % ranks}, 4) == 0);
    MPI_Type_free(&type);
}

static void contents(void) {
    const int sizes[] = {6, 5}, subsizes[] = {2, 3}, starts[] = {1, 2};
    int lengths[] = {2, 1}, integers[8], ni, na, nd, combiner;
    MPI_Aint places[] = {0, 64}, addresses[2];
    MPI_Datatype vector, type, types[2], got[2];
    MPI_Type_vector(3, 2, 5, MPI_INT, &vector);
    MPI_Type_get_envelope(vector, &ni, &na, &nd, &combiner);
    CHECK(ni == 3 && na == 0 && nd == 1 && combiner == MPI_COMBINER_VECTOR);
    MPI_Type_get_contents(vector, 3, 0, 1, integers, addresses, got);
    CHECK(integers[0] == 3 && integers[1] == 2 && integers[2] == 5 && got[0] == MPI_INT);
    types[0] = vector;
    types[1] = MPI_DOUBLE;
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_free(&vector);
    MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    CHECK(ni == 3 && na == 2 && nd == 2 && combiner == MPI_COMBINER_STRUCT);
    MPI_Type_get_contents(type, 3, 2, 2, integers, addresses, got);
    CHECK(integers[0] == 2 && integers[1] == 2 && integers[2] == 1 && addresses[1] == 64);
    CHECK(got[1] == MPI_DOUBLE);
    check_bounds(got[0], 0, 48, 24);
    MPI_Type_free(&got[0]);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    CHECK(ni == 8 && na == 0 && nd == 1 && combiner == MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(type, 8, 0, 1, integers, addresses, got);
    CHECK(integers[0] == 2 && integers[2] == 5 && integers[4] == 3 && integers[6] == 2);
    CHECK(integers[7] == MPI_ORDER_C);
    MPI_Type_free(&type);
    MPI_Type_get_envelope(MPI_INT, &ni, &na, &nd, &combiner);
    CHECK(ni == 0 && na == 0 && nd == 0 && combiner == MPI_COMBINER_NAMED);
}

static void names(void) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Datatype type;
    MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, &length);
    CHECK(strcmp(name, "MPI_DOUBLE_PRECISION") == 0 && length == 20);
    MPI_Type_dup(MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 0 && name[0] == '\0');
    MPI_Type_set_name(type, "whole numbers");
    MPI_Type_get_name(type, name, &length);
    CHECK(strcmp(name, "whole numbers") == 0 && length == 13);
    MPI_Type_free(&type);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    CHECK(type == MPI_REAL8);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 8, &type);
    CHECK(type == MPI_COMPLEX8);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 2, &type);
    CHECK(type == MPI_REAL2);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 4, &type);
    CHECK(type == MPI_COMPLEX4);
}

static void nothing(void) {
    MPI_Datatype empty, type;
    int lengths[] = {0, 0}, count = -1;
    MPI_Aint places[] = {100, -100};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Status status;
    MPI_Type_create_struct(2, lengths, places, types, &empty);
    check_bounds(empty, 0, 0, 0);
    MPI_Type_vector(100, 3, 4, empty, &type);
    check_bounds(type, 0, 0, 0);
    MPI_Type_commit(&type);
    pass_on(NULL, 10, type, NULL, 10, type, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == 0);
    MPI_Type_free(&type);
    MPI_Type_free(&empty);
}

static void large(void) {
    MPI_Datatype two, huge;
    int size;
    MPI_Count size_x;
    MPI_Type_contiguous(INT_MAX, MPI_DOUBLE, &two);
    MPI_Type_vector(1000, 1, 2, two, &huge);
    MPI_Type_size(huge, &size);
    MPI_Type_size_x(huge, &size_x);
    CHECK(size == MPI_UNDEFINED && size_x == (MPI_Count)INT_MAX * 8000);
    MPI_Type_free(&two);
    MPI_Type_free(&huge);
}

static void errors(void) {
    int lengths[] = {1, -1}, places[] = {0, 1}, position = 0, value = 0;
    MPI_Aint bytes[] = {0, 8};
    MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL}, type, outer, freed;
    char room[8];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_vector(1, -1, 1, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_indexed(2, lengths, places, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_indexed(2, NULL, places, MPI_INT, &type), MPI_ERR_ARG);
    lengths[1] = 1;
    CHECK_CLASS(MPI_Type_create_struct(2, lengths, bytes, types, &type), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_subarray(1, lengths, lengths, lengths, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_ARG);
    type = MPI_INT;
    CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK_CLASS(MPI_Send(room, 1, type, me, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_count(MPI_STATUS_IGNORE, type, &value), MPI_ERR_ARG);
    MPI_Type_commit(&type);
    CHECK_CLASS(MPI_Send(NULL, 1, type, me, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Pack(room, 1, type, room, 7, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    position = 9;
    CHECK_CLASS(MPI_Unpack(room, 8, &position, room, 1, type, MPI_COMM_WORLD), MPI_ERR_ARG);
    freed = type;
    MPI_Type_free(&type);
    CHECK_CLASS(MPI_Type_free(&freed), MPI_ERR_TYPE);
    /* A type that lives on in another is free for the program all the same. */
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    freed = type;
    MPI_Type_contiguous(2, type, &outer);
    MPI_Type_free(&type);
    CHECK_CLASS(MPI_Send(room, 1, freed, me, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&freed), MPI_ERR_TYPE);
    MPI_Type_get_contents(outer, 1, 0, 1, &value, bytes, &type);
    CHECK(type == freed);
    MPI_Type_free(&type);
    MPI_Type_free(&outer);
    CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {
    {"bounds", bounds},       {"structures", structures},
    {"markers", markers},     {"random_types", random_types},
    {"addresses", addresses}, {"contents", contents},
    {"names", names},         {"nothing", nothing},
    {"large", large},         {"errors", errors},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
