/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian grids, graphs and queries of the machine, in cases. */
#include "cases.h"

#include <torusmp_mpi.h>

static int product(int n, const int* values) {
    int i, p = 1;
    for (i = 0; i < n; i++) p *= values[i];
    return p;
}

static int hops(MPI_Comm comm, int rank) {
    int n = -1;
    CHECK(TORUSMP_Hops(comm, rank, &n) == MPI_SUCCESS);
    return n;
}

/* Everybody hears from both neighbours along each dimension, and knows who they are. */
static void exchange_along(MPI_Comm cart, int ndims) {
    int d, r;
    CHECK(MPI_Comm_rank(cart, &r) == MPI_SUCCESS);
    for (d = 0; d < ndims; d++) {
        int sign;
        for (sign = -1; sign <= 1; sign += 2) {
            int source, dest, in = -1;
            MPI_Status status;
            CHECK(MPI_Cart_shift(cart, d, sign, &source, &dest) == MPI_SUCCESS);
            CHECK(MPI_Sendrecv(&r, 1, MPI_INT, dest, d, &in, 1, MPI_INT, source, d, cart,
                               &status) == MPI_SUCCESS);
            CHECK(in == (source == MPI_PROC_NULL ? -1 : source));
        }
    }
}

static void dims(void) {
    int n, d[4];
    for (n = 1; n <= 4; n++) {
        int i;
        for (i = 0; i < n; i++) d[i] = 0;
        CHECK(MPI_Dims_create(ranks, n, d) == MPI_SUCCESS);
        CHECK(product(n, d) == ranks);
        for (i = 1; i < n; i++) CHECK(d[i] <= d[i - 1]);
    }
    d[0] = 0, d[1] = 1;
    CHECK(MPI_Dims_create(ranks, 2, d) == MPI_SUCCESS && d[0] == ranks && d[1] == 1);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    d[0] = 0, d[1] = ranks + 1;
    CHECK_CLASS(MPI_Dims_create(ranks, 2, d), MPI_ERR_DIMS);
    d[0] = -1, d[1] = 0;
    CHECK_CLASS(MPI_Dims_create(ranks, 2, d), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Dims_create(ranks, 2, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Dims_create(0, 1, d), MPI_ERR_ARG);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

static void cartesian(void) {
    int periods[3] = {1, 0, 1}, d[3] = {0, 0, 0}, found[3], wrap[3], at[3], reorder, i, r, n;
    CHECK(MPI_Dims_create(ranks, 3, d) == MPI_SUCCESS);
    for (reorder = 0; reorder < 2; reorder++) {
        MPI_Comm cart, copy;
        int kind;
        CHECK(MPI_Cart_create(MPI_COMM_WORLD, 3, d, periods, reorder, &cart) == MPI_SUCCESS);
        CHECK(MPI_Topo_test(cart, &kind) == MPI_SUCCESS && kind == MPI_CART);
        CHECK(MPI_Cartdim_get(cart, &n) == MPI_SUCCESS && n == 3);
        CHECK(MPI_Cart_get(cart, 3, found, wrap, at) == MPI_SUCCESS);
        for (i = 0; i < 3; i++) CHECK(found[i] == d[i] && wrap[i] == periods[i]);
        CHECK(MPI_Comm_rank(cart, &r) == MPI_SUCCESS);
        CHECK(reorder || r == me);
        CHECK(r == (at[0] * d[1] + at[1]) * d[2] + at[2]);
        CHECK(MPI_Cart_rank(cart, at, &n) == MPI_SUCCESS && n == r);
        at[0] -= d[0], at[2] += 3 * d[2];
        CHECK(MPI_Cart_rank(cart, at, &n) == MPI_SUCCESS && n == r);
        exchange_along(cart, 3);
        CHECK(MPI_Comm_dup(cart, &copy) == MPI_SUCCESS);
        CHECK(MPI_Cart_get(copy, 3, found, wrap, at) == MPI_SUCCESS && found[0] == d[0]);
        exchange_along(copy, 3);
        CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
        CHECK(MPI_Cart_map(MPI_COMM_WORLD, 3, d, periods, &n) == MPI_SUCCESS);
        CHECK(!reorder || n == r);
        CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    }
}

/* Lines and planes of a grid. */
static void parts_of_grid(void) {
    int periods[3] = {1, 0, 1}, d[3] = {0, 0, 0}, mask, i;
    MPI_Comm cart;
    CHECK(MPI_Dims_create(ranks, 3, d) == MPI_SUCCESS);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 3, d, periods, 1, &cart) == MPI_SUCCESS);
    for (mask = 0; mask < 8; mask++) {
        int keep[3], n = 1, k, ndims, size, at[3], small[3], extent[3], wrap[3];
        MPI_Comm part;
        for (i = 0; i < 3; i++) keep[i] = mask >> i & 1;
        for (i = 0; i < 3; i++) n *= keep[i] ? d[i] : 1;
        CHECK(MPI_Cart_sub(cart, keep, &part) == MPI_SUCCESS);
        CHECK(MPI_Comm_size(part, &size) == MPI_SUCCESS && size == n);
        CHECK(MPI_Cartdim_get(part, &ndims) == MPI_SUCCESS);
        CHECK(ndims == keep[0] + keep[1] + keep[2]);
        CHECK(MPI_Cart_get(cart, 3, extent, wrap, at) == MPI_SUCCESS);
        CHECK(MPI_Cart_get(part, 3, extent, wrap, small) == MPI_SUCCESS);
        for (i = k = 0; i < 3; i++) {
            if (!keep[i]) continue;
            CHECK(small[k] == at[i] && extent[k] == d[i] && wrap[k] == periods[i]);
            k++;
        }
        exchange_along(part, ndims);
        CHECK(MPI_Comm_free(&part) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
}

static void smaller_grids(void) {
    MPI_Comm cart;
    int one = 1, zero = 0, n, size, d[1], coords[1];
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &zero, 0, &cart) == MPI_SUCCESS);
    CHECK((cart == MPI_COMM_NULL) == (me != 0));
    if (me == 0) CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    /* A grid of no dimensions is a point. */
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &cart) == MPI_SUCCESS);
    CHECK((cart == MPI_COMM_NULL) == (me != 0));
    if (me == 0) {
        CHECK(MPI_Cartdim_get(cart, &n) == MPI_SUCCESS && n == 0);
        CHECK(MPI_Cart_rank(cart, NULL, &n) == MPI_SUCCESS && n == 0);
        CHECK(MPI_Cart_get(cart, 0, NULL, NULL, NULL) == MPI_SUCCESS);
        CHECK(MPI_Cart_coords(cart, 0, 0, NULL) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    }
    if (ranks < 3) return;
    d[0] = ranks - 1;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, d, &one, 1, &cart) == MPI_SUCCESS);
    size = 0;
    if (cart != MPI_COMM_NULL) {
        CHECK(MPI_Comm_size(cart, &size) == MPI_SUCCESS && size == ranks - 1);
        CHECK(MPI_Cart_coords(cart, size - 1, 1, coords) == MPI_SUCCESS && coords[0] == size - 1);
        exchange_along(cart, 1);
        CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    }
}

