/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives between the two groups of an inter-communicator: every third rank, and the others. */
#include "collective_forms.h"

static MPI_Comm inter;
static int first_group; /* this rank is in the group of rank 0 of MPI_COMM_WORLD */
static int local, locals, remotes;

static const int sizes[] = {0, 1, 4, 3001};
enum { SIZES = 4 };

static void connect_groups(void) {
    MPI_Comm half;
    first_group = me % 3 == 0;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, first_group, me, &half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first_group ? 1 : 0, 12, &inter) ==
          MPI_SUCCESS);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(inter, &local) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(inter, &locals) == MPI_SUCCESS);
    CHECK(MPI_Comm_remote_size(inter, &remotes) == MPI_SUCCESS);
}

#define EACH_CASE                                                       \
    for (int form = 0; form < FORMS; form++)                            \
        for (int s = 0; s < SIZES; s++)                                 \
            for (int kinds = 0; kinds < 2; kinds++)                     \
                for (int n = sizes[s], once = 1; once; once = 0)        \
                    for (const Elements *out = kinds ? &gappy : &tight, \
                                        *in = kinds ? &tight : &gappy;  \
                         out; out = NULL)

/* The root argument of a collective: each side in turn has the root. */
static int root_argument(int side, int root) {
    if (first_group != side) return root;
    return local == root ? MPI_ROOT : MPI_PROC_NULL;
}
static int side_size(int side) {
    return first_group == side ? locals : remotes;
}

/* A number for each rank of each side. */
static int seed_of(int side, int rank) {
    return 100000 * (side + 1) + 5000 * rank;
}

#define EACH_ROOT                        \
    for (int side = 0; side < 2; side++) \
        for (int root = 0; root < side_size(side); root += 2)

static void barriers(void) {
    int form;
    for (form = 0; form < FORMS; form++) CALL(form, Barrier, Ibarrier, inter);
}

static void broadcasts(void) {
    EACH_CASE {
        EACH_ROOT {
            int argument = root_argument(side, root);
            const Elements* kind = argument == MPI_ROOT ? out : in;
            int* data = new_elements(kind, n);
            if (argument == MPI_ROOT) put_elements(kind, data, 0, n, seed_of(side, root));
            if (argument == MPI_PROC_NULL)
                CALL(form, Bcast, Ibcast, NULL, -1, MPI_DATATYPE_NULL, argument, inter);
            else
                CALL(form, Bcast, Ibcast, data, n, kind->type, argument, inter);
            if (argument != MPI_PROC_NULL)
                CHECK(elements_are(kind, data, 0, n, seed_of(side, root)));
            free(data);
        }
    }
}

static void gathers(void) {
    EACH_CASE {
        EACH_ROOT {
            int argument = root_argument(side, root), i;
            int* send = new_elements(out, n);
            int* all = new_elements(in, n * remotes);
            put_elements(out, send, 0, n, seed_of(!side, local));
            if (argument == MPI_ROOT)
                CALL(form, Gather, Igather, NULL, 0, MPI_DATATYPE_NULL, all, n, in->type, argument,
                     inter);
            else
                CALL(form, Gather, Igather, send, n, out->type, NULL, 0, MPI_DATATYPE_NULL,
                     argument, inter);
            for (i = 0; i < remotes && argument == MPI_ROOT; i++)
                CHECK(elements_are(in, all, i * n, n, seed_of(!side, i)));
            free(send);
            free(all);
        }
    }
}

static void scatters(void) {
    EACH_CASE {
        EACH_ROOT {
            int argument = root_argument(side, root), i;
            int* all = new_elements(out, n * remotes);
            int* data = new_elements(in, n);
            for (i = 0; i < remotes; i++) put_elements(out, all, i * n, n, seed_of(!side, i));
            if (argument == MPI_ROOT)
                CALL(form, Scatter, Iscatter, all, n, out->type, NULL, 0, MPI_DATATYPE_NULL,
                     argument, inter);
            else
                CALL(form, Scatter, Iscatter, NULL, 0, MPI_DATATYPE_NULL, data, n, in->type,
                     argument, inter);
            if (argument >= 0) CHECK(elements_are(in, data, 0, n, seed_of(!side, local)));
            free(all);
            free(data);
        }
    }
}

