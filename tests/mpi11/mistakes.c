/* SPDX-License-Identifier: BSD-3-Clause */
/* Mistakes of programs, with errors returned: handles that were never valid, buffers that overlap,
 * and the state of the program after a failed call. */
#include "cases.h"

#include <pthread.h>
#include <stdint.h>

/* Values that are no handle: small and large, unaligned, in the program's memory and elsewhere. */
static int at_home[4];
static const char in_text[] = "memory that may not be written";
static void* bogus(int i) {
    switch (i) {
        case 0:
            return (void*)(uintptr_t)0xffe;
        case 1:
            return (void*)(uintptr_t)0x10000;
        case 2:
            return (void*)(uintptr_t)0xdeadbeef0;
        case 3:
            return (void*)(uintptr_t)0x7fffffff0000;
        case 4:
            return (void*)(uintptr_t)-16;
        case 5:
            return (void*)(uintptr_t)0x4142434445464748;
        case 6:
            return at_home;
        case 7:
            return (char*)at_home + 1;
        default:
            return (void*)(uintptr_t)in_text;
    }
}
enum { BOGUS = 9 };

static void bogus_handles(void) {
    int i, n = 0, flag, data = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < BOGUS; i++) {
        MPI_Request request = bogus(i), several[2];
        MPI_Comm comm = bogus(i);
        MPI_Datatype type = bogus(i);
        MPI_Op op = bogus(i);
        MPI_Group group = bogus(i);
        MPI_Info info = bogus(i);
        MPI_Message message = bogus(i);
        CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        MPI_Error_string(MPI_ERR_REQUEST, text, &n);
        CHECK(strstr(text, "MPI_Wait: found 0x") && strstr(text, "not a live request handle"));
        CHECK_CLASS(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
        several[0] = MPI_REQUEST_NULL, several[1] = request;
        CHECK_CLASS(MPI_Waitall(2, several, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Waitany(2, several, &n, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Send(&data, 1, MPI_INT, me, 0, comm), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Comm_rank(comm, &n), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Barrier(comm), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Send(&data, 1, type, me, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, op, MPI_COMM_WORLD), MPI_ERR_OP);
        CHECK_CLASS(MPI_Group_size(group, &n), MPI_ERR_GROUP);
        CHECK_CLASS(MPI_Info_get_nkeys(info, &n), MPI_ERR_INFO);
        CHECK_CLASS(MPI_Mrecv(&data, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, bogus(i)), MPI_ERR_ARG);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void handles_that_were_freed(void) {
    MPI_Comm comm;
    MPI_Datatype type;
    int n;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(2, MPI_INT, &type);
    {
        const MPI_Comm old = comm;
        const MPI_Datatype old_type = type;
        MPI_Comm_free(&comm);
        MPI_Type_free(&type);
        CHECK_CLASS(MPI_Comm_rank(old, &n), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Type_size(old_type, &n), MPI_ERR_TYPE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void names_of_null(void) {
    char name[MPI_MAX_OBJECT_NAME] = "x";
    int length = -1;
    CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == 13);
    CHECK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length) == MPI_SUCCESS);
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == 17);
}

static void* without_errors(void* text) {
    int length;
    MPI_Error_string(MPI_ERR_RANK, text, &length);
    return NULL;
}

static int ends_with(const char* text, const char* end) {
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static char heard[MPI_MAX_ERROR_STRING];
static void listen(MPI_Comm* comm, int* code, ...) {
    int length;
    (void)comm;
    MPI_Error_string(*code, heard, &length);
}

static void error_details(void) {
    char text[MPI_MAX_ERROR_STRING], other[MPI_MAX_ERROR_STRING];
    int data[2] = {0, 0}, length, code, provided;
    pthread_t thread;
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Errhandler handler;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(data, 1, MPI_INT, ranks + 5, 0, MPI_COMM_WORLD);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == (int)strlen(text));
    snprintf(other, sizeof other, "found destination %d, expected 0 to %d or MPI_PROC_NULL",
             ranks + 5, ranks - 1);
    CHECK(strncmp(text, "MPI_ERR_RANK: ", 14) == 0);
    CHECK(strstr(text, ": MPI_Send: ") && ends_with(text, other));
    /* Another class, and another thread, had no error. */
    MPI_Error_string(MPI_ERR_TAG, other, &length);
    CHECK(strcmp(other, "MPI_ERR_TAG: invalid tag") == 0);
    MPI_Query_thread(&provided);
    if (provided == MPI_THREAD_MULTIPLE) {
        CHECK(pthread_create(&thread, NULL, without_errors, other) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(strcmp(other, "MPI_ERR_RANK: invalid rank") == 0);
    }
    /* An error that the program itself reports does not hide it. */
    CHECK(MPI_Comm_create_errhandler(listen, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code) == MPI_SUCCESS);
    CHECK(strcmp(heard, text) == 0);
    /* A handler finds it too. */
    CHECK(MPI_Send(data, 1, MPI_INT, me, -7, MPI_COMM_WORLD) != MPI_SUCCESS);
    CHECK(strstr(heard, "MPI_Send: found tag -7"));
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    /* That a status has the error is one code, the error another. */
    MPI_Irecv(data, 1, MPI_INT, me, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(data, 2, MPI_INT, me, 1, MPI_COMM_WORLD, &request[1]);
    code = MPI_Waitall(2, request, status);
    CHECK(code == MPI_ERR_IN_STATUS && status[0].MPI_ERROR == MPI_ERR_TRUNCATE);
    MPI_Error_string(status[0].MPI_ERROR, text, &length);
    CHECK(strstr(text, "8 bytes") && strstr(text, "room for 4"));
    MPI_Error_string(code, other, &length);
    CHECK(strstr(other, "8 bytes") && strstr(other, "MPI_Waitall"));
    /* Codes and texts that the program has added do not change. */
    CHECK(MPI_Add_error_code(MPI_ERR_OTHER, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "own") == MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "own") == 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Calls that make a communicator and fail. */
static void failed_communicators(void) {
    const int dims[1] = {1 << 20}, periods[1] = {1}, index[1] = {-1}, edges[1] = {0};
    const int no_rank[1] = {1 << 20}, degree[1] = {1};
    MPI_Comm made;
    MPI_Request request;
    MPI_Info no_info = (MPI_Info)at_home;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define FAILS(call)               \
    made = MPI_COMM_SELF;         \
    CHECK((call) != MPI_SUCCESS); \
    CHECK(made == MPI_COMM_NULL)
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made));
    FAILS(MPI_Cart_create(MPI_COMM_NULL, 1, dims, periods, 0, &made));
    FAILS(MPI_Cart_sub(MPI_COMM_WORLD, dims, &made));
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &made));
    FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, no_rank, MPI_UNWEIGHTED, 0, NULL,
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, no_rank, degree, edges, MPI_UNWEIGHTED,
                                MPI_INFO_NULL, 0, &made));
    FAILS(MPI_Comm_dup(MPI_COMM_NULL, &made));
    FAILS(MPI_Comm_dup_with_info(MPI_COMM_WORLD, no_info, &made));
    FAILS(MPI_Comm_idup_with_info(MPI_COMM_WORLD, no_info, &made, &request));
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &made));
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &made));
    FAILS(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &made));
    FAILS(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &made));
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 7, MPI_COMM_WORLD, 0, 0, &made));
    FAILS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made));
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* All ranks make the mistake and all get the error, so that the next call is one call of all. */
static void one_buffer_for_two(void) {
    int data[3] = {1, 1, 1}, number = me, sum = 0, round;
    MPI_Request request;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (round = 0; round < 3; round++) {
        CHECK_CLASS(MPI_Exscan(data, data, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Iexscan(data, data, 3, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Scan(data, data, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Allreduce(data, data, 3, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
        CHECK(MPI_Exscan(&number, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
        CHECK(me == 0 || sum == me * (me - 1) / 2);
    }
    MPI_Comm_free(&comm);
}

/* Three bytes for a receive of types of 16: they arrive, nothing else is written, and they are no
 * number of elements. */
static void parts_of_elements(void) {
    const int lengths[2] = {1, 2};
    const MPI_Aint places[2] = {0, 8};
    const MPI_Datatype members[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype types[3];
    int i, k;
    types[0] = MPI_C_DOUBLE_COMPLEX;
    MPI_Type_contiguous(4, MPI_INT, &types[1]);
    MPI_Type_create_struct(2, lengths, places, members, &types[2]);
    for (i = 0; i < 3; i++) {
        char in[32];
        int count = -1, elements = -1, bytes = -1;
        MPI_Request request;
        MPI_Status status;
        if (i > 0) MPI_Type_commit(&types[i]);
        memset(in, '.', sizeof in);
        MPI_Isend("abc", 3, MPI_CHAR, me, 2, MPI_COMM_WORLD, &request);
        CHECK(MPI_Recv(in, 2, types[i], me, 2, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(memcmp(in, "abc", 3) == 0);
        for (k = 3; k < 32; k++) CHECK(in[k] == '.');
        CHECK(MPI_Get_count(&status, types[i], &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
        CHECK(MPI_Get_elements(&status, types[i], &elements) == MPI_SUCCESS);
        CHECK(elements == MPI_UNDEFINED);
        CHECK(MPI_Get_count(&status, MPI_CHAR, &bytes) == MPI_SUCCESS && bytes == 3);
        if (i > 0) MPI_Type_free(&types[i]);
    }
}

/* A message that ends inside an element of scattered memory is of another type, which is an error.
 * One of whole elements is correct. */
static void parts_of_scattered_elements(void) {
    MPI_Datatype type;
    int form, bytes;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (form = 0; form < 4; form++)
        for (bytes = 0; bytes <= 16; bytes++) {
            int in[8], none = 0, code = MPI_SUCCESS, count = -1, elements = -1, k;
            const int whole = bytes % 4 == 0;
            MPI_Request request[2];
            MPI_Message message;
            MPI_Status status;
            memset(in, -1, sizeof in);
            if (form != 2)
                MPI_Isend("abcdefghijklmnop", bytes, MPI_CHAR, me, 2, MPI_COMM_WORLD, &request[0]);
            if (form == 0) {
                code = MPI_Recv(in, 1, type, me, 2, MPI_COMM_WORLD, &status);
            } else if (form == 1) {
                MPI_Irecv(in, 1, type, me, 2, MPI_COMM_WORLD, &request[1]);
                code = MPI_Wait(&request[1], &status);
            } else if (form == 2) {
                code = MPI_Sendrecv("abcdefghijklmnop", bytes, MPI_CHAR, me, 2, in, 1, type, me, 2,
                                    MPI_COMM_WORLD, &status);
            } else {
                MPI_Mprobe(me, 2, MPI_COMM_WORLD, &message, &status);
                code = MPI_Mrecv(in, 1, type, &message, &status);
            }
            if (form != 2) MPI_Wait(&request[0], MPI_STATUS_IGNORE);
            CHECK_CLASS(code, whole ? MPI_SUCCESS : MPI_ERR_TYPE);
            for (k = 0; k < bytes / 4; k++)
                CHECK(memcmp(&in[2 * k], "abcdefghijklmnop" + 4 * k, 4) == 0);
            for (k = 1; k < 8; k += 2) CHECK(in[k] == -1);
            CHECK(MPI_Get_count(&status, type, &count) == MPI_SUCCESS);
            CHECK(count == (bytes == 0 ? 0 : bytes == 16 ? 1 : MPI_UNDEFINED));
            CHECK(MPI_Get_elements(&status, type, &elements) == MPI_SUCCESS);
            CHECK(elements == (whole ? bytes / 4 : MPI_UNDEFINED));
            if (!whole) {
                char text[MPI_MAX_ERROR_STRING];
                MPI_Error_string(code, text, &none);
                CHECK(strstr(text, "end inside a basic element"));
            }
        }
    MPI_Type_free(&type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Rank `wrong` gives its block for itself another size than the room for it. Where each rank needs
 * its blocks the call fails on all, otherwise on that rank; the next call is one call of all. */
enum { GATHER, SCATTER, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, OPERATIONS, MOST = 64 };
static int own_block_call(int operation, int wrong, int sent, int room, int count, int blocking,
                          MPI_Comm comm) {
    int* const out = calloc((size_t)(ranks * (count + sent)), sizeof(int));
    int* const in = calloc((size_t)(ranks * (count + room)), sizeof(int));
    int out_counts[MOST], in_counts[MOST], out_at[MOST], in_at[MOST], i, code;
    const int odd = me == wrong, s = odd ? sent : count, r = odd ? room : count;
    MPI_Request request = MPI_REQUEST_NULL;
    for (i = 0; i < ranks; i++) {
        out_counts[i] = odd && i == me ? sent : count;
        in_counts[i] = odd && i == me ? room : count;
        out_at[i] = i * (count + sent);
        in_at[i] = i * (count + room);
    }
#define CALL(name, iname, ...) \
    blocking ? name(__VA_ARGS__, comm) : iname(__VA_ARGS__, comm, &request)
    code =
        operation == GATHER
            ? CALL(MPI_Gatherv, MPI_Igatherv, out, s, MPI_INT, in, in_counts, in_at, MPI_INT, wrong)
        : operation == SCATTER ? CALL(MPI_Scatterv, MPI_Iscatterv, out, out_counts, out_at, MPI_INT,
                                      in, r, MPI_INT, wrong)
        : operation == ALLGATHER
            ? CALL(MPI_Allgather, MPI_Iallgather, out, s, MPI_INT, in, odd ? room : count, MPI_INT)
        : operation == ALLGATHERV
            ? CALL(MPI_Allgatherv, MPI_Iallgatherv, out, s, MPI_INT, in, in_counts, in_at, MPI_INT)
        : operation == ALLTOALL ? CALL(MPI_Alltoall, MPI_Ialltoall, out, s, MPI_INT, in, r, MPI_INT)
                                : CALL(MPI_Alltoallv, MPI_Ialltoallv, out, out_counts, out_at,
                                       MPI_INT, in, in_counts, in_at, MPI_INT);
#undef CALL
    if (code == MPI_SUCCESS && !blocking) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    return code;
}

static void own_blocks(void) {
    static const int counts[3] = {10, 3000, 60000};
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm comm;
    int operation, i, wrong, blocking, longer, length;
    if (ranks > MOST) return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (operation = 0; operation < OPERATIONS; operation++)
        for (i = 0; i < 3; i++)
            for (wrong = 0; wrong<ranks; wrong += ranks> 1 ? ranks - 1 : 1)
                for (blocking = 0; blocking < 2; blocking++)
                    for (longer = 0; longer < 2; longer++) {
                        const int of_all = operation != GATHER;
                        const int sent = counts[i] + (longer ? 7 : 0);
                        const int room = counts[i] + (longer ? 0 : 7);
                        const int code =
                            own_block_call(operation, wrong, sent, room, counts[i], blocking, comm);
                        int sum = 0;
                        CHECK_CLASS(code, of_all || me == wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
                        if (me == wrong) {
                            MPI_Error_string(code, text, &length);
                            CHECK(strstr(text, of_all ? "to itself" : "does not fit"));
                        }
                        CHECK(MPI_Allreduce(&(int){me + 1}, &sum, 1, MPI_INT, MPI_SUM, comm) ==
                              MPI_SUCCESS);
                        CHECK(sum == ranks * (ranks + 1) / 2);
                        CHECK(own_block_call(operation, wrong, counts[i], counts[i], counts[i],
                                             blocking, comm) == MPI_SUCCESS);
                    }
    MPI_Comm_free(&comm);
}

static const Case cases[] = {
    {"bogus_handles", bogus_handles},
    {"handles_that_were_freed", handles_that_were_freed},
    {"names_of_null", names_of_null},
    {"error_details", error_details},
    {"failed_communicators", failed_communicators},
    {"one_buffer_for_two", one_buffer_for_two},
    {"parts_of_elements", parts_of_elements},
    {"parts_of_scattered_elements", parts_of_scattered_elements},
    {"own_blocks", own_blocks},
};

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