static void cartesian_errors(void) {
    MPI_Comm cart, out, world;
    int d[2] = {0, 1}, wrap[2] = {0, 0}, at[2], n, k;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    d[0] = ranks;
    CHECK(MPI_Cart_create(world, 2, d, wrap, 0, &cart) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Cart_get(world, 2, d, wrap, at), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Cartdim_get(world, &n), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Cart_sub(world, wrap, &out), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Graphdims_get(cart, &n, &k), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Dist_graph_neighbors_count(cart, &n, &k, &k), MPI_ERR_TOPOLOGY);
    at[0] = ranks, at[1] = 0;
    CHECK_CLASS(MPI_Cart_rank(cart, at, &n), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cart_coords(cart, ranks, 2, at), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Cart_coords(cart, 0, 1, at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cart_get(cart, 1, d, wrap, at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cart_shift(cart, 2, 1, &n, &k), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cart_shift(cart, -1, 1, &n, &k), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cart_shift(cart, 0, 1, NULL, &k), MPI_ERR_ARG);
    d[0] = ranks + 1;
    CHECK_CLASS(MPI_Cart_create(world, 2, d, wrap, 0, &out), MPI_ERR_DIMS);
    d[0] = 65536, d[1] = 65536;
    CHECK_CLASS(MPI_Cart_create(world, 2, d, wrap, 0, &out), MPI_ERR_DIMS);
    d[0] = 0;
    CHECK_CLASS(MPI_Cart_create(world, 2, d, wrap, 0, &out), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Cart_create(world, -1, d, wrap, 0, &out), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Cart_create(world, 2, NULL, wrap, 0, &out), MPI_ERR_ARG);
    CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&world) == MPI_SUCCESS);
}

