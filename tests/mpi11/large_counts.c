/* The functions with counts of 64 bits, but for the collectives: messages in all their forms,
 * packing, datatypes and what is told of them, operations, and how counts that are too large are
 * refused. */
#include "cases.h"

#include <limits.h>
#include <stdint.h>

enum { N = 3000 };
static const MPI_Count huge = (MPI_Count)1 << 40;

static void put(int* data, int from) {
    int i;
    for (i = 0; i < N; i++) data[i] = 100000 * from + i;
}

static void check_data(const int* data, int from) {
    int i;
    for (i = 0; i < N; i++) CHECK(data[i] == 100000 * from + i);
}

static void check_received(const MPI_Status* status, int from) {
    MPI_Count count = -1;
    CHECK(status->MPI_SOURCE == from);
    CHECK(MPI_Get_count_c(status, MPI_INT, &count) == MPI_SUCCESS && count == N);
    CHECK(MPI_Get_elements_c(status, MPI_INT, &count) == MPI_SUCCESS && count == N);
    CHECK(MPI_Get_count_c(status, MPI_DOUBLE, &count) == MPI_SUCCESS && count == N / 2);
}

static int right(void) {
    return (me + 1) % ranks;
}
static int left(void) {
    return (me + ranks - 1) % ranks;
}

/* Every kind of send around the ring, met by every kind of receive. */
typedef int (*Start)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static const Start starts[] = {MPI_Isend_c,      MPI_Ibsend_c,     MPI_Issend_c, MPI_Send_init_c,
                               MPI_Bsend_init_c, MPI_Ssend_init_c, MPI_Irsend_c, MPI_Rsend_init_c};
enum { PERSISTENT_FROM = 3, READY_FROM = 6 };

static void requests(void) {
    static char attached[4 * N * sizeof(int) + 4 * MPI_BSEND_OVERHEAD];
    int out[N], in[N], k;
    void* detached = NULL;
    MPI_Count size = 0;
    CHECK(MPI_Buffer_attach_c(attached, (MPI_Count)sizeof attached) == MPI_SUCCESS);
    for (k = 0; k < (int)(sizeof starts / sizeof starts[0]); k++) {
        const int persistent = (k >= PERSISTENT_FROM && k < READY_FROM) || k == READY_FROM + 1;
        MPI_Request send, receive;
        MPI_Status status;
        put(out, me);
        memset(in, -1, sizeof in);
        CHECK((persistent ? MPI_Recv_init_c : MPI_Irecv_c)(
                  in, N, MPI_INT, left(), k, MPI_COMM_WORLD, &receive) == MPI_SUCCESS);
        if (persistent) CHECK(MPI_Start(&receive) == MPI_SUCCESS);
        if (k >= READY_FROM) MPI_Barrier(MPI_COMM_WORLD);
        CHECK(starts[k](out, N, MPI_INT, right(), k, MPI_COMM_WORLD, &send) == MPI_SUCCESS);
        if (persistent) CHECK(MPI_Start(&send) == MPI_SUCCESS);
        CHECK(MPI_Wait(&receive, &status) == MPI_SUCCESS);
        CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        check_received(&status, left());
        check_data(in, left());
        if (persistent) {
            MPI_Request_free(&receive);
            MPI_Request_free(&send);
        }
    }
    CHECK(MPI_Buffer_detach_c(&detached, &size) == MPI_SUCCESS);
    CHECK(detached == attached && size == (MPI_Count)sizeof attached);
}

typedef int (*Send)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
static const Send sends[] = {MPI_Send_c, MPI_Ssend_c, MPI_Bsend_c, MPI_Rsend_c};

