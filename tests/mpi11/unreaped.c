/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 of two is killed, and a process that traces it keeps it from being reaped, as the kernel
 * does for a while when the dead process had packet sockets. In a job that goes on (--keep-going)
 * rank 0 gets the error nevertheless. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "cases.h"

/* A child that traces this process; it ends by itself after 30 s. */
static int start_tracer(void) {
    int ready[2], child;
    char seized = 0;
    CHECK(pipe(ready) == 0);
    child = fork();
    if (child == 0) {
        dup2(ready[1], 0);
        close_range(1, ~0u, 0); /* torus-run must not take the child for the rank */
        seized = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0;
        alarm(30);
        if (write(0, &seized, 1) == 1) pause();
        _exit(1);
    }
    prctl(PR_SET_PTRACER, child);
    close(ready[1]);
    CHECK(read(ready[0], &seized, 1) == 1 && seized);
    close(ready[0]);
    return child;
}

int main(int argc, char** argv) {
    int tracer = 0, code, class;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(ranks == 2);
    if (me == 1) {
        tracer = start_tracer();
        MPI_Ssend(&tracer, 1, MPI_INT, 0, 1, MPI_COMM_WORLD); /* it has arrived */
        raise(SIGKILL);
    }
    CHECK(MPI_Recv(&tracer, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    code = MPI_Recv(&class, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_PROC_FAILED);
    CHECK(kill(tracer, SIGKILL) == 0); /* it has kept rank 1 until now */
    printf("unreaped: rank 0 knows of the death\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
