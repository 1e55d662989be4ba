/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heat on a plate that wraps around, with checkpoints in the memory of the next rank: a program
 * that goes on when processes die, with new processes in their places.
 *
 *   torus-run --keep-going -np 4 diskless_heat ROWS COLUMNS STEPS EVERY [SEED DEATHS]
 *
 * Every EVERY steps each rank keeps a copy of its rows, and one of those of the rank before it.
 * When a process dies, the others put a new one in its place (torusmp_replace), which gets its rows
 * from the rank behind it, and all go on from the last checkpoint that all have. The bits of the
 * result depend on neither the deaths nor the number of ranks. If two ranks side by side die
 * between two checkpoints, both copies of the first one are lost, and the job ends. Rank 0 prints a
 * sum over the bits of the result.
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

static MPI_Comm all = MPI_COMM_NULL;
static int rank, ranks;
static long rows, columns, steps, every; /* of the whole plate */
static long own;                         /* rows of this rank */
static double *now, *next; /* own + 2 rows: a row of each neighbour around the own ones */
/* A checkpoint has the own rows and those of the rank before. Two, so that a death while one is
 * made leaves the other. */
struct checkpoint {
    long step; /* -1: none */
    double *mine, *before;
} kept[2];

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

/* ---- checkpoints ---- */

static size_t bytes_of_rows(void) {
    return (size_t)(own * columns) * sizeof(double);
}

/* Ends what all ranks have done since the last call: each calls it once, whether it has failed or
 * not, so that all agree at the same place. Returns 1 if no rank has failed or died, else 0; the
 * same on all ranks. */
static int keep(long step, int code) {
    struct checkpoint* const to = kept[0].step < kept[1].step ? &kept[0] : &kept[1];
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    int agreed;
    if (code == MPI_SUCCESS) {
        to->step = -1;
        memcpy(to->mine, row(now, 0), bytes_of_rows());
        code = MPI_Sendrecv(to->mine, (int)(own * columns), MPI_DOUBLE, up, 3, to->before,
                            (int)(own * columns), MPI_DOUBLE, down, 3, all, MPI_STATUS_IGNORE);
    }
    agreed = code == MPI_SUCCESS;
    if (!agreed) MPIX_Comm_revoke(all); /* others may wait for this rank */
    code = MPI_Comm_agree(all, &agreed);
    if (agreed) to->step = step;
    return agreed && code == MPI_SUCCESS;
}

static void swap_kept(struct checkpoint* a, struct checkpoint* b) {
    const struct checkpoint c = *a;
    *a = *b;
    *b = c;
}

/* Gives every rank the last checkpoint that all survivors have. Called after all have died or
 * lived. */
static int restore(int fresh, long* step) {
    const int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    const int count = (int)(own * columns);
    int neighbours[2] = {0, 0}, code;
    long mine = fresh ? steps + 1 : kept[0].step > kept[1].step ? kept[0].step : kept[1].step;
    if ((code = MPI_Allreduce(&mine, step, 1, MPI_LONG, MPI_MIN, all)) != MPI_SUCCESS) return code;
    if (*step > steps) { /* there is none yet */
        *step = 0;
        begin();
        return MPI_SUCCESS;
    }
    if (!fresh && kept[0].step != *step) swap_kept(&kept[0], &kept[1]);
    /* Whether the ranks on both sides are new: below, above. */
    MPI_Sendrecv(&fresh, 1, MPI_INT, up, 4, &neighbours[0], 1, MPI_INT, down, 4, all,
                 MPI_STATUS_IGNORE);
    code = MPI_Sendrecv(&fresh, 1, MPI_INT, down, 5, &neighbours[1], 1, MPI_INT, up, 5, all,
                        MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    if (fresh && neighbours[1]) give_up("the rows and their copy are lost");
    if (fresh) code = MPI_Recv(kept[0].mine, count, MPI_DOUBLE, up, 6, all, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !fresh && neighbours[0])
        code = MPI_Send(kept[0].before, count, MPI_DOUBLE, down, 6, all);
    if (code != MPI_SUCCESS) return code;
    kept[0].step = *step;
    kept[1].step = -1;
    memcpy(row(now, 0), kept[0].mine, bytes_of_rows());
    return MPI_SUCCESS;
}

/* ---- deaths ---- */

/* Where the n-th death happens: evenly over the steps, with some chance. */
static int dies_here(long step, int seed, int deaths, long after) {
    for (int n = 0; n < deaths; ++n) {
        unsigned state = (unsigned)(seed * 7919 + n * 104729) * 2654435761u;
        state = state * 1664525u + 1013904223u;
        const long at = steps * n / deaths + (long)(state >> 8) % (steps / deaths);
        state = state * 1664525u + 1013904223u;
        if (at == step && (int)((state >> 8) % (unsigned)ranks) == rank && at > after) return 1;
    }
    return 0;
}

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
    for (int i = 0; i < 2; ++i) {
        kept[i].step = -1;
        kept[i].mine = malloc(bytes_of_rows());
        kept[i].before = malloc(bytes_of_rows());
    }
    begin();

    long step = 0, spared = -1; /* a new process does not die where the last one did */
    uint64_t sum = 0;
    int restores = fresh, done = 0;
    while (1) {
        int code = MPI_SUCCESS;
        if (restores) {
            code = restore(kept[0].step < 0 && kept[1].step < 0, &step);
            if (fresh) spared = step + every;
            fresh = 0;
        } else if (step == steps) {
            code = sum_of_bits(&sum);
            done = 1;
        } else {
            do {
                if (deaths > 0 && dies_here(step, seed, deaths, spared)) raise(SIGKILL);
                if ((code = exchange()) != MPI_SUCCESS) break;
                take_step();
            } while (++step % every != 0 && step < steps);
        }
        restores = !keep(step, code);
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