/* Blocks of i % 3 times n elements of rank i of the other group, one apart. */
static void blocks_to_a_root(void) {
    EACH_CASE {
        EACH_ROOT {
            int argument = root_argument(side, root), i, room = 0, own = local % 3 * n;
            Count* counts = malloc(sizeof(Count) * (size_t)(remotes + 1));
            Displacement* at = malloc(sizeof(Displacement) * (size_t)(remotes + 1));
            int *all, *data;
            for (i = 0; i < remotes; i++) {
                counts[i] = i % 3 * n;
                at[i] = ++room;
                room += counts[i];
            }
            all = new_elements(in, room);
            data = new_elements(out, own);
            put_elements(out, data, 0, own, seed_of(!side, local));
            if (argument == MPI_ROOT)
                CALL(form, Gatherv, Igatherv, NULL, 0, MPI_DATATYPE_NULL, all, counts, at, in->type,
                     argument, inter);
            else
                CALL(form, Gatherv, Igatherv, data, own, out->type, NULL, NULL, NULL,
                     MPI_DATATYPE_NULL, argument, inter);
            for (i = 0; i < remotes && argument == MPI_ROOT; i++) {
                CHECK(elements_are(in, all, at[i], counts[i], seed_of(!side, i)));
                CHECK(elements_untouched(in, all, at[i] - 1, 1));
            }
            /* And back, into memory without it. */
            free(data);
            data = new_elements(out, own);
            if (argument == MPI_ROOT)
                CALL(form, Scatterv, Iscatterv, all, counts, at, in->type, NULL, 0,
                     MPI_DATATYPE_NULL, argument, inter);
            else
                CALL(form, Scatterv, Iscatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, data, own,
                     out->type, argument, inter);
            if (argument >= 0) CHECK(elements_are(out, data, 0, own, seed_of(!side, local)));
            free(counts);
            free(at);
            free(all);
            free(data);
        }
    }
}

static void allgathers(void) {
    EACH_CASE {
        int i;
        int* send = new_elements(out, n);
        int* all = new_elements(in, n * remotes);
        put_elements(out, send, 0, n, seed_of(first_group, local));
        CALL(form, Allgather, Iallgather, send, n, out->type, all, n, in->type, inter);
        for (i = 0; i < remotes; i++)
            CHECK(elements_are(in, all, i * n, n, seed_of(!first_group, i)));
        free(send);
        free(all);
    }
}

static void allgathers_of_blocks(void) {
    EACH_CASE {
        int i, room = 0, own = local % 3 * n;
        Count* counts = malloc(sizeof(Count) * (size_t)remotes);
        Displacement* at = malloc(sizeof(Displacement) * (size_t)remotes);
        int *send, *all;
        for (i = remotes; i-- > 0;) {
            counts[i] = i % 3 * n;
            at[i] = ++room;
            room += counts[i];
        }
        send = new_elements(out, own);
        all = new_elements(in, room);
        put_elements(out, send, 0, own, seed_of(first_group, local));
        CALL(form, Allgatherv, Iallgatherv, send, own, out->type, all, counts, at, in->type, inter);
        for (i = 0; i < remotes; i++) {
            CHECK(elements_are(in, all, at[i], counts[i], seed_of(!first_group, i)));
            CHECK(elements_untouched(in, all, at[i] - 1, 1));
        }
        free(counts);
        free(at);
        free(send);
        free(all);
    }
}

/* The seed of a block between ranks of the two groups, in either direction. */
static int pair_seed(int from_first, int a, int b) {
    return 1000000 * from_first + 10000 * a + 500 * b;
}