/* A ring as a graph. */
static void graph(void) {
    int* index = malloc(sizeof(int) * (size_t)ranks);
    int* edges = malloc(sizeof(int) * 2 * (size_t)ranks);
    int* i2 = malloc(sizeof(int) * (size_t)ranks);
    int* e2 = malloc(sizeof(int) * 2 * (size_t)ranks);
    int i, reorder, n, k, r, in, near[2];
    for (i = 0; i < ranks; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + ranks - 1) % ranks;
        edges[2 * i + 1] = (i + 1) % ranks;
    }
    for (reorder = 0; reorder < 2; reorder++) {
        MPI_Comm ring;
        CHECK(MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, reorder, &ring) == MPI_SUCCESS);
        CHECK(MPI_Topo_test(ring, &n) == MPI_SUCCESS && n == MPI_GRAPH);
        CHECK(MPI_Graphdims_get(ring, &n, &k) == MPI_SUCCESS && n == ranks && k == 2 * ranks);
        CHECK(MPI_Graph_get(ring, ranks, 2 * ranks, i2, e2) == MPI_SUCCESS);
        CHECK(memcmp(index, i2, sizeof(int) * (size_t)ranks) == 0);
        CHECK(memcmp(edges, e2, sizeof(int) * 2 * (size_t)ranks) == 0);
        CHECK(MPI_Comm_rank(ring, &r) == MPI_SUCCESS && (reorder || r == me));
        CHECK(MPI_Graph_neighbors_count(ring, r, &n) == MPI_SUCCESS && n == 2);
        CHECK(MPI_Graph_neighbors(ring, r, 2, near) == MPI_SUCCESS);
        CHECK(near[0] == edges[2 * r] && near[1] == edges[2 * r + 1]);
        CHECK(MPI_Sendrecv(&r, 1, MPI_INT, near[1], 0, &in, 1, MPI_INT, near[0], 0, ring,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              in == near[0]);
        CHECK(MPI_Graph_map(MPI_COMM_WORLD, ranks, index, edges, &n) == MPI_SUCCESS);
        CHECK(!reorder || n == r);
        CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
    }
    /* A smaller one leaves some out; one of none leaves out all. */
    if (ranks > 1) {
        MPI_Comm some;
        index[0] = 1, edges[0] = 0;
        CHECK(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &some) == MPI_SUCCESS);
        CHECK((some == MPI_COMM_NULL) == (me != 0));
        if (me == 0) CHECK(MPI_Comm_free(&some) == MPI_SUCCESS);
        CHECK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &some) == MPI_SUCCESS);
        CHECK(some == MPI_COMM_NULL);
    }
    free(index), free(edges), free(i2), free(e2);
}