static void blocking(void) {
    static char attached[N * sizeof(int) + MPI_BSEND_OVERHEAD];
    int out[N], in[N], k;
    void* detached;
    int size = 0;
    MPI_Buffer_attach(attached, (int)sizeof attached);
    for (k = 0; k < 4; k++) {
        MPI_Request receive;
        MPI_Status status;
        put(out, me);
        MPI_Irecv_c(in, N, MPI_INT, left(), k, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(sends[k](out, N, MPI_INT, right(), k, MPI_COMM_WORLD) == MPI_SUCCESS);
        MPI_Wait(&receive, &status);
        check_received(&status, left());
        check_data(in, left());
    }
    MPI_Buffer_detach(&detached, &size);
    CHECK(size == (int)sizeof attached);
    for (k = 0; k < 2; k++) { /* with a probe that takes the message, and without */
        MPI_Request send;
        MPI_Status status;
        memset(in, -1, sizeof in);
        MPI_Isend_c(out, N, MPI_INT, right(), 9, MPI_COMM_WORLD, &send);
        if (k == 0) {
            CHECK(MPI_Recv_c(in, N + 5, MPI_INT, left(), 9, MPI_COMM_WORLD, &status) ==
                  MPI_SUCCESS);
        } else {
            MPI_Message message;
            MPI_Mprobe(left(), 9, MPI_COMM_WORLD, &message, &status);
            check_received(&status, left());
            CHECK(MPI_Mrecv_c(in, N, MPI_INT, &message, &status) == MPI_SUCCESS);
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        check_received(&status, left());
        check_data(in, left());
    }
    {
        MPI_Request both[2];
        MPI_Status status[2];
        MPI_Message message;
        memset(in, -1, sizeof in);
        MPI_Isend_c(out, N, MPI_INT, right(), 10, MPI_COMM_WORLD, &both[0]);
        MPI_Mprobe(left(), 10, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        CHECK(MPI_Imrecv_c(in, N, MPI_INT, &message, &both[1]) == MPI_SUCCESS);
        MPI_Waitall(2, both, status);
        check_received(&status[1], left());
        check_data(in, left());
    }
}

static void exchanges(void) {
    int out[N], in[N];
    MPI_Status status;
    MPI_Request request;
    put(out, me);
    memset(in, -1, sizeof in);
    CHECK(MPI_Sendrecv_c(out, N, MPI_INT, right(), 1, in, N, MPI_INT, left(), 1, MPI_COMM_WORLD,
                         &status) == MPI_SUCCESS);
    check_received(&status, left());
    check_data(in, left());
    memset(in, -1, sizeof in);
    CHECK(MPI_Isendrecv_c(out, N, MPI_INT, right(), 2, in, N, MPI_INT, left(), 2, MPI_COMM_WORLD,
                          &request) == MPI_SUCCESS);
    MPI_Wait(&request, &status);
    check_received(&status, left());
    check_data(in, left());
    CHECK(MPI_Sendrecv_replace_c(out, N, MPI_INT, right(), 3, left(), 3, MPI_COMM_WORLD, &status) ==
          MPI_SUCCESS);
    check_received(&status, left());
    check_data(out, left());
    CHECK(MPI_Isendrecv_replace_c(out, N, MPI_INT, left(), 4, right(), 4, MPI_COMM_WORLD,
                                  &request) == MPI_SUCCESS);
    MPI_Wait(&request, &status);
    check_received(&status, right());
    check_data(out, me);
}

static void packing(void) {
    int out[N], in[N];
    static char packed[N * sizeof(int) + 100];
    MPI_Count at = 0, size = 0;
    int narrow = 0;
    MPI_Datatype type;
    put(out, 1);
    CHECK(MPI_Pack_size_c(N, MPI_INT, MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size >= N * (MPI_Count)sizeof(int) && size <= (MPI_Count)sizeof packed);
    CHECK(MPI_Pack_c(out, N / 2, MPI_INT, packed, (MPI_Count)sizeof packed, &at, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Pack_c(out + N / 2, N - N / 2, MPI_INT, packed, (MPI_Count)sizeof packed, &at,
                     MPI_COMM_WORLD) == MPI_SUCCESS);
    size = at;
    at = 0;
    CHECK(MPI_Unpack_c(packed, size, &at, in, N, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(at == size);
    check_data(in, 1);
    CHECK(MPI_Pack_size_c(huge, MPI_DOUBLE, MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size >= 8 * huge);
    CHECK(MPI_Pack_size(INT_MAX, MPI_DOUBLE, MPI_COMM_WORLD, &narrow) == MPI_SUCCESS);
    CHECK(narrow == MPI_UNDEFINED);
    MPI_Type_contiguous_c(huge, MPI_DOUBLE, &type);
    CHECK(MPI_Pack_size_c(huge, type, MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(size == MPI_UNDEFINED); /* beyond 64 bits */
    MPI_Type_free(&type);
}

static void statuses(void) {
    MPI_Status status;
    MPI_Count wide = 0;
    int narrow = 0;
    MPI_Datatype type;
    memset(&status, 0, sizeof status);
    CHECK(MPI_Status_set_elements_c(&status, MPI_INT, huge) == MPI_SUCCESS);
    CHECK(MPI_Get_count_c(&status, MPI_INT, &wide) == MPI_SUCCESS && wide == huge);
    CHECK(MPI_Get_elements_c(&status, MPI_SHORT, &wide) == MPI_SUCCESS && wide == 2 * huge);
    CHECK(MPI_Get_elements_x(&status, MPI_INT, &wide) == MPI_SUCCESS && wide == huge);
    CHECK(MPI_Get_count(&status, MPI_INT, &narrow) == MPI_SUCCESS && narrow == MPI_UNDEFINED);
    CHECK(MPI_Get_elements(&status, MPI_INT, &narrow) == MPI_SUCCESS && narrow == MPI_UNDEFINED);
    MPI_Type_contiguous_c(huge / 4, MPI_INT, &type);
    CHECK(MPI_Get_count(&status, type, &narrow) == MPI_SUCCESS && narrow == 4);
    CHECK(MPI_Get_count_c(&status, type, &wide) == MPI_SUCCESS && wide == 4);
    MPI_Type_free(&type);
    CHECK(MPI_Status_set_elements_c(&status, MPI_CHAR, 7) == MPI_SUCCESS);
    CHECK(MPI_Get_count_c(&status, MPI_INT, &wide) == MPI_SUCCESS && wide == MPI_UNDEFINED);
    CHECK(MPI_Status_set_elements_c(&status, MPI_CHAR, INT_MAX) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_CHAR, &narrow) == MPI_SUCCESS && narrow == INT_MAX);
}

/* ---- datatypes ---- */

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

/* What the constructor was given: `integers` ints, the counts, and `types` of old. Ends the type.
 */
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
    /* int cannot tell of it, though these counts may be small. */
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

/* Small types made either way are the same in a message, and the wide queries tell of both. */
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

/* ---- operations ---- */

static MPI_Count longest;

static void subtract(void* in, void* inout, MPI_Count* len, MPI_Datatype* type) {
    MPI_Count i;
    CHECK(*type == MPI_INT);
    if (*len > longest) longest = *len;
    for (i = 0; i < *len; i++) ((int*)inout)[i] = ((int*)in)[i] - ((int*)inout)[i];
}

static void operations(void) {
    int a[N], b[N], i;
    MPI_Op op;
    int commutes = -1;
    CHECK(MPI_Op_create_c(subtract, 0, &op) == MPI_SUCCESS);
    CHECK(MPI_Op_commutative(op, &commutes) == MPI_SUCCESS && commutes == 0);
    put(a, 3);
    put(b, 1);
    longest = 0;
    CHECK(MPI_Reduce_local_c(a, b, N, MPI_INT, op) == MPI_SUCCESS);
    for (i = 0; i < N; i++) CHECK(b[i] == 200000);
    CHECK(longest == N);
    put(a, me);
    CHECK(MPI_Allreduce(a, b, N, MPI_INT, op, MPI_COMM_SELF) == MPI_SUCCESS);
    check_data(b, me);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL);
}

/* ---- what is refused ---- */

static void errors(void) {
    const MPI_Count bad[64] = {-1}, none[64] = {0};
    MPI_Aint at[64] = {0};
    int data[4] = {0}, other[4] = {0};
    MPI_Count position = 5;
    MPI_Datatype type, larger;
    MPI_Request request;
    MPI_Status status;
    MPI_Op op;
    const MPI_Count one = 1, beyond = INT64_MAX / 2;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Send_c(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send_c(NULL, huge, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Send_c(data, beyond, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Irecv_c(data, beyond, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast_c(data, beyond, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgatherv_c(data, 0, MPI_INT, other, bad, at, MPI_INT, MPI_COMM_WORLD),
                MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgatherv_c(data, 0, MPI_INT, other, none, NULL, MPI_INT, MPI_COMM_WORLD),
                MPI_ERR_ARG);
    if (ranks > 1) { /* each for itself could be */
        MPI_Count counts[64];
        int i;
        for (i = 0; i < ranks; i++) counts[i] = INT64_MAX / ranks + 1;
        CHECK_CLASS(MPI_Allgather_c(data, 0, MPI_BYTE, other, counts[0], MPI_BYTE, MPI_COMM_WORLD),
                    MPI_ERR_COUNT);
        CHECK_CLASS(
            MPI_Allgatherv_c(data, 0, MPI_BYTE, other, counts, at, MPI_BYTE, MPI_COMM_WORLD),
            MPI_ERR_COUNT);
        CHECK_CLASS(MPI_Reduce_scatter_c(data, other, counts, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD),
                    MPI_ERR_COUNT);
        CHECK_CLASS(
            MPI_Reduce_scatter_block_c(data, other, counts[0], MPI_BYTE, MPI_BOR, MPI_COMM_WORLD),
            MPI_ERR_COUNT);
    }
    CHECK_CLASS(MPI_Status_set_elements_c(&status, MPI_DOUBLE, beyond), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Reduce_local_c(data, other, -3, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Op_create_c(NULL, 1, &op), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Buffer_attach_c(data, -1), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_c(data, 1, MPI_INT, other, 4, &position, MPI_COMM_WORLD), MPI_ERR_ARG);
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

/* ---- made by precision and range ---- */

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
    /* Inside of another type it is the same handle, which is nobody's to free. */
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

static const Case cases[] = {
    {"requests", requests},         {"blocking", blocking},     {"exchanges", exchanges},
    {"packing", packing},           {"statuses", statuses},     {"datatypes", datatypes},
    {"narrow_types", narrow_types}, {"operations", operations}, {"errors", errors},
    {"parametrised", parametrised}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
