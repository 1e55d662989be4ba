/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checkpoints in memory: each rank keeps a copy of its state, and one of the state of the rank
 * before it. When a process dies, the new one in its place gets its state from the rank behind it,
 * and all go on from the last checkpoint that all have. If two ranks side by side die between two
 * checkpoints, both copies of the first one are lost, and the job ends.
 *
 * The ranks form rings: `before` is the rank whose `next` this one is.
 */
#include <limits.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two copies, so that a death while one is made leaves the other. */
struct checkpoint {
    long step; /* -1: none */
    char *mine, *before;
};
struct checkpoints {
    int next, before, bytes; /* ranks, and the size of the state */
    struct checkpoint kept[2];
};

static void checkpoints_begin(struct checkpoints* c, int next, int before, size_t bytes) {
    c->next = next, c->before = before, c->bytes = (int)bytes;
    for (int i = 0; i < 2; ++i) {
        c->kept[i].step = -1;
        c->kept[i].mine = (char*)malloc(bytes);
        c->kept[i].before = (char*)malloc(bytes);
    }
}

/* Ends what all ranks have done since the last call: each calls it once, whether it has failed or
 * not, so that all agree at the same place. `code` is the error of this rank. Returns 1 if no rank
 * has failed or died, else 0; the same on all ranks. */
static int checkpoints_keep(struct checkpoints* c, MPI_Comm all, long step, int code,
                            const void* state) {
    struct checkpoint* const to = c->kept[0].step < c->kept[1].step ? &c->kept[0] : &c->kept[1];
    int agreed;
    if (code == MPI_SUCCESS) {
        to->step = -1;
        memcpy(to->mine, state, (size_t)c->bytes);
        code = MPI_Sendrecv(to->mine, c->bytes, MPI_BYTE, c->next, 3, to->before, c->bytes,
                            MPI_BYTE, c->before, 3, all, MPI_STATUS_IGNORE);
    }
    agreed = code == MPI_SUCCESS;
    if (!agreed) MPIX_Comm_revoke(all); /* others may wait for this rank */
    code = MPI_Comm_agree(all, &agreed);
    if (agreed) to->step = step;
    return agreed && code == MPI_SUCCESS;
}

/* Gives every rank the last checkpoint that all survivors have, and its step; -1 if there is none
 * yet. All call it after the dead ones have been replaced. Returns an error if another one died. */
static int checkpoints_restore(struct checkpoints* c, MPI_Comm all, long* step, void* state) {
    const int fresh = c->kept[0].step < 0 && c->kept[1].step < 0;
    const int newer = c->kept[0].step < c->kept[1].step;
    const long mine = fresh ? LONG_MAX : c->kept[newer].step;
    int before = 0, next = 0; /* whether the processes on both sides are new */
    int code = MPI_Allreduce(&mine, step, 1, MPI_LONG, MPI_MIN, all);
    if (code != MPI_SUCCESS) return code;
    if (*step == LONG_MAX) {
        *step = -1;
        return MPI_SUCCESS;
    }
    /* The one with that step comes first. */
    if (!fresh && c->kept[0].step != *step) {
        const struct checkpoint other = c->kept[0];
        c->kept[0] = c->kept[1];
        c->kept[1] = other;
    }
    MPI_Sendrecv(&fresh, 1, MPI_INT, c->next, 4, &before, 1, MPI_INT, c->before, 4, all,
                 MPI_STATUS_IGNORE);
    code = MPI_Sendrecv(&fresh, 1, MPI_INT, c->before, 5, &next, 1, MPI_INT, c->next, 5, all,
                        MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    if (fresh && next) {
        fprintf(stderr,
                "checkpoint: the state of a rank and its copy are lost: two neighbours died\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (fresh)
        code = MPI_Recv(c->kept[0].mine, c->bytes, MPI_BYTE, c->next, 6, all, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !fresh && before)
        code = MPI_Send(c->kept[0].before, c->bytes, MPI_BYTE, c->before, 6, all);
    if (code != MPI_SUCCESS) return code;
    c->kept[0].step = *step;
    c->kept[1].step = -1;
    memcpy(state, c->kept[0].mine, (size_t)c->bytes);
    return MPI_SUCCESS;
}

/* For trials: whether this rank is to die at this step. `deaths` deaths happen at steps and on
 * ranks that `seed` decides, evenly over `steps` with some chance. */
static int dies_here(long step, long steps, int seed, int deaths, int rank, int ranks) {
    for (int n = 0; n < deaths; ++n) {
        unsigned state = (unsigned)(seed * 7919 + n * 104729) * 2654435761u;
        state = state * 1664525u + 1013904223u;
        const long at = steps * n / deaths + (long)(state >> 8) % (steps / deaths);
        state = state * 1664525u + 1013904223u;
        if (at == step && (int)((state >> 8) % (unsigned)ranks) == rank) return 1;
    }
    return 0;
}