static void graph_errors(void) {
    MPI_Comm world, out;
    int index[2] = {1, 2}, edges[2] = {0, 0}, n;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Graph_create(world, ranks + 1, index, edges, 0, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Graph_create(world, -1, index, edges, 0, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Graph_create(world, 1, NULL, edges, 0, &out), MPI_ERR_ARG);
    edges[0] = 1;
    CHECK_CLASS(MPI_Graph_create(world, 1, index, edges, 0, &out), MPI_ERR_ARG);
    index[0] = -1;
    CHECK_CLASS(MPI_Graph_create(world, 1, index, edges, 0, &out), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Graph_neighbors_count(world, 0, &n), MPI_ERR_TOPOLOGY);
    index[0] = 1, edges[0] = 0;
    CHECK(MPI_Graph_create(world, 1, index, edges, 0, &out) == MPI_SUCCESS);
    if (me == 0) {
        CHECK_CLASS(MPI_Graph_neighbors_count(out, 1, &n), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Graph_neighbors(out, 0, 0, &n), MPI_ERR_ARG);
        CHECK_CLASS(MPI_Graph_get(out, 0, 1, index, edges), MPI_ERR_ARG);
        CHECK(MPI_Comm_free(&out) == MPI_SUCCESS);
    }
    n = ranks;
    CHECK_CLASS(MPI_Dist_graph_create(world, 1, &n, index, &edges[0], MPI_UNWEIGHTED, MPI_INFO_NULL,
                                      0, &out),
                MPI_ERR_RANK);
    CHECK_CLASS(MPI_Dist_graph_create_adjacent(world, 1, &n, MPI_UNWEIGHTED, 0, NULL,
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &out),
                MPI_ERR_RANK);
    CHECK(MPI_Comm_free(&world) == MPI_SUCCESS);
}

/* Each gives its own neighbours: one behind, twice, and one ahead. */
static void adjacent_graph(void) {
    int reorder;
    for (reorder = 0; reorder < 2; reorder++) {
        const int behind = (me + ranks - 1) % ranks, ahead = (me + 1) % ranks;
        int in[2] = {behind, behind}, out[2] = {ahead, ahead}, weights[2] = {3, 4};
        int sources[2], destinations[2], w1[2], w2[2], n, k, weighted, r;
        MPI_Comm graph;
        CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, in, weights, 2, out, weights,
                                             MPI_INFO_NULL, reorder, &graph) == MPI_SUCCESS);
        CHECK(MPI_Topo_test(graph, &n) == MPI_SUCCESS && n == MPI_DIST_GRAPH);
        CHECK(MPI_Dist_graph_neighbors_count(graph, &n, &k, &weighted) == MPI_SUCCESS);
        CHECK(n == 2 && k == 2 && weighted);
        CHECK(MPI_Dist_graph_neighbors(graph, 2, sources, w1, 2, destinations, w2) == MPI_SUCCESS);
        CHECK(MPI_Comm_rank(graph, &r) == MPI_SUCCESS);
        CHECK(sources[0] == (r + ranks - 1) % ranks && sources[1] == sources[0]);
        CHECK(destinations[0] == (r + 1) % ranks && destinations[1] == destinations[0]);
        CHECK(w1[0] == 3 && w1[1] == 4 && w2[0] == 3 && w2[1] == 4);
        CHECK(MPI_Comm_free(&graph) == MPI_SUCCESS);
        CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me == 0, in, MPI_UNWEIGHTED,
                                             ahead == 0, out, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                             reorder, &graph) == MPI_SUCCESS);
        CHECK(MPI_Dist_graph_neighbors_count(graph, &n, &k, &weighted) == MPI_SUCCESS);
        CHECK(MPI_Comm_rank(graph, &r) == MPI_SUCCESS);
        CHECK(n == (r == 0) && k == ((r + 1) % ranks == 0) && !weighted);
        CHECK(MPI_Comm_free(&graph) == MPI_SUCCESS);
    }
}

/* Rank 0 gives the edges of a star, everybody else nothing; then each those of its neighbour. */
static void distributed_graph(void) {
    int reorder, i;
    int* all = malloc(sizeof(int) * (size_t)ranks);
    int* weights = malloc(sizeof(int) * (size_t)ranks);
    int* found = malloc(sizeof(int) * (size_t)ranks);
    int* found_weights = malloc(sizeof(int) * (size_t)ranks);
    for (reorder = 0; reorder < 2; reorder++) {
        const int zero = 0, next = (me + 1) % ranks, one = 1, second = (me + 2) % ranks;
        int n, k, weighted, r, source, weight;
        MPI_Comm star, ring;
        for (i = 0; i < ranks; i++) all[i] = i, weights[i] = 10 + i;
        CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, me == 0, &zero, &ranks, all,
                                    me == 0 ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, reorder,
                                    &star) == MPI_SUCCESS);
        CHECK(MPI_Comm_rank(star, &r) == MPI_SUCCESS);
        CHECK(MPI_Dist_graph_neighbors_count(star, &n, &k, &weighted) == MPI_SUCCESS);
        CHECK(n == 1 && k == (r == 0 ? ranks : 0) && weighted);
        CHECK(MPI_Dist_graph_neighbors(star, 1, &source, &weight, ranks, found, found_weights) ==
              MPI_SUCCESS);
        CHECK(source == 0 && weight == 10 + r);
        for (i = 0; i < k; i++) CHECK(found[i] == i && found_weights[i] == 10 + i);
        CHECK(MPI_Comm_free(&star) == MPI_SUCCESS);
        CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &next, &one, &second, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, reorder, &ring) == MPI_SUCCESS);
        CHECK(MPI_Comm_rank(ring, &r) == MPI_SUCCESS);
        CHECK(MPI_Dist_graph_neighbors_count(ring, &n, &k, &weighted) == MPI_SUCCESS);
        CHECK(n == 1 && k == 1 && !weighted);
        CHECK(MPI_Dist_graph_neighbors(ring, 1, &source, MPI_UNWEIGHTED, 1, found,
                                       MPI_UNWEIGHTED) == MPI_SUCCESS);
        CHECK(source == (r + ranks - 1) % ranks && found[0] == (r + 1) % ranks);
        CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
    }
    free(all), free(weights), free(found), free(found_weights);
}

