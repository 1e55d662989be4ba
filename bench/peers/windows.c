/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses to windows, the same source for each library under comparison.
 *
 *   windows [--seconds S] put:BYTES get:BYTES accumulate:BYTES fetch:8 swap:8 away:BYTES
 *       put_stream:BYTES halo_put:EXTENT halo_messages:EXTENT ...
 *
 * Prints as messages.c does, times in microseconds. put, get, accumulate (a sum of integers of 8
 * bytes), fetch (fetch and add), swap (compare and swap): rank 0 accesses memory of rank 1, or of
 * rank R with BYTES@R, under a lock of all ranks, and flushes. put_stream: a put of a stream of them,
 * with one flush for 16. away: such a put while rank 1 computes and calls nothing. halo:
 * every rank of an EXTENT^3 torus exchanges six faces of 8 KiB, by puts between post and wait, or by
 * messages. Exit code 2: a test that does not exist. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "timing.h"

enum { most_bytes = 4 << 20, face = 8192, faces = 6, stream = 16 };

typedef void (*Access)(void);

static MPI_Win window;
static char* memory;         /* of the window */
static int64_t* here;        /* what is put, or where a get stores */
static int64_t wanted, result;
static int bytes, target;

static void put(void) {
    MPI_Put(here, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window);
}
static void get(void) {
    MPI_Get(here, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window);
}
static void accumulate(void) {
    MPI_Accumulate(here, bytes / 8, MPI_INT64_T, target, 0, bytes / 8, MPI_INT64_T, MPI_SUM,
                   window);
}
static void fetch(void) {
    MPI_Fetch_and_op(here, &result, MPI_INT64_T, target, 0, MPI_SUM, window);
}
static void swap(void) {
    MPI_Compare_and_swap(here, &wanted, &result, MPI_INT64_T, target, 0, window);
}

static const struct {
    const char* name;
    Access access;
} accesses[] = {{"put", put}, {"get", get}, {"accumulate", accumulate}, {"fetch", fetch},
                {"swap", swap}};

static void repeat(void* state, long times) {
    const Access access = *(const Access*)state;
    if (net_rank() != 0) return;
    for (long i = 0; i < times; i++) {
        access();
        MPI_Win_flush(target, window);
    }
}

static void repeat_in_stream(void* state, long times) {
    (void)state;
    if (net_rank() != 0) return;
    for (long i = 0; i < times; i++) {
        put();
        if ((i + 1) % stream == 0 || i + 1 == times) MPI_Win_flush(target, window);
    }
}

/* Every access changes the target as it should. */
static void check(Access access) {
    int64_t seen = 0;
    if (net_rank() == target) memset(memory, 0, (size_t)bytes);
    MPI_Win_sync(window);
    net_barrier();
    if (net_rank() == 0) {
        for (int i = 0; i < bytes / 8; i++) here[i] = 7 + i;
        wanted = 0;
        access();
        MPI_Win_flush(target, window);
        seen = here[0];
    }
    net_barrier();
    MPI_Win_sync(window);
    if (net_rank() == target && access != get) seen = *(int64_t*)memory;
    if ((net_rank() == 0 && access == get && seen != 0) ||
        (net_rank() == target && access != get && seen != 7))
        net_abort("an access had a wrong effect");
    net_barrier();
}

static Timing one(Access access, int streams, double seconds) {
    check(access);
    Timing t = measure(streams ? repeat_in_stream : repeat, &access, seconds);
    return (Timing){1e6 * t.median, 1e6 * t.best};
}

/* The median of some puts, each while the target computes for so long, in seconds. */
static Timing away(double computes) {
    enum { puts = 5 };
    double times[puts];
    for (int i = 0; i < puts; i++) {
        net_barrier();
        const double begin = now();
        if (net_rank() == target)
            while (now() < begin + computes) continue;
        if (net_rank() == 0) {
            while (now() < begin + computes / 10) continue;
            const double start = now();
            put();
            MPI_Win_flush(target, window);
            times[i] = now() - start;
        }
    }
    for (int i = 1; i < puts && net_rank() == 0; i++)
        for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
            const double swapped = times[k];
            times[k] = times[k - 1];
            times[k - 1] = swapped;
        }
    double found[2] = {1e6 * times[puts / 2], 1e6 * times[0]};
    MPI_Bcast(found, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return (Timing){found[0], found[1]};
}

/* ---- halo ---- */

typedef struct {
    int neighbours[faces]; /* the last two dimensions vary fastest */
    MPI_Group group;
    MPI_Win window;
    char *out, *in; /* all faces */
    long round;
} Halo;

static Halo halo;

static void find_neighbours(int extent) {
    for (int k = 0; k < faces; k++) {
        int place[3], rest = net_rank();
        for (int d = 2; d >= 0; d--) {
            place[d] = rest % extent;
            rest /= extent;
        }
        place[k / 2] = (place[k / 2] + (k % 2 == 0 ? 1 : extent - 1)) % extent;
        halo.neighbours[k] = (place[0] * extent + place[1]) * extent + place[2];
    }
}

