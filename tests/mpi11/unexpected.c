/* SPDX-License-Identifier: BSD-3-Clause */
/* Unexpected messages: their memory is bounded, and all of them arrive. */
#include "cases.h"

enum { FLOOD = 11, OTHER = 12, LIMIT = 64 << 10 /* KiB: the default of transport.unexpected */ };
/* Seconds: what floods a rank has come by then; and it has come if the memory, once it is half
 * full, does not grow for a while. */
static const double patience = 3, a_while = 0.3;

/* Of /proc/self/status, in KiB. */
static long memory_field(const char* name) {
    FILE* const file = fopen("/proc/self/status", "r");
    char line[256];
    long found = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name) + 1);
    if (file != NULL) fclose(file);
    CHECK(found >= 0);
    return found;
}

/* Rank 0 polls for something else while all others send it so many MiB each. */
static void flood(int bytes, int mebibytes) {
    const long count = ((long)mebibytes << 20) / bytes;
    long before, i;
    int* const word = calloc(1, (size_t)bytes);
    if (ranks < 2) return;
    MPI_Barrier(MPI_COMM_WORLD);
    before = memory_field("RssAnon:");
    if (me != 0) {
        for (i = 0; i < count; i++) {
            word[0] = (int)i;
            word[bytes / (int)sizeof(int) - 1] = (int)i + me;
            MPI_Send(word, bytes, MPI_BYTE, 0, FLOOD, MPI_COMM_WORLD);
        }
    } else {
        const double begun = MPI_Wtime();
        double grown = begun;
        long held = before;
        /* The limit plus messages under way when sources get the request to wait, plus some heap.
         */
        const long most = before + LIMIT + (ranks - 1) * 4096L + 16384;
        int there = 0, from;
        while (MPI_Wtime() - begun < patience &&
               (held < before + LIMIT / 2 || MPI_Wtime() - grown < a_while)) {
            const long now = memory_field("RssAnon:");
            if (now > held) grown = MPI_Wtime(), held = now;
            CHECK(now < most);
            for (i = 0; i < 1000; i++) {
                MPI_Iprobe(1, OTHER, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
                CHECK(!there);
            }
        }
        for (from = 1; from < ranks; from++)
            for (i = 0; i < count; i++) {
                MPI_Recv(word, bytes, MPI_BYTE, from, FLOOD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(word[0] == (bytes == sizeof(int) ? (int)i + from : (int)i));
                CHECK(word[bytes / (int)sizeof(int) - 1] == (int)i + from);
            }
        CHECK(memory_field("RssAnon:") < before + LIMIT / 2);
    }
    free(word);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void pages(void) { flood(4096, 256); }
static void words(void) { flood(sizeof(int), 8); }
static void long_messages(void) { flood(16000, 256); }

/* More requests at a time than a rank may name to others. */
static void crowd(void) {
    enum { COUNT = 600000, BATCH = 2000 };
    MPI_Request* const requests = malloc(COUNT * sizeof *requests);
    static int values[BATCH];
    int i, k;
    if (me == 1) {
        for (i = 0; i < COUNT; i++)
            MPI_Isend(&me, 1, MPI_INT, 0, FLOOD, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(&me, 1, MPI_INT, 0, OTHER, MPI_COMM_WORLD);
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    } else if (me == 0 && ranks > 1) {
        /* The last one first. */
        MPI_Recv(values, 1, MPI_INT, 1, OTHER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(values[0] == 1);
        for (i = 0; i < COUNT; i += BATCH) {
            memset(values, 0, sizeof values);
            for (k = 0; k < BATCH; k++)
                MPI_Irecv(&values[k], 1, MPI_INT, k % 2 == 0 ? 1 : MPI_ANY_SOURCE, FLOOD,
                          MPI_COMM_WORLD, &requests[k]);
            MPI_Waitall(BATCH, requests, MPI_STATUSES_IGNORE);
            for (k = 0; k < BATCH; k++) CHECK(values[k] == 1);
        }
    }
    free(requests);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const Case cases[] = {
    {"pages", pages}, {"words", words}, {"long_messages", long_messages}, {"crowd", crowd}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