static void alltoalls(void) {
    EACH_CASE {
        int i, way;
        Count* counts = malloc(sizeof(Count) * (size_t)remotes);
        Displacement* at = malloc(sizeof(Displacement) * (size_t)remotes);
        Displacement* out_bytes = malloc(sizeof(Displacement) * (size_t)remotes);
        Displacement* in_bytes = malloc(sizeof(Displacement) * (size_t)remotes);
        MPI_Datatype* out_types = malloc(sizeof(MPI_Datatype) * (size_t)remotes);
        MPI_Datatype* in_types = malloc(sizeof(MPI_Datatype) * (size_t)remotes);
        for (i = 0; i < remotes; i++) {
            counts[i] = n;
            at[i] = i * n;
            out_bytes[i] = at[i] * out->stride * (int)sizeof(int);
            in_bytes[i] = at[i] * in->stride * (int)sizeof(int);
            out_types[i] = out->type;
            in_types[i] = in->type;
        }
        for (way = 0; way < 3; way++) {
            int* send = new_elements(out, n * remotes);
            int* all = new_elements(in, n * remotes);
            for (i = 0; i < remotes; i++)
                put_elements(out, send, i * n, n, pair_seed(first_group, local, i));
            if (way == 0)
                CALL(form, Alltoall, Ialltoall, send, n, out->type, all, n, in->type, inter);
            else if (way == 1)
                CALL(form, Alltoallv, Ialltoallv, send, counts, at, out->type, all, counts, at,
                     in->type, inter);
            else
                CALL(form, Alltoallw, Ialltoallw, send, counts, out_bytes, out_types, all, counts,
                     in_bytes, in_types, inter);
            for (i = 0; i < remotes; i++)
                CHECK(elements_are(in, all, i * n, n, pair_seed(!first_group, i, local)));
            free(send);
            free(all);
        }
        free(counts);
        free(at);
        free(out_bytes);
        free(in_bytes);
        free(out_types);
        free(in_types);
    }
}

/* Rank r of a side contributes (side + 2) * r + i; the sum over that side is: */
static int sum_of(int side, int i) {
    int size = side_size(side);
    return (side + 2) * (size * (size - 1) / 2) + size * i;
}

static void reductions(void) {
    EACH_CASE {
        int i;
        int* send = malloc(sizeof(int) * (size_t)(n + 1));
        int* sum = malloc(sizeof(int) * (size_t)(n + 1));
        (void)in;
        for (i = 0; i < n; i++) send[i] = (first_group + 2) * local + i;
        EACH_ROOT {
            int argument = root_argument(side, root);
            for (i = 0; i < n; i++) sum[i] = UNTOUCHED;
            CALL(form, Reduce, Ireduce, send, sum, n, MPI_INT, MPI_SUM, argument, inter);
            for (i = 0; i < n; i++)
                CHECK(sum[i] == (argument == MPI_ROOT ? sum_of(!side, i) : UNTOUCHED));
        }
        CALL(form, Allreduce, Iallreduce, send, sum, n, MPI_INT, MPI_SUM, inter);
        for (i = 0; i < n; i++) CHECK(sum[i] == sum_of(!first_group, i));
        free(send);
        free(sum);
    }
}

/* Both groups have as many elements in all; in each they are dealt over its ranks. */
static void reduce_scatters(void) {
    int form, n;
    for (form = 0; form < FORMS; form++)
        for (n = 0; n < 9; n += 4) {
            int total = n * locals * remotes, i, first = 0;
            Count* counts = malloc(sizeof(Count) * (size_t)locals);
            int* send = malloc(sizeof(int) * (size_t)(total + 1));
            int* part = malloc(sizeof(int) * (size_t)(total + 1));
            for (i = 0; i < total; i++) send[i] = (first_group + 2) * local + i;
            CALL(form, Reduce_scatter_block, Ireduce_scatter_block, send, part, n * remotes,
                 MPI_INT, MPI_SUM, inter);
            for (i = 0; i < n * remotes; i++)
                CHECK(part[i] == sum_of(!first_group, local * n * remotes + i));
            for (i = 0; i < locals; i++) counts[i] = 0;
            for (i = 0; i < total; i++) counts[i % locals]++;
            for (i = 0; i < local; i++) first += counts[i];
            CALL(form, Reduce_scatter, Ireduce_scatter, send, part, counts, MPI_INT, MPI_SUM,
                 inter);
            for (i = 0; i < counts[local]; i++) CHECK(part[i] == sum_of(!first_group, first + i));
            free(counts);
            free(send);
            free(part);
        }
}

