/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with the neighbours of Cartesian, graph and distributed-graph communicators. */
#include "collective_forms.h"

enum { MOST = 32 };
static const int sizes[] = {0, 1, 5, 2500};
enum { SIZES = 4 };

/* The seed of the block that a rank sends over its k-th edge. */
static int seed_of(int rank, int k) {
    return 1000000 * rank + 20000 * k;
}

/* The neighbours in the standard's order, worked out by point-to-point rules alone: the k-th
 * message to come is the l-th that rank sources[k] sends, l = edge[k]. */
typedef struct {
    MPI_Comm comm;
    int in, out;
    int sources[MOST], edges[MOST], destinations[MOST];
} Around;

static void run_alltoalls(const Around* a) {
    int form, s, kinds, way, k;
    for (form = 0; form < FORMS; form++)
        for (s = 0; s < SIZES; s++)
            for (kinds = 1; kinds < 3; kinds++)
                for (way = 0; way < 3; way++) {
                    const Elements* out = kinds / 2 ? &gappy : &tight;
                    const Elements* in = kinds % 2 ? &gappy : &tight;
                    int n = sizes[s];
                    int* send = new_elements(out, n * a->out);
                    int* all = new_elements(in, n * a->in);
                    Count counts[MOST];
                    Displacement at[MOST];
                    MPI_Aint out_bytes[MOST], in_bytes[MOST];
                    MPI_Datatype out_types[MOST], in_types[MOST];
                    for (k = 0; k < MOST; k++) {
                        counts[k] = n;
                        at[k] = k * n;
                        out_types[k] = out->type;
                        in_types[k] = in->type;
                        out_bytes[k] = (MPI_Aint)sizeof(int) * k * n * out->stride;
                        in_bytes[k] = (MPI_Aint)sizeof(int) * k * n * in->stride;
                    }
                    for (k = 0; k < a->out; k++) put_elements(out, send, k * n, n, seed_of(me, k));
                    if (way == 0)
                        CALL(form, Neighbor_alltoall, Ineighbor_alltoall, send, n, out->type, all,
                             n, in->type, a->comm);
                    else if (way == 1)
                        CALL(form, Neighbor_alltoallv, Ineighbor_alltoallv, send, counts, at,
                             out->type, all, counts, at, in->type, a->comm);
                    else
                        CALL(form, Neighbor_alltoallw, Ineighbor_alltoallw, send, counts, out_bytes,
                             out_types, all, counts, in_bytes, in_types, a->comm);
                    for (k = 0; k < a->in; k++) {
                        if (a->sources[k] == MPI_PROC_NULL)
                            CHECK(elements_untouched(in, all, k * n, n));
                        else
                            CHECK(elements_are(in, all, k * n, n,
                                               seed_of(a->sources[k], a->edges[k])));
                    }
                    free(send);
                    free(all);
                }
}

static void run_allgathers(const Around* a) {
    int form, s, kinds, way, k;
    for (form = 0; form < FORMS; form++)
        for (s = 0; s < SIZES; s++)
            for (kinds = 1; kinds < 3; kinds++)
                for (way = 0; way < 2; way++) {
                    const Elements* out = kinds / 2 ? &gappy : &tight;
                    const Elements* in = kinds % 2 ? &gappy : &tight;
                    int n = sizes[s];
                    int* send = new_elements(out, n);
                    int* all = new_elements(in, n * a->in);
                    Count counts[MOST];
                    Displacement at[MOST];
                    for (k = 0; k < a->in; k++) {
                        counts[k] = n;
                        at[k] = (a->in - 1 - k) * n;
                    }
                    put_elements(out, send, 0, n, seed_of(me, 0));
                    if (way == 0)
                        CALL(form, Neighbor_allgather, Ineighbor_allgather, send, n, out->type, all,
                             n, in->type, a->comm);
                    else
                        CALL(form, Neighbor_allgatherv, Ineighbor_allgatherv, send, n, out->type,
                             all, counts, at, in->type, a->comm);
                    for (k = 0; k < a->in; k++) {
                        int first = way == 0 ? k * n : at[k];
                        if (a->sources[k] == MPI_PROC_NULL)
                            CHECK(elements_untouched(in, all, first, n));
                        else
                            CHECK(elements_are(in, all, first, n, seed_of(a->sources[k], 0)));
                    }
                    free(send);
                    free(all);
                }
}

