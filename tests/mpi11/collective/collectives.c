/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that move data within one group: all forms, roots, sizes and types, in place or not.
 */
#include "collective_forms.h"

/* Nothing; little; more than one packet, of a number that no group divides evenly. */
static const int sizes[] = {0, 1, 3, 2051};
enum { SIZES = 4 };

static const Elements* kind_of(int which) {
    return which == 0 ? &tight : &gappy;
}
/* Types on both sides may differ as long as they are of the same integers. */
#define EACH_CASE                                                                             \
    for (int form = 0; form < FORMS; form++)                                                  \
        for (int s = 0; s < SIZES; s++)                                                       \
            for (int kinds = 0; kinds < 4; kinds++)                                           \
                for (const Elements *out = kind_of(kinds / 2), *in = kind_of(kinds % 2); out; \
                     out = NULL)

static void barriers(void) {
    for (int form = 0; form < FORMS; form++)
        for (int i = 0; i < 5; i++) CALL(form, Barrier, Ibarrier, MPI_COMM_WORLD);
    CALL(BLOCKING, Barrier, Ibarrier, MPI_COMM_SELF);
}

static void broadcasts(void) {
    EACH_CASE {
        for (int root = 0; root < ranks; root++) {
            const Elements* kind = me % 2 ? in : out;
            int n = sizes[s];
            int* data = new_elements(kind, n);
            if (me == root) put_elements(kind, data, 0, n, 100 * root);
            CALL(form, Bcast, Ibcast, data, n, kind->type, root, MPI_COMM_WORLD);
            CHECK(elements_are(kind, data, 0, n, 100 * root));
            free(data);
        }
    }
    CHECK(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void gathers(void) {
    EACH_CASE {
        for (int root = 0; root < ranks; root += 2)
            for (int place = 0; place < 2; place++) {
                int n = sizes[s], i;
                int* send = new_elements(out, n);
                int* all = new_elements(in, n * ranks);
                void* from = send;
                put_elements(out, send, 0, n, 10000 * me);
                if (place && me == root) {
                    put_elements(in, all, me * n, n, 10000 * me);
                    from = MPI_IN_PLACE;
                }
                /* Arguments that only the root uses may be invalid elsewhere. */
                if (me == root)
                    CALL(form, Gather, Igather, from, n, out->type, all, n, in->type, root,
                         MPI_COMM_WORLD);
                else
                    CALL(form, Gather, Igather, from, n, out->type, NULL, -1, MPI_DATATYPE_NULL,
                         root, MPI_COMM_WORLD);
                if (me == root)
                    for (i = 0; i < ranks; i++) CHECK(elements_are(in, all, i * n, n, 10000 * i));
                else
                    CHECK(elements_untouched(in, all, 0, n * ranks));
                CHECK(elements_are(out, send, 0, n, 10000 * me));
                free(send);
                free(all);
            }
    }
}

static void scatters(void) {
    EACH_CASE {
        for (int root = 0; root < ranks; root += 2)
            for (int place = 0; place < 2; place++) {
                int n = sizes[s], i;
                int* all = new_elements(out, n * ranks);
                int* mine = new_elements(in, n);
                void* to = place && me == root ? MPI_IN_PLACE : (void*)mine;
                if (me == root) {
                    for (i = 0; i < ranks; i++) put_elements(out, all, i * n, n, 10000 * i);
                    CALL(form, Scatter, Iscatter, all, n, out->type, to, n, in->type, root,
                         MPI_COMM_WORLD);
                    for (i = 0; i < ranks; i++) CHECK(elements_are(out, all, i * n, n, 10000 * i));
                } else {
                    CALL(form, Scatter, Iscatter, NULL, -1, MPI_DATATYPE_NULL, to, n, in->type,
                         root, MPI_COMM_WORLD);
                }
                if (to == mine)
                    CHECK(elements_are(in, mine, 0, n, 10000 * me));
                else
                    CHECK(elements_untouched(in, mine, 0, n));
                free(all);
                free(mine);
            }
    }
}

/* The arguments of the v-forms: rank i has i % 3 times n elements, with a gap of one in front of
 * each block, the last rank's block first. */
static Count* counts;
static Displacement* displacements;
static int room;

static void lay_blocks(int n) {
    int i;
    counts = malloc(sizeof(Count) * (size_t)ranks);
    displacements = malloc(sizeof(Displacement) * (size_t)ranks);
    room = 0;
    for (i = ranks; i-- > 0;) {
        counts[i] = i % 3 * n;
        displacements[i] = ++room;
        room += counts[i];
    }
}

static void free_blocks(void) {
    free(counts);
    free(displacements);
}

static int blocks_are(const Elements* kind, const int* all) {
    int i;
    for (i = 0; i < ranks; i++)
        if (!elements_are(kind, all, displacements[i], counts[i], 10000 * i) ||
            !elements_untouched(kind, all, displacements[i] - 1, 1))
            return 0;
    return 1;
}

static void gathers_of_blocks(void) {
    EACH_CASE {
        for (int root = 0; root < ranks; root += 3)
            for (int place = 0; place < 2; place++) {
                int* send;
                int* all;
                lay_blocks(sizes[s]);
                send = new_elements(out, counts[me]);
                all = new_elements(in, room);
                put_elements(out, send, 0, counts[me], 10000 * me);
                if (place && me == root)
                    put_elements(in, all, displacements[me], counts[me], 10000 * me);
                if (me == root)
                    CALL(form, Gatherv, Igatherv, place ? MPI_IN_PLACE : (void*)send, counts[me],
                         out->type, all, counts, displacements, in->type, root, MPI_COMM_WORLD);
                else
                    CALL(form, Gatherv, Igatherv, send, counts[me], out->type, NULL, NULL, NULL,
                         MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
                if (me == root) CHECK(blocks_are(in, all));
                free(send);
                free(all);
                free_blocks();
            }
    }
}

static void scatters_of_blocks(void) {
    EACH_CASE {
        for (int root = 0; root < ranks; root += 3)
            for (int place = 0; place < 2; place++) {
                int i;
                int* all;
                int* mine;
                lay_blocks(sizes[s]);
                all = new_elements(out, room);
                mine = new_elements(in, counts[me]);
                for (i = 0; i < ranks; i++)
                    put_elements(out, all, displacements[i], counts[i], 10000 * i);
                if (me == root)
                    CALL(form, Scatterv, Iscatterv, all, counts, displacements, out->type,
                         place ? MPI_IN_PLACE : (void*)mine, counts[me], in->type, root,
                         MPI_COMM_WORLD);
                else
                    CALL(form, Scatterv, Iscatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, mine,
                         counts[me], in->type, root, MPI_COMM_WORLD);
                CHECK(blocks_are(out, all));
                if (me != root || !place) CHECK(elements_are(in, mine, 0, counts[me], 10000 * me));
                free(all);
                free(mine);
                free_blocks();
            }
    }
}

static void allgathers(void) {
    EACH_CASE {
        for (int place = 0; place < 2; place++) {
            int n = sizes[s], i;
            int* send = new_elements(out, n);
            int* all = new_elements(in, n * ranks);
            put_elements(out, send, 0, n, 10000 * me);
            if (place) {
                put_elements(in, all, me * n, n, 10000 * me);
                CALL(form, Allgather, Iallgather, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, n,
                     in->type, MPI_COMM_WORLD);
            } else {
                CALL(form, Allgather, Iallgather, send, n, out->type, all, n, in->type,
                     MPI_COMM_WORLD);
            }
            for (i = 0; i < ranks; i++) CHECK(elements_are(in, all, i * n, n, 10000 * i));
            free(send);
            free(all);
        }
    }
}

static void allgathers_of_blocks(void) {
    EACH_CASE {
        for (int place = 0; place < 2; place++) {
            int* send;
            int* all;
            lay_blocks(sizes[s]);
            send = new_elements(out, counts[me]);
            all = new_elements(in, room);
            put_elements(out, send, 0, counts[me], 10000 * me);
            if (place) put_elements(in, all, displacements[me], counts[me], 10000 * me);
            CALL(form, Allgatherv, Iallgatherv, place ? MPI_IN_PLACE : (void*)send, counts[me],
                 out->type, all, counts, displacements, in->type, MPI_COMM_WORLD);
            CHECK(blocks_are(in, all));
            free(send);
            free(all);
            free_blocks();
        }
    }
}

static int seed_of(int from, int to) {
    return 1000 * (from * ranks + to);
}

static void alltoalls(void) {
    EACH_CASE {
        for (int place = 0; place < 2; place++) {
            int n = sizes[s], i;
            int* send = new_elements(out, n * ranks);
            int* all = new_elements(in, n * ranks);
            for (i = 0; i < ranks; i++) put_elements(out, send, i * n, n, seed_of(me, i));
            if (place) {
                for (i = 0; i < ranks; i++) put_elements(in, all, i * n, n, seed_of(me, i));
                CALL(form, Alltoall, Ialltoall, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, all, n,
                     in->type, MPI_COMM_WORLD);
            } else {
                CALL(form, Alltoall, Ialltoall, send, n, out->type, all, n, in->type,
                     MPI_COMM_WORLD);
                for (i = 0; i < ranks; i++)
                    CHECK(elements_are(out, send, i * n, n, seed_of(me, i)));
            }
            for (i = 0; i < ranks; i++) CHECK(elements_are(in, all, i * n, n, seed_of(i, me)));
            free(send);
            free(all);
        }
    }
}

/* The number of elements between two ranks, the same in both directions. */
static int pair_count(int a, int b, int n) {
    return (a + b) % 3 * n;
}

static void alltoalls_of_blocks(void) {
    EACH_CASE {
        for (int way = 0; way < 4; way++) {
            int place = way % 2, typed = way / 2, n = sizes[s], total = 0, i;
            Count* counts_ = malloc(sizeof(Count) * (size_t)ranks);
            Displacement* at = malloc(sizeof(Displacement) * (size_t)ranks); /* elements */
            Displacement* out_bytes = malloc(sizeof(Displacement) * (size_t)ranks);
            Displacement* in_bytes = malloc(sizeof(Displacement) * (size_t)ranks);
            MPI_Datatype* out_types = malloc(sizeof(MPI_Datatype) * (size_t)ranks);
            MPI_Datatype* in_types = malloc(sizeof(MPI_Datatype) * (size_t)ranks);
            int *send, *all;
            for (i = ranks; i-- > 0;) {
                counts_[i] = pair_count(me, i, n);
                at[i] = ++total;
                total += counts_[i];
                out_types[i] = out->type;
                in_types[i] = in->type;
                out_bytes[i] = at[i] * out->stride * (int)sizeof(int);
                in_bytes[i] = at[i] * in->stride * (int)sizeof(int);
            }
            send = new_elements(out, total);
            all = new_elements(in, total);
            for (i = 0; i < ranks; i++) {
                put_elements(out, send, at[i], counts_[i], seed_of(me, i));
                if (place) put_elements(in, all, at[i], counts_[i], seed_of(me, i));
            }
            if (typed && place)
                CALL(form, Alltoallw, Ialltoallw, MPI_IN_PLACE, NULL, NULL, NULL, all, counts_,
                     in_bytes, in_types, MPI_COMM_WORLD);
            else if (typed)
                CALL(form, Alltoallw, Ialltoallw, send, counts_, out_bytes, out_types, all, counts_,
                     in_bytes, in_types, MPI_COMM_WORLD);
            else if (place)
                CALL(form, Alltoallv, Ialltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all,
                     counts_, at, in->type, MPI_COMM_WORLD);
            else
                CALL(form, Alltoallv, Ialltoallv, send, counts_, at, out->type, all, counts_, at,
                     in->type, MPI_COMM_WORLD);
            for (i = 0; i < ranks; i++) {
                CHECK(elements_are(in, all, at[i], counts_[i], seed_of(i, me)));
                CHECK(elements_untouched(in, all, at[i] - 1, 1));
            }
            free(counts_);
            free(at);
            free(out_bytes);
            free(in_bytes);
            free(out_types);
            free(in_types);
            free(send);
            free(all);
        }
    }
}

static void wrong_arguments(void) {
    int a[64], b[64], one[64] = {0}, n[64];
    MPI_Request request;
    MPI_Datatype uncommitted;
    int i;
    if (ranks > 64) return;
    for (i = 0; i < 64; i++) n[i] = i == 0 ? -1 : 0;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Type_contiguous(2, MPI_INT, &uncommitted) == MPI_SUCCESS);

    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, ranks, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast(a, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(a, 1, uncommitted, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Ibcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Ibcast(a, 1, MPI_INT, 77, MPI_COMM_WORLD, &request), MPI_ERR_ROOT);
    CHECK_CLASS(MPI_Bcast_init(a, -3, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);

    CHECK_CLASS(MPI_Allgather(a + me, 1, MPI_INT, a, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allgather(a, 2, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Allgatherv(a, 1, MPI_INT, b, n, one, MPI_INT, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allgatherv(a, 1, MPI_INT, b, NULL, one, MPI_INT, MPI_COMM_WORLD), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Allgatherv(a, 1, MPI_INT, b, one, NULL, MPI_INT, MPI_COMM_WORLD), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Alltoall(a, 1, MPI_INT, a, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Alltoall(a, 1, MPI_INT, b, 2, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Alltoallv(a, n, one, MPI_INT, b, one, one, MPI_INT, MPI_COMM_WORLD),
                MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, ranks + 3, MPI_COMM_WORLD), MPI_ERR_ROOT);
    if (me == 0) {
        CHECK_CLASS(MPI_Gather(a, 1, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Gather(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD),
                    MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Scatter(a, 1, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Gatherv(a, 1, MPI_INT, b, n, one, MPI_INT, 0, MPI_COMM_WORLD),
                    MPI_ERR_COUNT);
    } else {
        CHECK_CLASS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 1, MPI_INT, 0, MPI_COMM_WORLD),
                    MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Scatter(NULL, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD),
                    MPI_ERR_BUFFER);
    }
    CHECK(MPI_Type_free(&uncommitted) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    /* None of these has begun anything. */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* If rank 1 called with another size, at least one rank gets an error, and all calls return. */
static void check_some_failed(int code) {
    int class, failed, any;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE);
    failed = class != MPI_SUCCESS;
    CHECK(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(any);
}

static void sizes_differ(void) {
    static int in[640], out[640];
    int less = me == 1 ? 3 : 5;
    if (ranks < 2 || ranks > 64) return;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    check_some_failed(MPI_Bcast(in, less, MPI_INT, 0, MPI_COMM_WORLD));
    check_some_failed(MPI_Bcast(in, less, MPI_INT, 1, MPI_COMM_WORLD));
    check_some_failed(MPI_Allgather(in, less, MPI_INT, out, less, MPI_INT, MPI_COMM_WORLD));
    check_some_failed(MPI_Allreduce(in, out, less, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check_some_failed(MPI_Reduce(in, out, less, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    check_some_failed(MPI_Scan(in, out, less, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check_some_failed(MPI_Alltoall(in, less, MPI_INT, out, less, MPI_INT, MPI_COMM_WORLD));
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"barriers", barriers},
    {"broadcasts", broadcasts},
    {"gathers", gathers},
    {"scatters", scatters},
    {"gathers_of_blocks", gathers_of_blocks},
    {"scatters_of_blocks", scatters_of_blocks},
    {"allgathers", allgathers},
    {"allgathers_of_blocks", allgathers_of_blocks},
    {"alltoalls", alltoalls},
    {"alltoalls_of_blocks", alltoalls_of_blocks},
    {"wrong_arguments", wrong_arguments},
    {"sizes_differ", sizes_differ},
};

int main(int argc, char** argv) {
    return RUN_WITH_ELEMENTS(argc, argv, cases);
}
