/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heat on a plate that wraps around, with checkpoints on disk: a program that loses at most the
 * steps since its last checkpoint when torus-run starts it again after a death.
 *
 *   torus-run --restart-on-death 5 --spares 1 --config cluster.toml heat ROWS COLUMNS STEPS EVERY
 * FILE
 *
 * Every EVERY steps the ranks write the plate to FILE.0 or FILE.1, in turn, each its own rows, on a
 * file system that all hosts share. When all rows are on disk, rank 0 writes the step and the
 * number of the file to FILE.state: a death in between leaves the checkpoint before it. The files
 * do not depend on the number of ranks, so a restart may use fewer or more. The bits of the result
 * depend neither on the restarts nor on the number of ranks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <qmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct plate {
    long rows, columns; /* of the whole plate */
    long first, own;    /* rows of this rank */
    double *now,
        *next; /* own + 2 rows: a copy of a neighbour's row before and after the own ones */
};

struct halo {
    QMP_msghandle_t all; /* NULL if the only rank is its own neighbour */
    double *out[2], *in[2];
};

static void give_up(const char* what, const char* path) {
    char text[4200];
    snprintf(text, sizeof text, "%s %s: %s", what, path, strerror(errno));
    QMP_abort_string(1, text);
}

static double* row(const struct plate* p, double* field, long i) {
    return field + (i + 1) * p->columns;
}

static long number(const char* text, const char* name) {
    char* end;
    const long value = strtol(text, &end, 10);
    if (*end == '\0' && end != text && value > 0 && value < 1L << 30) return value;
    if (QMP_get_node_number() == 0)
        fprintf(stderr, "heat: %s is '%s': expected a positive number\n", name, text);
    QMP_finalize_msg_passing();
    exit(2);
}

/* ---- checkpoints ---- */

static void move_rows(const struct plate* p, const char* path, int writes) {
    const int fd = open(path, writes ? O_WRONLY | O_CREAT : O_RDONLY, 0666);
    if (fd < 0) give_up("cannot open", path);
    char* bytes = (char*)row(p, p->now, 0);
    const size_t length = (size_t)(p->own * p->columns) * sizeof(double);
    const off_t begin = p->first * p->columns * (off_t)sizeof(double);
    for (size_t done = 0; done < length;) {
        const ssize_t n = writes ? pwrite(fd, bytes + done, length - done, begin + (off_t)done)
                                 : pread(fd, bytes + done, length - done, begin + (off_t)done);
        if (n == 0) errno = ENODATA;
        if (n <= 0) give_up(writes ? "cannot write" : "cannot read", path);
        done += (size_t)n;
    }
    if (writes && fsync(fd) != 0) give_up("cannot write", path);
    close(fd);
}

static void write_checkpoint(const struct plate* p, const char* file, long step, int which) {
    char path[4096], fresh[4096];
    snprintf(path, sizeof path, "%s.%d", file, which);
    move_rows(p, path, 1);
    QMP_barrier(); /* all rows are on disk */
    if (QMP_get_node_number() == 0) {
        snprintf(path, sizeof path, "%s.state", file);
        snprintf(fresh, sizeof fresh, "%s.state.new", file);
        FILE* out = fopen(fresh, "w");
        if (!out || fprintf(out, "%ld %d\n", step, which) < 0 || fflush(out) != 0 ||
            fsync(fileno(out)) != 0 || fclose(out) != 0 || rename(fresh, path) != 0)
            give_up("cannot write", path);
    }
    QMP_barrier(); /* the older file may be overwritten */
}

/* The step of the last checkpoint, which is read; 0 and the initial plate if there is none. */
static long resume(const struct plate* p, const char* file, int* which) {
    char path[4096];
    long step = 0;
    snprintf(path, sizeof path, "%s.state", file);
    FILE* in = fopen(path, "r");
    if (in && fscanf(in, "%ld %d", &step, which) != 2) {
        errno = EINVAL;
        give_up("cannot read", path);
    }
    if (in) fclose(in);
    if (step > 0) {
        snprintf(path, sizeof path, "%s.%d", file, *which);
        move_rows(p, path, 0);
        return step;
    }
    for (long i = 0; i < p->own; ++i)
        for (long j = 0; j < p->columns; ++j)
            row(p, p->now, i)[j] = sin(0.37 * (double)((p->first + i) * p->columns + j));
    return 0;
}

