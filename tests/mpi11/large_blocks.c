/* SPDX-License-Identifier: BSD-3-Clause */
/* Large blocks of malloc() and its relatives, which may lie in memory that the ranks of the host
 * share: for the program they are like any other memory, and messages between them arrive.
 *
 * "shared" or "separate" as the first argument: where large blocks must lie. */
#define _GNU_SOURCE
#include "cases.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 300000 };

/* Whether the block lies in the memory of a segment. */
static int lies_in_segment(const void* block) {
    char line[512];
    int found = 0;
    FILE* const maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && (uintptr_t)block >= begin &&
            (uintptr_t)block < end)
            found = 1 + (strstr(line, "/memfd:torusmp") != NULL);
    }
    fclose(maps);
    CHECK(found != 0);
    return found - 1;
}

static int all_are(const unsigned char* block, size_t bytes, int value) {
    size_t i;
    for (i = 0; i < bytes && block[i] == value; i++) {
    }
    return i == bytes;
}

static void blocks_have_what_they_promise(void) {
    unsigned char* a = malloc(LARGE);
    unsigned char* b;
    unsigned char* small;
    void* aligned = NULL;
    volatile size_t too_many = SIZE_MAX / 2; /* not known to the compiler, which would warn */
    int i;
    CHECK(a != NULL && (uintptr_t)a % 16 == 0 && malloc_usable_size(a) >= LARGE);
    memset(a, 1, LARGE);
    a = realloc(a, 10 * LARGE);
    CHECK(a != NULL && all_are(a, LARGE, 1));
    memset(a, 2, 10 * LARGE);
    b = malloc(LARGE);
    memset(b, 3, LARGE);
    a = realloc(a, 30 * LARGE);
    CHECK(a != NULL && all_are(a, 10 * LARGE, 2));
    a = realloc(a, 100);
    CHECK(a != NULL && all_are(a, 100, 2) && all_are(b, LARGE, 3));
    free(a);
    CHECK(realloc(b, 0) == NULL);
    small = malloc(1000);
    memset(small, 4, 1000);
    small = realloc(small, LARGE);
    CHECK(small != NULL && all_are(small, 1000, 4));
    small = reallocarray(small, 2, LARGE);
    CHECK(small != NULL && all_are(small, 1000, 4));
    free(small);
    for (i = 0; i < 3; i++) {
        a = malloc(LARGE << i);
        memset(a, 5, (size_t)LARGE << i);
        free(a);
        a = calloc(LARGE, (size_t)1 << i);
        CHECK(a != NULL && all_are(a, (size_t)LARGE << i, 0));
        free(a);
    }
    CHECK(calloc(too_many, 3) == NULL && errno == ENOMEM);
    CHECK(malloc(too_many) == NULL && errno == ENOMEM);
    CHECK(posix_memalign(&aligned, 65536, LARGE) == 0 && (uintptr_t)aligned % 65536 == 0);
    free(aligned);
    CHECK(posix_memalign(&aligned, 24, LARGE) == EINVAL);
    aligned = aligned_alloc(4096, 81920);
    CHECK(aligned != NULL && (uintptr_t)aligned % 4096 == 0);
    errno = 17;
    free(aligned);
    CHECK(errno == 17);
    aligned = memalign(256, LARGE);
    CHECK(aligned != NULL && (uintptr_t)aligned % 256 == 0);
    free(aligned);
    free(NULL);
}

/* Blocks are passed on by halves and wholes, between ranks and by functions of the C library. */
static void messages_arrive(void) {
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    int bytes;
    for (bytes = 20000; bytes < 6000000; bytes *= 3) {
        unsigned char* const out = malloc(bytes);
        unsigned char* const in = malloc(bytes);
        int round;
        for (round = 0; round < 4; round++) {
            memset(out, me + round + 1, bytes);
            MPI_Sendrecv(out, bytes, MPI_BYTE, next, 1, in, bytes, MPI_BYTE, before, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(all_are(in, bytes, (before + round + 1) & 255));
        }
        MPI_Allreduce(MPI_IN_PLACE, out, bytes / 4, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
        free(out);
        free(in);
    }
}

static void the_c_library_frees_and_resizes_them(void) {
    char* line = malloc(LARGE);
    size_t room = LARGE;
    FILE* const text = tmpfile();
    int i;
    CHECK(text != NULL);
    for (i = 0; i < 2 * LARGE; i++) putc('x', text);
    putc('\n', text);
    rewind(text);
    CHECK(getline(&line, &room, text) == 2 * LARGE + 1 && room > 2 * LARGE);
    CHECK(line[0] == 'x' && line[2 * LARGE - 1] == 'x' && line[2 * LARGE] == '\n');
    free(line);
    fclose(text);
}

/* A child has blocks of its own, as after any fork. */
static void children_have_their_own(void) {
    unsigned char* const block = malloc(LARGE);
    int status = -1;
    pid_t child;
    memset(block, 6, LARGE);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        unsigned char* const own = calloc(1, LARGE);
        const int right = all_are(block, LARGE, 6) && all_are(own, LARGE, 0);
        memset(block, 7, LARGE);
        memset(own, 8, LARGE);
        _exit(right ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    {
        unsigned char* const next = malloc(LARGE);
        memset(next, 9, LARGE);
        CHECK(all_are(block, LARGE, 6));
        free(next);
    }
    free(block);
}

static void* allocate_and_free(void* seed) {
    unsigned state = *(unsigned*)seed;
    unsigned char* held[8] = {0};
    size_t bytes[8] = {0};
    int i;
    for (i = 0; i < 3000; i++) {
        const unsigned which = (state = state * 1664525 + 1013904223) >> 29;
        if (held[which] != NULL) CHECK(all_are(held[which], bytes[which], (int)which + 1));
        free(held[which]);
        bytes[which] = 1000 + (state >> 8) % 60000;
        held[which] = malloc(bytes[which]);
        memset(held[which], (int)which + 1, bytes[which]);
    }
    for (i = 0; i < 8; i++) free(held[i]);
    return NULL;
}

static void threads_allocate_side_by_side(void) {
    pthread_t threads[3];
    unsigned seeds[3] = {1, 2, 3};
    int i;
    for (i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, allocate_and_free, &seeds[i]) == 0);
    for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

static const Case cases[] = {
    {"blocks_have_what_they_promise", blocks_have_what_they_promise},
    {"messages_arrive", messages_arrive},
    {"the_c_library_frees_and_resizes_them", the_c_library_frees_and_resizes_them},
    {"children_have_their_own", children_have_their_own},
    {"threads_allocate_side_by_side", threads_allocate_side_by_side},
};

int main(int argc, char** argv) {
    unsigned char* const early = malloc(LARGE);
    unsigned char* late;
    int shared;
    memset(early, 1, LARGE);
    if (argc < 2) return 2;
    MPI_Init(&argc, &argv);
    late = malloc(LARGE);
    memset(late, 2, LARGE);
    shared = strcmp(argv[1], "shared") == 0;
    CHECK(lies_in_segment(late) == shared);
    argv[1] = argv[0];
    RUN_CASES(argc - 1, argv + 1, cases);
    MPI_Finalize();
    if (!all_are(early, LARGE, 1) || !all_are(late, LARGE, 2)) return 1;
    late = realloc(late, 2 * LARGE);
    if (late == NULL || !all_are(late, LARGE, 2)) return 1;
    free(early);
    free(late);
    late = calloc(1, LARGE);
    if (late == NULL || !all_are(late, LARGE, 0)) return 1;
    free(late);
    return 0;
}