static void fill(void) {
    halo.round++;
    for (int k = 0; k < faces; k++) *(long*)(halo.out + k * face) = halo.round * 100 + k;
}

/* What the neighbour sent away from it in direction k arrives here from the opposite one. */
static void check_faces(void) {
    for (int k = 0; k < faces; k++)
        if (*(long*)(halo.in + k * face) != halo.round * 100 + k)
            net_abort("a face arrived with wrong contents");
}

static void by_puts(void* state, long times) {
    (void)state;
    for (long i = 0; i < times; i++) {
        fill();
        MPI_Win_post(halo.group, 0, halo.window);
        MPI_Win_start(halo.group, 0, halo.window);
        for (int k = 0; k < faces; k++)
            MPI_Put(halo.out + k * face, face, MPI_BYTE, halo.neighbours[k], (MPI_Aint)k * face,
                    face, MPI_BYTE, halo.window);
        MPI_Win_complete(halo.window);
        MPI_Win_wait(halo.window);
        check_faces();
    }
}

static void by_messages(void* state, long times) {
    MPI_Request requests[2 * faces];
    (void)state;
    for (long i = 0; i < times; i++) {
        fill();
        for (int k = 0; k < faces; k++)
            MPI_Irecv(halo.in + k * face, face, MPI_BYTE, halo.neighbours[k ^ 1], k,
                      MPI_COMM_WORLD, &requests[k]);
        for (int k = 0; k < faces; k++)
            MPI_Isend(halo.out + k * face, face, MPI_BYTE, halo.neighbours[k], k, MPI_COMM_WORLD,
                      &requests[faces + k]);
        MPI_Waitall(2 * faces, requests, MPI_STATUSES_IGNORE);
        check_faces();
    }
}

static Timing halo_time(int extent, int puts, double seconds) {
    MPI_Group all;
    if (extent < 3 || extent * extent * extent != net_size())
        net_abort("halo: the extent does not fit the number of ranks");
    find_neighbours(extent);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, faces, halo.neighbours, &halo.group);
    MPI_Win_allocate(faces * face, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &halo.in, &halo.window);
    if (MPI_Alloc_mem(faces * face, MPI_INFO_NULL, &halo.out) != MPI_SUCCESS)
        net_abort("no memory");
    memset(halo.out, 0, faces * face);
    halo.round = 0;
    Timing t = measure(puts ? by_puts : by_messages, NULL, seconds);
    MPI_Free_mem(halo.out);
    MPI_Win_free(&halo.window);
    MPI_Group_free(&halo.group);
    MPI_Group_free(&all);
    return (Timing){1e6 * t.median, 1e6 * t.best};
}

/* Returns whether there is such a test. */
static int run(const char* test, double seconds, Timing* found) {
    char name[32];
    int number;
    if (sscanf(test, "%31[a-z_]:%d", name, &number) != 2 || number < 1) return 0;
    if (strcmp(name, "halo_put") == 0 || strcmp(name, "halo_messages") == 0) {
        *found = halo_time(number, strcmp(name, "halo_put") == 0, seconds);
        return 1;
    }
    target = 1;
    if (strchr(test, '@') != NULL) target = atoi(strchr(test, '@') + 1);
    if (number % 8 != 0 || number > most_bytes || target < 1 || target >= net_size()) return 0;
    bytes = number;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &here);
    memset(here, 0, (size_t)bytes);
    memset(memory, 0, (size_t)bytes);
    MPI_Win_lock_all(0, window);
    int known = strcmp(name, "away") == 0;
    if (known) *found = away(1.0);
    for (size_t i = 0; i < sizeof accesses / sizeof accesses[0]; i++)
        if (strcmp(name, accesses[i].name) == 0) {
            *found = one(accesses[i].access, 0, seconds);
            known = 1;
        }
    if (strcmp(name, "put_stream") == 0) {
        *found = one(put, 1, seconds);
        known = 1;
    }
    MPI_Win_unlock_all(window);
    MPI_Free_mem(here);
    MPI_Win_free(&window);
    return known;
}

int main(int argc, char** argv) {
    double budget = 0.2; /* seconds a measurement */
    net_start(&argc, &argv);
    if (net_rank() == 0) printf("library %s\n", net_library());
    for (int i = 1; i < argc; i++) {
        Timing t;
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            budget = atof(argv[++i]);
        } else if (run(argv[i], budget, &t)) {
            if (net_rank() == 0) printf("%s %.6g %.6g called\n", argv[i], t.median, t.best);
            fflush(stdout);
        } else {
            if (net_rank() == 0) fprintf(stderr, "windows: unknown test '%s'\n", argv[i]);
            net_barrier();
            exit(2);
        }
    }
    net_end();
    return 0;
}
