/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heat on a plate that wraps around, with checkpoints in the memory of the next rank: a program
 * that goes on when processes die, with new processes in their places.
 *
 *   torus-run --keep-going -np 4 diskless_heat ROWS COLUMNS STEPS EVERY [SEED DEATHS]
 *
 * Every EVERY steps the ranks make a checkpoint (checkpoint.h). When a process dies, the others put
 * a new one in its place (torusmp_replace). The bits of the result depend on neither the deaths nor
 * the number of ranks. Rank 0 prints a sum over them.
 *
 * With SEED and DEATHS, that many processes kill themselves, one after the other, at steps and on
 * ranks that SEED decides.
 */
#include <math.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

static MPI_Comm all = MPI_COMM_NULL;
static int rank, ranks;
static long rows, columns, steps, every; /* of the whole plate */
static long own;                         /* rows of this rank */
static double *now, *next; /* own + 2 rows: a row of each neighbour around the own ones */
static struct checkpoints kept;

static double* row(double* field, long i) {
    return field + (i + 1) * columns;
}

static void give_up(const char* why) {
    fprintf(stderr, "diskless_heat: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void take(MPI_Comm comm) {
    all = comm;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
}

/* ---- the plate ---- */

static void begin(void) {
    for (long i = 0; i < own; ++i)
        for (long j = 0; j < columns; ++j)
            row(now, i)[j] = sin(0.37 * (double)((rank * own + i) * columns + j));
}

static int exchange(void) {
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    int code = MPI_Sendrecv(row(now, own - 1), (int)columns, MPI_DOUBLE, up, 1, row(now, -1),
                            (int)columns, MPI_DOUBLE, down, 1, all, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    return MPI_Sendrecv(row(now, 0), (int)columns, MPI_DOUBLE, down, 2, row(now, own), (int)columns,
                        MPI_DOUBLE, up, 2, all, MPI_STATUS_IGNORE);
}

static void take_step(void) {
    for (long i = 0; i < own; ++i) {
        const double *above = row(now, i - 1), *here = row(now, i), *below = row(now, i + 1);
        double* to = row(next, i);
        for (long j = 0; j < columns; ++j) {
            const double left = here[j == 0 ? columns - 1 : j - 1];
            const double right = here[j == columns - 1 ? 0 : j + 1];
            to[j] = here[j] + 0.1 * ((above[j] + below[j]) + (left + right) - 4 * here[j]);
        }
    }
    double* const before = now;
    now = next;
    next = before;
}

/* ---- the program ---- */

/* Of the result; it depends on the place of each bit, and not on the ranks. */
static int sum_of_bits(uint64_t* sum) {
    uint64_t bits = 0;
    for (long i = 0; i < own * columns; ++i) {
        uint64_t word;
        memcpy(&word, row(now, 0) + i, sizeof word);
        bits += word * (uint64_t)(2 * (rank * own * columns + i) + 1);
    }
    return MPI_Allreduce(&bits, sum, 1, MPI_UINT64_T, MPI_SUM, all);
}

int main(int argc, char** argv) {
    MPI_Comm parent, whole;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    int fresh = parent != MPI_COMM_NULL;
    if (fresh)
        torusmp_replace(MPI_COMM_NULL, NULL, NULL, MPI_INFO_NULL, &whole);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &whole);
    take(whole);
    if (argc != 5 && argc != 7) give_up("expected ROWS COLUMNS STEPS EVERY [SEED DEATHS]");
    rows = atol(argv[1]), columns = atol(argv[2]), steps = atol(argv[3]), every = atol(argv[4]);
    const int seed = argc == 7 ? atoi(argv[5]) : 0, deaths = argc == 7 ? atoi(argv[6]) : 0;
    if (rows < ranks || rows % ranks != 0 || columns < 1 || steps < 1 || every < 1 ||
        deaths > steps)
        give_up("ROWS must be a multiple of the ranks, and all numbers 1 or more");
    own = rows / ranks;
    now = calloc((size_t)((own + 2) * columns), sizeof(double));
    next = calloc((size_t)((own + 2) * columns), sizeof(double));
    checkpoints_begin(&kept, (rank + 1) % ranks, (rank + ranks - 1) % ranks,
                      (size_t)(own * columns) * sizeof(double));
    begin();

    long step = 0, spared = -1; /* a new process does not die where the last one did */
    uint64_t sum = 0;
    int restores = fresh, done = 0;
    while (1) {
        int code = MPI_SUCCESS;
        if (restores) {
            code = checkpoints_restore(&kept, all, &step, row(now, 0));
            if (code == MPI_SUCCESS && step < 0) {
                step = 0;
                begin();
            }
            if (fresh) spared = step + every;
            fresh = 0;
        } else if (step == steps) {
            code = sum_of_bits(&sum);
            done = 1;
        } else {
            do {
                if (deaths > 0 && step > spared &&
                    dies_here(step, steps, seed, deaths, rank, ranks))
                    raise(SIGKILL);
                if ((code = exchange()) != MPI_SUCCESS) break;
                take_step();
            } while (++step % every != 0 && step < steps);
        }
        restores = !checkpoints_keep(&kept, all, step, code, row(now, 0));
        if (!restores && done) break;
        done = 0;
        if (!restores) continue;
        if (torusmp_replace(all, argv[0], argv + 1, MPI_INFO_NULL, &whole) != MPI_SUCCESS)
            give_up("cannot replace the dead");
        MPI_Comm_free(&all);
        take(whole);
    }
    if (rank == 0) printf("result %016llx after %ld steps\n", (unsigned long long)sum, steps);
    MPI_Comm_free(&all);
    MPI_Finalize();
    return 0;
}