static void run_all(Around* a) {
    int world = me;
    CHECK(MPI_Comm_rank(a->comm, &me) == MPI_SUCCESS);
    run_alltoalls(a);
    run_allgathers(a);
    me = world;
    CHECK(MPI_Comm_free(&a->comm) == MPI_SUCCESS);
}

/* The block for one side of a rank is what it has from the other side of that neighbour: also in
 * rings of two, and of one. */
static void grid(int ndims, const int* dims, const int* periods, int reorder) {
    Around a;
    int d;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, reorder, &a.comm) == MPI_SUCCESS);
    if (a.comm == MPI_COMM_NULL) return;
    a.in = a.out = 2 * ndims;
    for (d = 0; d < ndims; d++) {
        CHECK(MPI_Cart_shift(a.comm, d, 1, &a.sources[2 * d], &a.sources[2 * d + 1]) ==
              MPI_SUCCESS);
        a.edges[2 * d] = 2 * d + 1;
        a.edges[2 * d + 1] = 2 * d;
    }
    run_all(&a);
}

static void grids(void) {
    int reorder, periodic, dims[3], periods[3];
    for (reorder = 0; reorder < 2; reorder++)
        for (periodic = 0; periodic < 2; periodic++) {
            dims[0] = ranks;
            dims[1] = 1;
            periods[0] = periodic;
            periods[1] = !periodic;
            grid(1 + reorder, dims, periods, reorder);
            dims[0] = dims[1] = dims[2] = 0;
            CHECK(MPI_Dims_create(ranks, 3, dims) == MPI_SUCCESS);
            periods[1] = 1;
            periods[2] = periodic;
            grid(3, dims, periods, reorder);
            if (ranks >= 2) {
                dims[0] = 2;
                dims[1] = ranks / 2;
                grid(2, dims, periods, reorder);
            }
        }
}

/* A star around rank 0, with every edge twice, which the standard allows. */
static void graphs(void) {
    Around a;
    int *index = malloc(sizeof(int) * (size_t)ranks), edges[4 * MOST], count = 0, i, k;
    if (ranks > MOST / 2) return;
    for (i = 0; i < ranks; i++) {
        for (k = 0; k < ranks; k++)
            if ((i == 0) != (k == 0)) edges[count++] = k, edges[count++] = k;
        index[i] = count;
    }
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &a.comm) == MPI_SUCCESS);
    a.in = a.out = me == 0 ? 2 * (ranks - 1) : 2;
    for (i = 0; i < a.in; i++) {
        a.sources[i] = me == 0 ? 1 + i / 2 : 0;
        /* The first of a pair of edges meets the first. */
        a.edges[i] = me == 0 ? i % 2 : 2 * (me - 1) + i % 2;
    }
    free(index);
    run_all(&a);
}

/* Rank r sends to r + 1, to r + 1 again, and to itself; and even ranks to rank 0. */
static void distributed_graphs(void) {
    Around a;
    int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks, r;
    int weights[MOST];
    if (ranks > MOST - 4) return;
    for (r = 0; r < MOST; r++) weights[r] = r + 1;
    a.out = 3;
    a.destinations[0] = a.destinations[1] = next;
    a.destinations[2] = me;
    a.in = 3;
    a.sources[0] = me;
    a.edges[0] = ranks == 1 ? 0 : 2;
    a.sources[1] = a.sources[2] = before;
    a.edges[1] = ranks == 1 ? 1 : 0;
    a.edges[2] = ranks == 1 ? 2 : 1;
    if (me % 2 == 0) a.destinations[a.out++] = 0;
    for (r = 0; r < ranks && me == 0; r += 2) {
        a.sources[a.in] = r;
        a.edges[a.in++] = 3;
    }
    /* The sends of rank 0 to itself, and of the last to rank 0, come in this order. */
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, a.in, a.sources, weights, a.out,
                                         a.destinations, weights, MPI_INFO_NULL, 0,
                                         &a.comm) == MPI_SUCCESS);
    run_all(&a);
}

/* Halos of several calls under way at once. */
static void many_at_once(void) {
    enum { CALLS = 10 };
    MPI_Comm ring;
    MPI_Request requests[CALLS];
    int out[CALLS][2], in[CALLS][2], periodic = 1, i, below, above;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring) == MPI_SUCCESS);
    CHECK(MPI_Cart_shift(ring, 0, 1, &below, &above) == MPI_SUCCESS);
    for (i = 0; i < CALLS; i++) {
        out[i][0] = seed_of(me, 2 * i);
        out[i][1] = seed_of(me, 2 * i + 1);
        CHECK(MPI_Ineighbor_alltoall(out[i], 1, MPI_INT, in[i], 1, MPI_INT, ring, &requests[i]) ==
              MPI_SUCCESS);
    }
    for (i = CALLS; i-- > 0;) CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (i = 0; i < CALLS; i++) {
        CHECK(in[i][0] == seed_of(below, 2 * i + 1));
        CHECK(in[i][1] == seed_of(above, 2 * i));
    }
    CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
}

