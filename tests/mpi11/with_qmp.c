/* SPDX-License-Identifier: BSD-3-Clause */
/* QMP and MPI in one program, on one Runtime: with_qmp qmp|mpi|hidden FIRST_TO_END, where the first
 * word selects the one that starts first (hidden: only QMP, and MPI by QMP_get_hidden_comm). */
#include "cases.h"

#include <qmp.h>

static void start_qmp(int* argc, char*** argv) {
    QMP_thread_level_t provided;
    CHECK(QMP_init_msg_passing(argc, argv, QMP_THREAD_SINGLE, &provided) == QMP_SUCCESS);
}

/* Messages and sums of both, on communicators of QMP. */
static void talk(void) {
    QMP_comm_t world = QMP_comm_get_allocated(), halves;
    void* hidden = NULL;
    MPI_Comm comm;
    int size = 0, rank = -1, sum = 0, next, value, got = -1, count, in_half;
    double one = 1.0;
    MPI_Request request;
    CHECK(QMP_get_hidden_comm(world, &hidden) == QMP_SUCCESS);
    comm = *(MPI_Comm*)hidden;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    CHECK(size == QMP_get_number_of_nodes() && rank == QMP_get_node_number());
    next = (rank + 1) % size;
    value = rank;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &request);
    MPI_Send(&value, 1, MPI_INT, next, 5, comm);
    QMP_sum_double(&one);
    CHECK(one == size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2);

    CHECK(QMP_comm_split(world, rank % 2, rank, &halves) == QMP_SUCCESS);
    CHECK(QMP_get_hidden_comm(halves, &hidden) == QMP_SUCCESS);
    comm = *(MPI_Comm*)hidden;
    MPI_Comm_size(comm, &count);
    MPI_Comm_rank(comm, &in_half);
    CHECK(count == QMP_comm_get_number_of_nodes(halves) && in_half == rank / 2);
    sum = 0;
    value = 1;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == count);
    CHECK(QMP_comm_free(halves) == QMP_SUCCESS);
}

int main(int argc, char** argv) {
    const char *first, *ends;
    int flag = -1;
    if (argc < 3) return 2;
    first = argv[1];
    ends = argv[2];
    if (strcmp(first, "mpi") == 0) MPI_Init(&argc, &argv);
    start_qmp(&argc, &argv);
    if (strcmp(first, "qmp") == 0) MPI_Init(&argc, &argv);
    talk();
    MPI_Initialized(&flag);
    CHECK(flag);
    if (strcmp(first, "hidden") != 0 && strcmp(ends, "mpi") == 0) {
        double one = 1.0;
        MPI_Finalize();
        QMP_sum_double(&one);
        if (one != QMP_get_number_of_nodes()) return 1;
    }
    QMP_finalize_msg_passing();
    if (strcmp(first, "hidden") != 0 && strcmp(ends, "qmp") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    }
    MPI_Finalized(&flag);
    return flag ? 0 : 1;
}