/* The machine as the library describes it. */
static void machine(void) {
    int ndims, d[TORUSMP_MAX_DIMENSIONS], wrap[TORUSMP_MAX_DIMENSIONS], i, r, length;
    int at[TORUSMP_MAX_DIMENSIONS], there[TORUSMP_MAX_DIMENSIONS];
    char name[TORUSMP_MAX_LINK_NAME];
    CHECK(TORUSMP_Dimensions(&ndims) == MPI_SUCCESS && ndims > 0);
    CHECK(TORUSMP_Extents(TORUSMP_MAX_DIMENSIONS, d, wrap) == MPI_SUCCESS);
    CHECK(TORUSMP_Extents(ndims, NULL, NULL) == MPI_SUCCESS);
    CHECK(product(ndims, d) == ranks);
    CHECK(TORUSMP_Coords(MPI_COMM_WORLD, me, ndims, at) == MPI_SUCCESS);
    for (r = 0; r < ranks; r++) {
        int steps = 0, place = 0;
        CHECK(TORUSMP_Coords(MPI_COMM_WORLD, r, ndims, there) == MPI_SUCCESS);
        for (i = 0; i < ndims; i++) {
            const int far = abs(there[i] - at[i]);
            steps += wrap[i] && d[i] - far < far ? d[i] - far : far;
            place = place * d[i] + there[i];
        }
        CHECK(place == r && hops(MPI_COMM_WORLD, r) == steps);
    }
    for (i = 0; i < ndims; i++) {
        int side;
        for (side = TORUSMP_MINUS; side <= TORUSMP_PLUS; side++) {
            const int edge = !wrap[i] && at[i] == (side == TORUSMP_PLUS ? d[i] - 1 : 0);
            CHECK(TORUSMP_Link(i, side, name, &length) == MPI_SUCCESS);
            CHECK((int)strlen(name) == length);
            CHECK(d[i] == 1 ? strcmp(name, "self") == 0 : (length == 0) == edge);
        }
    }
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(TORUSMP_Extents(ndims - 1, d, wrap), MPI_ERR_DIMS);
    CHECK_CLASS(TORUSMP_Coords(MPI_COMM_WORLD, ranks, ndims, at), MPI_ERR_RANK);
    CHECK_CLASS(TORUSMP_Hops(MPI_COMM_NULL, 0, &i), MPI_ERR_COMM);
    CHECK_CLASS(TORUSMP_Link(ndims, TORUSMP_PLUS, name, &length), MPI_ERR_DIMS);
    CHECK_CLASS(TORUSMP_Link(0, 2, name, &length), MPI_ERR_ARG);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

/* The furthest neighbour of this process in a grid, in hops. */
static int dilation(MPI_Comm cart, int ndims) {
    int d, most = 0;
    for (d = 0; d < ndims; d++) {
        int source, dest;
        CHECK(MPI_Cart_shift(cart, d, 1, &source, &dest) == MPI_SUCCESS);
        if (source != MPI_PROC_NULL && hops(cart, source) > most) most = hops(cart, source);
        if (dest != MPI_PROC_NULL && hops(cart, dest) > most) most = hops(cart, dest);
    }
    return most;
}

static void check_links(MPI_Comm comm, int ndims, const int* d, const int* wrap, int same_order) {
    MPI_Comm cart;
    int r;
    CHECK(MPI_Cart_create(comm, ndims, d, wrap, 1, &cart) == MPI_SUCCESS);
    CHECK(dilation(cart, ndims) <= 1);
    CHECK(MPI_Comm_rank(cart, &r) == MPI_SUCCESS && (!same_order || r == me));
    CHECK(MPI_Comm_free(&cart) == MPI_SUCCESS);
}

/* With reorder, neighbours in the grid are neighbours in the torus: on the machine's own shape,
 * which keeps its order, and on its planes. */
static void links(void) {
    int ndims, d[TORUSMP_MAX_DIMENSIONS], wrap[TORUSMP_MAX_DIMENSIONS], i;
    int at[TORUSMP_MAX_DIMENSIONS];
    int turned[TORUSMP_MAX_DIMENSIONS], turned_wrap[TORUSMP_MAX_DIMENSIONS];
    CHECK(TORUSMP_Dimensions(&ndims) == MPI_SUCCESS);
    CHECK(TORUSMP_Extents(ndims, d, wrap) == MPI_SUCCESS);
    CHECK(TORUSMP_Coords(MPI_COMM_WORLD, me, ndims, at) == MPI_SUCCESS);
    check_links(MPI_COMM_WORLD, ndims, d, wrap, 1);
    for (i = 0; i < ndims; i++) {
        turned[i] = d[ndims - 1 - i];
        turned_wrap[i] = wrap[ndims - 1 - i];
    }
    check_links(MPI_COMM_WORLD, ndims, turned, turned_wrap, 0);
    for (i = 0; i < ndims; i++) {
        MPI_Comm plane, shuffled;
        int k, n = 0;
        for (k = 0; k < ndims; k++)
            if (k != i) turned[n] = d[k], turned_wrap[n++] = wrap[k];
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, at[i], me, &plane) == MPI_SUCCESS);
        check_links(plane, n, turned, turned_wrap, 0);
        CHECK(MPI_Comm_split(plane, 0, me * 7 % 5, &shuffled) == MPI_SUCCESS);
        check_links(shuffled, n, turned, turned_wrap, 0);
        CHECK(MPI_Comm_free(&shuffled) == MPI_SUCCESS);
        CHECK(MPI_Comm_free(&plane) == MPI_SUCCESS);
    }
}

