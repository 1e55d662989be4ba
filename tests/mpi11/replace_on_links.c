/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes and hosts that die one after the other in a job over links, and new processes in their
 * places: mpi_replace_on_links READY VICTIM...
 *
 * In each phase the members exchange messages until one of them has died. VICTIM is the rank that
 * kills itself, "1+3" for several at the same time, or "host": then the file READY followed by the
 * number of the phase appears when messages have arrived, and the test removes a host. When
 * it is gone, the test makes the file of that name with ".gone", for which the next victim waits.
 * In the last phase nothing dies. */
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { last_rounds = 20, large = 30000 };

static int rank, size;

static void give_up(const char* why) {
    fprintf(stderr, "replace_on_links: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void take(MPI_Comm comm) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

/* A large message from each member to each other one, whose words depend on both and the round. */
static int exchange(MPI_Comm comm, int round) {
    static int out[large], in[large];
    for (int distance = 1; distance < size; ++distance) {
        const int to = (rank + distance) % size, from = (rank + size - distance) % size;
        for (int i = 0; i < large; ++i) out[i] = (round * size + rank) * size + to + i;
        const int code = MPI_Sendrecv(out, large, MPI_INT, to, round, in, large, MPI_INT, from,
                                      round, comm, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return code;
        for (int i = 0; i < large; ++i)
            if (in[i] != (round * size + from) * size + rank + i) give_up("a message is damaged");
    }
    return MPI_SUCCESS;
}

/* True if all members live and have succeeded. */
static int succeeded(MPI_Comm comm, int code) {
    int agreed = code == MPI_SUCCESS;
    if (!agreed) MPIX_Comm_revoke(comm);
    return MPI_Comm_agree(comm, &agreed) == MPI_SUCCESS && agreed;
}

static int is_victim(const char* victims) {
    for (const char* it = victims; *it != '\0'; ++it)
        if ((it == victims || it[-1] == '+') && atoi(it) == rank) return 1;
    return 0;
}

/* The host that the phase before has lost. */
static int is_gone(char** argv, int phase) {
    char name[4096];
    if (phase == 0 || strcmp(argv[1 + phase], "host") != 0) return 1;
    snprintf(name, sizeof name, "%s%d.gone", argv[1], phase - 1);
    return access(name, F_OK) == 0;
}

static void report_ready(const char* path, int phase) {
    char name[4096];
    snprintf(name, sizeof name, "%s%d", path, phase);
    FILE* const file = fopen(name, "w");
    if (file == NULL || fclose(file) != 0) give_up("cannot write the file");
}

int main(int argc, char** argv) {
    MPI_Comm parent, comm, whole;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    int phase = 0, fresh = parent != MPI_COMM_NULL;
    if (fresh)
        torusmp_replace(MPI_COMM_NULL, NULL, NULL, MPI_INFO_NULL, &comm);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    take(comm);
    const int phases = argc - 2;
    for (int round = 0;; ++round) {
        int both[2] = {phase, round}, known[2];
        int code = MPI_SUCCESS;
        if (round == 0 || fresh) {
            code = MPI_Allreduce(both, known, 2, MPI_INT, MPI_MAX, comm);
            phase = known[0], round = known[1], fresh = 0;
        }
        if (code == MPI_SUCCESS) code = exchange(comm, round);
        if (succeeded(comm, code)) {
            if (phase == phases && round == last_rounds) break;
            if (phase == phases || round == 0) continue;
            const int outside = strcmp(argv[2 + phase], "host") == 0;
            if (outside && round == 1 && rank == 0) report_ready(argv[1], phase);
            if (!outside && is_victim(argv[2 + phase]) && is_gone(argv, phase)) raise(SIGKILL);
            continue;
        }
        code = torusmp_replace(comm, argv[0], argv + 1, MPI_INFO_NULL, &whole);
        if (code != MPI_SUCCESS) {
            char why[MPI_MAX_ERROR_STRING];
            int length;
            MPI_Error_string(code, why, &length);
            give_up(why);
        }
        MPI_Comm_free(&comm);
        comm = whole;
        take(comm);
        ++phase;
        round = -1;
    }
    if (rank == 0) printf("whole: %d members after %d deaths\n", size, phase);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
