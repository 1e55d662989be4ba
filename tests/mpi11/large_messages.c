/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of more than 2^32 bytes. Their buffers are large only in addresses: one small file,
 * mapped many times, with separate memory at the end. The length of the file does not divide a
 * power of two, so bytes written to a truncated address of 32 bits corrupt the data. */
#define _GNU_SOURCE
#include "cases.h"

#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 65536 };
static const size_t period = (size_t)PAGE * 257; /* 16 MiB and some */
static const size_t tail = (size_t)1 << 20;
static const MPI_Count bytes = ((MPI_Count)1 << 32) + (1 << 20) + 12345;

static void* map(void* at, size_t length, int file) {
    const int flags = at != NULL ? MAP_FIXED : 0;
    void* const memory =
        mmap(at, length, PROT_READ | PROT_WRITE,
             flags | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), file, 0);
    if (memory == MAP_FAILED) {
        perror("large_messages: no room for its buffer");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* The buffer: `bytes` of it, of which the last 1 MiB and more are memory of their own. */
static unsigned char* buffer;
static size_t repeated;

static void make_buffer(void) {
    const size_t whole = ((size_t)bytes + PAGE - 1) / PAGE * PAGE;
    const int file = memfd_create("large_messages", 0);
    size_t at;
    CHECK(file >= 0 && ftruncate(file, (off_t)period) == 0);
    buffer = map(NULL, whole, -1);
    repeated = whole - tail - PAGE;
    for (at = 0; at < repeated; at += period)
        map(buffer + at, at + period <= repeated ? period : repeated - at, file);
    close(file);
}

static unsigned char value(size_t i, unsigned seed) {
    const uint64_t mixed = (i + seed) * 0x9e3779b97f4a7c15u;
    return (unsigned char)(mixed >> 56);
}

static void put(unsigned seed) {
    size_t i;
    for (i = 0; i < period; i++) buffer[i] = value(i, seed);
    for (i = repeated; i < (size_t)bytes; i++) buffer[i] = value(i, seed);
}

static void check(unsigned seed) {
    size_t i;
    for (i = 0; i < period; i++) CHECK(buffer[i] == value(i, seed));
    for (i = repeated; i < (size_t)bytes; i++) CHECK(buffer[i] == value(i, seed));
}

static void check_status(const MPI_Status* status) {
    int count = 0;
    MPI_Count wide = 0;
    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
    CHECK(MPI_Get_elements(status, MPI_BYTE, &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
    CHECK(MPI_Get_count_c(status, MPI_BYTE, &wide) == MPI_SUCCESS && wide == bytes);
    CHECK(MPI_Get_elements_c(status, MPI_BYTE, &wide) == MPI_SUCCESS && wide == bytes);
}

/* Each rank to the next, the last keeps it. */
static void messages(void) {
    MPI_Status status;
    put(me == 0 ? 1 : 0);
    if (me > 0) {
        CHECK(MPI_Recv_c(buffer, bytes, MPI_BYTE, me - 1, 7, MPI_COMM_WORLD, &status) ==
              MPI_SUCCESS);
        check_status(&status);
        check(1);
    }
    if (me + 1 < ranks)
        CHECK(MPI_Send_c(buffer, bytes, MPI_BYTE, me + 1, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* The same with a type that is large, and a count that is not. */
static void large_type(void) {
    MPI_Datatype type;
    MPI_Status status;
    int count = 0;
    MPI_Type_contiguous_c(bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    put(me == 0 ? 2 : 0);
    if (me > 0) {
        CHECK(MPI_Recv(buffer, 1, type, me - 1, 8, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_count(&status, type, &count) == MPI_SUCCESS && count == 1);
        check_status(&status);
        check(2);
    }
    if (me + 1 < ranks) CHECK(MPI_Send(buffer, 1, type, me + 1, 8, MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Type_free(&type);
}

static void broadcast(void) {
    put(me == ranks - 1 ? 3 : 0);
    CHECK(MPI_Bcast_c(buffer, bytes, MPI_BYTE, ranks - 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    check(3);
}

/* A receive that is a little too small. */
static void truncation(void) {
    MPI_Status status;
    MPI_Request request;
    if (ranks < 2 || me > 1) return;
    put(4);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (me == 0) {
        CHECK(MPI_Send_c(buffer, bytes, MPI_BYTE, 1, 9, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        /* What 32 bits would make of the length fits. */
        CHECK(MPI_Irecv(buffer, INT_MAX, MPI_BYTE, 0, 9, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {{"messages", messages},
                             {"large_type", large_type},
                             {"broadcast", broadcast},
                             {"truncation", truncation}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    make_buffer();
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