/* On machines of 2x2x2 only: every grid that folds it, and the machine given as a graph. */
static void links_of_2x2x2(void) {
    static const int grids[4][3] = {{8, 1, 1}, {4, 2, 1}, {2, 4, 1}, {2, 2, 2}};
    const int wrap[3] = {1, 1, 1};
    int index[8], edges[24], near[3], i, b;
    MPI_Comm cube;
    for (i = 0; i < 4; i++) check_links(MPI_COMM_WORLD, 3, grids[i], wrap, 0);
    /* Its corners numbered otherwise: neighbours differ in one bit of a Gray code. */
    for (i = 0; i < 8; i++) {
        const int code = i ^ i >> 1;
        int k;
        for (b = 0; b < 3; b++)
            for (k = 0; k < 8; k++)
                if ((k ^ k >> 1) == (code ^ 1 << b)) edges[3 * i + b] = k;
        index[i] = 3 * (i + 1);
    }
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 8, index, edges, 1, &cube) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(cube, &i) == MPI_SUCCESS);
    CHECK(MPI_Graph_neighbors(cube, i, 3, near) == MPI_SUCCESS);
    for (b = 0; b < 3; b++) CHECK(hops(cube, near[b]) == 1);
    CHECK(MPI_Comm_free(&cube) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
    static const Case cases[] = {
        {"dims", dims},
        {"cartesian", cartesian},
        {"parts_of_grid", parts_of_grid},
        {"smaller_grids", smaller_grids},
        {"cartesian_errors", cartesian_errors},
        {"graph", graph},
        {"graph_errors", graph_errors},
        {"adjacent_graph", adjacent_graph},
        {"distributed_graph", distributed_graph},
        {"machine", machine},
        {"links", links},
    };
    static const Case of_2x2x2[] = {{"links_of_2x2x2", links_of_2x2x2}};
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    if (argc > 1 && strcmp(argv[1], "links_of_2x2x2") == 0)
        RUN_CASES(argc, argv, of_2x2x2);
    else
        RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
