/* SPDX-License-Identifier: BSD-3-Clause */
/* A process or a host dies in a job over links that goes on without it (--keep-going).
 *
 *   deaths_on_links VICTIM|none READY
 *
 * The victim kills itself in the tenth round; with none, the test ends a host when the file READY
 * exists. Each other process prints its state afterwards: "goes on with N", or "cannot agree" if
 * the library refuses agreement and shrinking with MPI_ERR_UNSUPPORTED_OPERATION. */
#include <mpi-ext.h>
#include <signal.h>

#include "cases.h"

enum { large = 20000 };

static int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    return class;
}

/* Messages to and from all others at once, so some are relayed wherever there are relays. */
static int everyone(void) {
    static int out[large], in[30 * large];
    MPI_Request requests[60];
    MPI_Status statuses[60];
    int i, k, count = 0, result = MPI_SUCCESS;
    for (i = 0; i < large; i++) out[i] = me + i;
    for (i = 0; i < ranks; i++) {
        const int length = (me + i) % 2 ? 2 : large;
        if (i == me) continue;
        MPI_Irecv(in + i * large, length, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[count++]);
        MPI_Isend(out, length, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[count++]);
    }
    if (MPI_Waitall(count, requests, statuses) != MPI_SUCCESS)
        for (k = 0; k < count && result == MPI_SUCCESS; k++) result = statuses[k].MPI_ERROR;
    for (i = 0; i < ranks && result == MPI_SUCCESS; i++)
        for (k = 0; i != me && k < ((me + i) % 2 ? 2 : large); k++) CHECK(in[i * large + k] == i + k);
    return result;
}

static int well_or(int code, int other) {
    return code == MPI_SUCCESS || class_of(code) == other;
}

int main(int argc, char** argv) {
    int rounds, victim = -1, flag = 7, code = MPI_SUCCESS, agreed, size, sum, one = 1;
    MPI_Comm next;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(argc == 3 && ranks <= 30);
    if (strcmp(argv[1], "none") != 0) victim = atoi(argv[1]);
    for (rounds = 0; code == MPI_SUCCESS; rounds++) {
        if (me == victim && rounds == 10) raise(SIGKILL);
        if (me == 0 && rounds == 10) fclose(fopen(argv[2], "w"));
        code = rounds % 3 == 0 ? MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) : everyone();
    }
    CHECK(class_of(code) == MPI_ERR_PROC_FAILED || class_of(code) == MPI_ERR_REVOKED);
    CHECK(MPIX_Comm_revoke(MPI_COMM_WORLD) == MPI_SUCCESS);
    code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    agreed = class_of(code);
    CHECK(agreed == MPI_SUCCESS || agreed == MPI_ERR_PROC_FAILED || agreed == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(agreed == MPI_ERR_UNSUPPORTED_OPERATION || flag == 7);
    code = MPIX_Comm_shrink(MPI_COMM_WORLD, &next);
    CHECK(well_or(code, MPI_ERR_UNSUPPORTED_OPERATION));
    if (code == MPI_SUCCESS) {
        MPI_Comm_size(next, &size);
        /* Ranks that cannot reach each other may have agreed before they knew. */
        code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, next);
        CHECK(code != MPI_SUCCESS || sum == size);
        CHECK(well_or(code, MPI_ERR_PROC_FAILED));
    }
    if (code == MPI_SUCCESS)
        printf("rank %d goes on with %d\n", me, size);
    else
        printf("rank %d cannot agree\n", me);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