/* Blocks anywhere in memory, by their addresses. */
static void from_the_bottom(void) {
    MPI_Comm ring;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Aint from[2], to[2];
    Count counts[2] = {1, 1};
    int out[2], in[2], periodic = 1, form, i, below, above;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring) == MPI_SUCCESS);
    CHECK(MPI_Cart_shift(ring, 0, 1, &below, &above) == MPI_SUCCESS);
    for (i = 0; i < 2; i++) {
        CHECK(MPI_Get_address(&out[1 - i], &from[i]) == MPI_SUCCESS);
        CHECK(MPI_Get_address(&in[1 - i], &to[i]) == MPI_SUCCESS);
    }
    for (form = 0; form < FORMS; form++) {
        for (i = 0; i < 2; i++) out[1 - i] = seed_of(me, i) + form;
        CALL(form, Neighbor_alltoallw, Ineighbor_alltoallw, MPI_BOTTOM, counts, from, types,
             MPI_BOTTOM, counts, to, types, ring);
        CHECK(in[1] == seed_of(below, 1) + form);
        CHECK(in[0] == seed_of(above, 0) + form);
    }
    CHECK(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    to[1] = 0;
    CHECK_CLASS(CALLED(Neighbor_alltoallw)(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to,
                                           types, ring),
                MPI_ERR_BUFFER);
    CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
}

/* Persistent halos match in the order in which they were made, in whatever order they are
 * started. */
static void persistent_in_any_order(void) {
    enum { CALLS = 5 };
    MPI_Comm ring;
    MPI_Request requests[CALLS];
    int out[CALLS][2], in[CALLS][2], periodic = 1, i, round, below, above;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring) == MPI_SUCCESS);
    CHECK(MPI_Cart_shift(ring, 0, 1, &below, &above) == MPI_SUCCESS);
    for (i = 0; i < CALLS; i++)
        CHECK(MPI_Neighbor_alltoall_init(out[i], 1, MPI_INT, in[i], 1, MPI_INT, ring, MPI_INFO_NULL,
                                         &requests[i]) == MPI_SUCCESS);
    for (round = 0; round < 4; round++) {
        for (i = 0; i < CALLS; i++) {
            out[i][0] = seed_of(me, 2 * i) + round;
            out[i][1] = seed_of(me, 2 * i + 1) + round;
        }
        for (i = 0; i < CALLS; i++)
            CHECK(MPI_Start(&requests[me % 2 ? CALLS - 1 - i : i]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (i = 0; i < CALLS; i++) {
            CHECK(in[i][0] == seed_of(below, 2 * i + 1) + round);
            CHECK(in[i][1] == seed_of(above, 2 * i) + round);
        }
    }
    for (i = 0; i < CALLS; i++) CHECK(MPI_Request_free(&requests[i]) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
}

static void wrong_arguments(void) {
    int a[4] = {0}, b[8], periodic = 1;
    MPI_Comm ring;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD),
                MPI_ERR_TOPOLOGY);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, ring),
                MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_alltoall(a, -1, MPI_INT, b, 1, MPI_INT, ring), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Neighbor_alltoall(a, 1, MPI_DATATYPE_NULL, b, 1, MPI_INT, ring), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Neighbor_alltoallv(a, NULL, a, MPI_INT, b, a, a, MPI_INT, ring), MPI_ERR_ARG);
    /* More comes than there is room for. */
    CHECK_CLASS(MPI_Neighbor_allgather(a, 2, MPI_INT, b, 1, MPI_INT, ring), MPI_ERR_TRUNCATE);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"grids", grids},
    {"graphs", graphs},
    {"distributed_graphs", distributed_graphs},
    {"many_at_once", many_at_once},
    {"from_the_bottom", from_the_bottom},
    {"persistent_in_any_order", persistent_in_any_order},
    {"wrong_arguments", wrong_arguments},
};

int main(int argc, char** argv) {
    return RUN_WITH_ELEMENTS(argc, argv, cases);
}