/* Several at once, which end in another order on each rank. */
static void many_at_once(void) {
    enum { CALLS = 12 };
    int data[CALLS], results[CALLS], i;
    MPI_Request requests[CALLS];
    for (i = 0; i < CALLS; i++) {
        data[i] = (first_group + 2) * local + i;
        if (i % 3 == 0)
            CHECK(MPI_Iallreduce(&data[i], &results[i], 1, MPI_INT, MPI_SUM, inter, &requests[i]) ==
                  MPI_SUCCESS);
        else if (i % 3 == 1)
            CHECK(MPI_Ibcast(&data[i], 1, MPI_INT, root_argument(i % 2, 0), inter, &requests[i]) ==
                  MPI_SUCCESS);
        else
            CHECK(MPI_Ibarrier(inter, &requests[i]) == MPI_SUCCESS);
    }
    for (i = 0; i < CALLS; i++)
        CHECK(MPI_Wait(&requests[(i * 5 + me) % CALLS], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < CALLS; i++) {
        if (i % 3 == 0) CHECK(results[i] == sum_of(!first_group, i));
        if (i % 3 == 1 && first_group != i % 2) CHECK(data[i] == i);
    }
}

/* Persistent ones match in the order in which they were made, in whatever order they are started.
 */
static void persistent_in_any_order(void) {
    enum { CALLS = 6 };
    int data[CALLS], results[CALLS], i, round;
    MPI_Request requests[CALLS];
    for (i = 0; i < CALLS; i++) {
        if (i % 3 == 0)
            CHECK(MPI_Allreduce_init(&data[i], &results[i], 1, MPI_INT, MPI_SUM, inter,
                                     MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
        else if (i % 3 == 1)
            CHECK(MPI_Bcast_init(&data[i], 1, MPI_INT, root_argument(i % 2, 0), inter,
                                 MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
        else
            CHECK(MPI_Barrier_init(inter, MPI_INFO_NULL, &requests[i]) == MPI_SUCCESS);
    }
    for (round = 0; round < 4; round++) {
        for (i = 0; i < CALLS; i++) data[i] = (first_group + 2) * local + i + round;
        for (i = 0; i < CALLS; i++)
            CHECK(MPI_Start(&requests[me % 2 ? CALLS - 1 - i : i]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (i = 0; i < CALLS; i++) {
            if (i % 3 == 0) CHECK(results[i] == sum_of(!first_group, i + round));
            if (i % 3 == 1 && first_group != i % 2) CHECK(data[i] == i + round);
        }
    }
    for (i = 0; i < CALLS; i++) CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS);
}

static void wrong_arguments(void) {
    int a[4], b[4];
    CHECK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, remotes, inter), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, -7, inter), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, remotes, inter), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, remotes, inter), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Allreduce(a, b, 1, MPI_FLOAT, MPI_BOR, inter), MPI_ERR_OP);
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"barriers", barriers},
    {"broadcasts", broadcasts},
    {"gathers", gathers},
    {"scatters", scatters},
    {"blocks_to_a_root", blocks_to_a_root},
    {"allgathers", allgathers},
    {"allgathers_of_blocks", allgathers_of_blocks},
    {"alltoalls", alltoalls},
    {"reductions", reductions},
    {"reduce_scatters", reduce_scatters},
    {"many_at_once", many_at_once},
    {"persistent_in_any_order", persistent_in_any_order},
    {"wrong_arguments", wrong_arguments},
};

int main(int argc, char** argv) {
    int size;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &me) == MPI_SUCCESS);
    CHECK(size >= 2);
    make_elements();
    connect_groups();
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS);
    free_elements();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
