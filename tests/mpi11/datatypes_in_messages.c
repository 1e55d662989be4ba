/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and packed data with derived datatypes, in cases. */
#include "pass_on.h"

/* The six faces of an array with a halo, inner faces to outer ones. */
static void faces(void) {
    enum { side = 66 };
    static double array[side][side][side];
    const int sizes[] = {side, side, side};
    int dim, up, i, j, k;
    for (dim = 0; dim < 3; dim++) {
        for (up = 0; up < 2; up++) {
            int subsizes[] = {64, 64, 64}, from[] = {1, 1, 1}, to[] = {1, 1, 1};
            MPI_Datatype inner, outer;
            subsizes[dim] = 1;
            from[dim] = up ? 64 : 1;
            to[dim] = up ? 0 : 65;
            for (i = 0; i < side; i++)
                for (j = 0; j < side; j++)
                    for (k = 0; k < side; k++)
                        array[i][j][k] = me * 1000000.0 + (i * side + j) * side + k;
            MPI_Type_create_subarray(3, sizes, subsizes, from, MPI_ORDER_C, MPI_DOUBLE, &inner);
            MPI_Type_create_subarray(3, sizes, subsizes, to, MPI_ORDER_C, MPI_DOUBLE, &outer);
            MPI_Type_commit(&inner);
            MPI_Type_commit(&outer);
            pass_on(array, 1, inner, array, 1, outer, MPI_STATUS_IGNORE);
            for (i = 0; i < side; i++)
                for (j = 0; j < side; j++)
                    for (k = 0; k < side; k++) {
                        const int at[] = {i, j, k};
                        const int left = (me + ranks - 1) % ranks;
                        int d, in_face = at[dim] == to[dim], source[3];
                        for (d = 0; d < 3; d++) {
                            in_face = in_face && (d == dim || (at[d] >= 1 && at[d] <= 64));
                            source[d] = d == dim ? from[d] : at[d];
                        }
                        CHECK(array[i][j][k] ==
                              (in_face ? left * 1000000.0 + (source[0] * side + source[1]) * side +
                                             source[2]
                                       : me * 1000000.0 + (i * side + j) * side + k));
                    }
            MPI_Type_free(&inner);
            MPI_Type_free(&outer);
        }
    }
}

/* A receive of many elements gets part of one. */
static void partial_receives(void) {
    struct {
        int number;
        char text[40];
    } in[3];
    int lengths[] = {1, 40}, count, elements, bytes;
    MPI_Aint places[] = {0, 4};
    MPI_Datatype types[] = {MPI_INT, MPI_CHAR}, type;
    char out[132] = "partial";
    MPI_Status status;
    MPI_Count many;
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    for (bytes = 0; bytes <= 132; bytes++) {
        const int rest = bytes % 44;
        pass_on(out, bytes, MPI_BYTE, in, 3, type, &status);
        MPI_Get_count(&status, type, &count);
        MPI_Get_elements(&status, type, &elements);
        MPI_Get_elements_x(&status, type, &many);
        CHECK(count == (rest == 0 ? bytes / 44 : MPI_UNDEFINED));
        if (rest == 0 || rest >= 4)
            CHECK(elements == bytes / 44 * 41 + (rest == 0 ? 0 : rest - 3));
        else
            CHECK(elements == MPI_UNDEFINED);
        CHECK(many == elements);
    }
    MPI_Status_set_elements(&status, type, 45);
    MPI_Get_elements(&status, type, &elements);
    CHECK(elements == 45);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == 44 + 4 + 3);
    MPI_Get_elements(&status, MPI_DOUBLE_INT, &elements);
    CHECK(elements == MPI_UNDEFINED);
    MPI_Type_free(&type);
}

/* A type may go before the message that it describes. */
static void freed_early(void) {
    const int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks, count = 20000;
    int *out = malloc(sizeof(int) * 2 * (size_t)count),
        *in = calloc(2 * (size_t)count, sizeof(int));
    MPI_Request requests[2];
    MPI_Datatype type, part;
    int i;
    for (i = 0; i < 2 * count; i++) out[i] = me + i;
    MPI_Type_vector(1, 1, 1, MPI_INT, &part);
    MPI_Type_vector(count, 1, 2, part, &type);
    MPI_Type_free(&part);
    MPI_Type_commit(&type);
    MPI_Irecv(in, 1, type, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, type, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&type);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 2 * count; i++) CHECK(in[i] == (i % 2 == 0 ? left + i : 0));
    free(out);
    free(in);
}

static void packing(void) {
    char buffer[200];
    int position = 0, size, number = me, i;
    double values[4] = {me, 0.25, 2, 3}, got[2];
    MPI_Datatype ends;
    MPI_Status status;
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &ends);
    MPI_Type_commit(&ends);
    MPI_Pack_size(1, ends, MPI_COMM_WORLD, &size);
    CHECK(size >= 16);
    MPI_Pack(&number, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(values, 1, ends, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    CHECK(position == 20);
    pass_on(buffer, position, MPI_PACKED, buffer + 100, 100, MPI_PACKED, &status);
    MPI_Get_count(&status, MPI_PACKED, &size);
    CHECK(size == 20);
    position = 0;
    MPI_Unpack(buffer + 100, size, &position, &i, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(buffer + 100, size, &position, got, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(i == (me + ranks - 1) % ranks && got[0] == i && got[1] == 3 && position == 20);
    MPI_Type_free(&ends);
}

static const Case cases[] = {
    {"faces", faces},
    {"partial_receives", partial_receives},
    {"freed_early", freed_early},
    {"packing", packing},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
