/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that must end the job with a message: one case per run, by name. */
#include "cases.h"

static void sizes_differ(void) {
    int data[8] = {0};
    MPI_Bcast(data, me == 0 ? 8 : 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void less_than_expected(void) {
    int data[8] = {0};
    MPI_Bcast(data, me == 0 ? 2 : 8, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Under collectives.check. */
static void roots_differ(void) {
    int value = 0;
    MPI_Bcast(&value, 1, MPI_INT, me, MPI_COMM_WORLD);
}

static void wrong_operation(void) {
    double in = 0, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BXOR, MPI_COMM_WORLD);
}

static void same_buffer(void) {
    double both = 0;
    MPI_Allreduce(&both, &both, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Under collectives.check. */
static void operations_differ(void) {
    int in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_INT, me == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
}

/* Rank 0 goes straight to the end. */
static void end_against_barrier(void) {
    if (me != 0) MPI_Barrier(MPI_COMM_WORLD);
}

static void barrier_against_end(void) {
    if (me == 0) MPI_Barrier(MPI_COMM_WORLD);
}

static const Case cases[] = {
    {"sizes_differ", sizes_differ},
    {"less_than_expected", less_than_expected},
    {"roots_differ", roots_differ},
    {"wrong_operation", wrong_operation},
    {"same_buffer", same_buffer},
    {"operations_differ", operations_differ},
    {"end_against_barrier", end_against_barrier},
    {"barrier_against_end", barrier_against_end},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