/* ---- steps ---- */

static struct halo declare_halo(const struct plate* p) {
    struct halo h = {NULL, {NULL, NULL}, {NULL, NULL}};
    const size_t bytes = (size_t)p->columns * sizeof(double);
    QMP_msghandle_t parts[4];
    for (int up = 0; up < 2; ++up) {
        h.out[up] = malloc(bytes);
        h.in[up] = malloc(bytes);
        parts[2 * up] =
            QMP_declare_send_relative(QMP_declare_msgmem(h.out[up], bytes), 0, up ? 1 : -1, 0);
        parts[2 * up + 1] =
            QMP_declare_receive_relative(QMP_declare_msgmem(h.in[up], bytes), 0, up ? 1 : -1, 0);
    }
    if (QMP_get_number_of_nodes() > 1) h.all = QMP_declare_multiple(parts, 4);
    return h;
}

static void exchange(const struct plate* p, struct halo* h) {
    const size_t bytes = (size_t)p->columns * sizeof(double);
    double* edges[2] = {row(p, p->now, 0), row(p, p->now, p->own - 1)};
    for (int up = 0; up < 2; ++up) memcpy(h->all ? h->out[up] : h->in[!up], edges[up], bytes);
    if (h->all && (QMP_start(h->all) != QMP_SUCCESS || QMP_wait(h->all) != QMP_SUCCESS))
        QMP_abort_string(1, "cannot exchange rows with the neighbours");
    memcpy(row(p, p->now, -1), h->in[0], bytes);
    memcpy(row(p, p->now, p->own), h->in[1], bytes);
}

static void take_step(struct plate* p) {
    for (long i = 0; i < p->own; ++i) {
        const double *above = row(p, p->now, i - 1), *here = row(p, p->now, i),
                     *below = row(p, p->now, i + 1);
        double* to = row(p, p->next, i);
        for (long j = 0; j < p->columns; ++j) {
            const double left = here[j == 0 ? p->columns - 1 : j - 1];
            const double right = here[j == p->columns - 1 ? 0 : j + 1];
            to[j] = here[j] + 0.1 * ((above[j] + below[j]) + (left + right) - 4 * here[j]);
        }
    }
    double* before = p->now;
    p->now = p->next;
    p->next = before;
}

int main(int argc, char** argv) {
    QMP_thread_level_t threads;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &threads) != QMP_SUCCESS) return 1;
    const int rank = QMP_get_node_number(), ranks = QMP_get_number_of_nodes();
    if (argc != 6) {
        if (rank == 0) fprintf(stderr, "usage: heat ROWS COLUMNS STEPS EVERY FILE\n");
        QMP_finalize_msg_passing();
        return 2;
    }
    struct plate p = {number(argv[1], "ROWS"), number(argv[2], "COLUMNS"), 0, 0, NULL, NULL};
    const long steps = number(argv[3], "STEPS"), every = number(argv[4], "EVERY");
    if (p.rows < ranks) {
        if (rank == 0)
            fprintf(stderr, "heat: ROWS is %ld: expected at least one for each of %d ranks\n",
                    p.rows, ranks);
        QMP_finalize_msg_passing();
        return 2;
    }
    p.first = p.rows * rank / ranks;
    p.own = p.rows * (rank + 1) / ranks - p.first;
    const size_t values = (size_t)((p.own + 2) * p.columns);
    p.now = calloc(values, sizeof(double));
    p.next = calloc(values, sizeof(double));
    QMP_declare_logical_topology(&ranks, 1);
    struct halo halo = declare_halo(&p);

    int which = 0;
    long step = resume(&p, argv[5], &which);
    const char* restart = getenv("TORUSMP_RESTART");
    if (rank == 0)
        printf("step %ld of %ld, restart %s, %d ranks\n", step, steps, restart ? restart : "none",
               ranks);
    while (step < steps) {
        exchange(&p, &halo);
        take_step(&p);
        if (++step % every != 0 && step != steps) continue;
        which = !which;
        write_checkpoint(&p, argv[5], step, which);
        if (rank == 0) printf("checkpoint %ld\n", step);
    }
    if (rank == 0) printf("done: the result is %s.%d\n", argv[5], which);
    QMP_finalize_msg_passing();
    return 0;
}
