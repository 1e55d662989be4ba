/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions with counts of 64 bits, except the collectives: messages in all their forms,
 * packing, datatypes and their arguments, operations, and the refusal of counts that are too large.
 */
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
    MPI_Request request;
    MPI_Status status;
    MPI_Op op;
    const MPI_Count beyond = INT64_MAX / 2;
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
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {{"requests", requests},   {"blocking", blocking},
                             {"exchanges", exchanges}, {"packing", packing},
                             {"statuses", statuses},   {"operations", operations},
                             {"errors", errors}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
