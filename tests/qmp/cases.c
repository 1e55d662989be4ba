/* What QMP programs rely on, one case at a time: cases NAME [-qmp-... flags]. Each case works on
 * any number of processes unless it says otherwise. */
#include "check.h"

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

QMP_status_t QMP_get_mpi_comm(QMP_comm_t comm, void** mpicomm);

static int me, nodes;
static int next_node, previous_node;

static QMP_msghandle_t send_block(void* memory, size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = QMP_declare_send_to(m, node, 0);
    CHECK(m != NULL && h != NULL);
    QMP_free_msgmem(m); /* may go before the handle is used */
    return h;
}

static QMP_msghandle_t receive_block(void* memory, size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = QMP_declare_receive_from(m, node, 0);
    CHECK(m != NULL && h != NULL);
    QMP_free_msgmem(m);
    return h;
}

static QMP_msghandle_t relative(int is_send, void* memory, size_t bytes, int axis, int dir) {
    QMP_msgmem_t m = QMP_declare_msgmem(memory, bytes);
    QMP_msghandle_t h = is_send ? QMP_declare_send_relative(m, axis, dir, 0)
                                : QMP_declare_receive_relative(m, axis, dir, 0);
    CHECK(h != NULL);
    QMP_free_msgmem(m);
    return h;
}

/* Receive first, then send, then wait for both. */
static void exchange(QMP_msghandle_t receive, QMP_msghandle_t send) {
    CHECK(QMP_start(receive) == QMP_SUCCESS);
    CHECK(QMP_start(send) == QMP_SUCCESS);
    CHECK(QMP_wait(receive) == QMP_SUCCESS);
    CHECK(QMP_wait(send) == QMP_SUCCESS);
}

/* The longest and most even grid of all nodes in ndim dimensions, first dimension largest. */
static void grid_of_nodes(int dims[], int ndim) {
    int rest = nodes, d, p;
    for (d = 0; d < ndim; d++) dims[d] = 1;
    for (p = 2; rest > 1; p++)
        while (rest % p == 0) {
            int smallest = 0;
            for (d = 1; d < ndim; d++)
                if (dims[d] < dims[smallest]) smallest = d;
            dims[smallest] *= p;
            rest /= p;
        }
}

static void machine(void) {
    QMP_comm_t allocated = QMP_comm_get_allocated();
    CHECK(QMP_is_initialized() == QMP_TRUE);
    CHECK(QMP_comm_get_number_of_nodes(allocated) == nodes);
    CHECK(QMP_comm_get_node_number(allocated) == me);
    CHECK(QMP_comm_is_primary_node(allocated) == (me == 0));
    CHECK(QMP_is_primary_node() == (me == 0));
    CHECK(QMP_get_msg_passing_type() == QMP_SWITCH);
    CHECK(QMP_get_allocated_number_of_dimensions() == 0);
    CHECK(QMP_get_allocated_dimensions() == NULL);
    CHECK(QMP_get_allocated_coordinates() == NULL);
    CHECK(QMP_get_number_of_jobs() == 1);
    CHECK(QMP_get_job_number() == 0);
    CHECK(QMP_get_number_of_job_geometry_dimensions() == 0);
    CHECK(QMP_get_job_geometry() == NULL);
    CHECK(QMP_io_node(me) == me);
    CHECK(QMP_master_io_node() == 0);
    CHECK(strcmp(QMP_version_str(), "2.5.4") == 0);
    CHECK(QMP_version_int() == 2005004);
}

static void errors(void) {
    QMP_status_t code;
    CHECK(QMP_ERROR == 0x1001 && QMP_INVALID_ARG == 0x100f);
    CHECK(strlen(QMP_error_string(QMP_SUCCESS)) > 0);
    for (code = QMP_ERROR; code < QMP_MAX_STATUS; code = (QMP_status_t)(code + 1)) {
        CHECK(strlen(QMP_error_string(code)) > 0);
        CHECK(strncmp(QMP_error_string(code), "unknown", 7) != 0);
    }
    CHECK(strcmp(QMP_error_string((QMP_status_t)77), "unknown error code 77") == 0);
    CHECK(QMP_get_error_number(NULL) == QMP_SUCCESS);
    CHECK(strcmp(QMP_get_error_string(NULL), QMP_error_string(QMP_SUCCESS)) == 0);
    CHECK(QMP_sum_double(NULL) == QMP_INVALID_ARG);
    CHECK(QMP_get_error_number(NULL) == QMP_INVALID_ARG);
    CHECK(QMP_broadcast(NULL, 1) == QMP_INVALID_ARG);
    CHECK(QMP_sum_double_array(NULL, -1) == QMP_INVALID_ARG);
    CHECK(QMP_binary_reduction(&code, sizeof code, NULL) == QMP_INVALID_ARG);
    CHECK(QMP_declare_strided_msgmem(&code, 1, -1, 1) == NULL);
    CHECK(QMP_layout_grid(NULL, 4) == QMP_INVALID_ARG);
    CHECK(QMP_comm_set_default(NULL) == QMP_INVALID_ARG);
    CHECK(QMP_comm_split(QMP_comm_get_default(), 0, 0, NULL) == QMP_INVALID_ARG);
}

static void printing(void) {
    CHECK(QMP_printf("%d plain", 12) == 8);
    CHECK(QMP_info("info%s", "!") == 5);
    CHECK(QMP_fprintf(stdout, "to a stream") == 11);
    CHECK(QMP_error("an error") == 8);
    CHECK(QMP_verbose(3) == 2 && QMP_verbose(0) == 3); /* main() set 2 before init */
    fflush(stdout);
}

static void time_and_profile(void) {
    double t = QMP_time(), value = 1.0;
    usleep(2000);
    CHECK(QMP_time() - t >= 0.002 && QMP_time() - t < 60.0);
    CHECK(QMP_get_total_qmp_time() == 0.0);
    CHECK(QMP_sum_double(&value) == QMP_SUCCESS);
    CHECK(QMP_get_total_qmp_time() == 0.0);
    CHECK(QMP_profcontrol(1) == 0);
    CHECK(QMP_sum_double(&value) == QMP_SUCCESS);
    CHECK(QMP_get_total_qmp_time() > 0.0);
    QMP_reset_total_qmp_time();
    CHECK(QMP_get_total_qmp_time() == 0.0);
    CHECK(QMP_profcontrol(0) == 1);
}

static void topology(void) {
    int dims[3], node, d, c[3], *coords;
    const int* mine;
    CHECK(QMP_logical_topology_is_declared() == QMP_FALSE);
    CHECK(QMP_get_logical_dimensions() == NULL);
    CHECK(QMP_get_logical_number_of_dimensions() == 0);
    /* What is wrong is refused, and nothing is declared by it. */
    dims[0] = nodes + 1;
    CHECK(QMP_declare_logical_topology(dims, 1) == QMP_INVALID_ARG);
    dims[0] = -nodes;
    dims[1] = -1;
    CHECK(QMP_declare_logical_topology(dims, 2) == QMP_INVALID_ARG);
    CHECK(QMP_declare_logical_topology(dims, -2) == QMP_INVALID_ARG);
    CHECK(QMP_declare_logical_topology(dims, 0) == QMP_SUCCESS);
    CHECK(QMP_logical_topology_is_declared() == QMP_FALSE);

    grid_of_nodes(dims, 3);
    CHECK(QMP_declare_logical_topology(dims, 3) == QMP_SUCCESS);
    CHECK(QMP_logical_topology_is_declared() == QMP_TRUE);
    CHECK(QMP_get_logical_number_of_dimensions() == 3);
    CHECK(memcmp(QMP_get_logical_dimensions(), dims, sizeof dims) == 0);
    mine = QMP_get_logical_coordinates();
    CHECK(mine[0] + dims[0] * (mine[1] + dims[1] * mine[2]) == me); /* first dimension fastest */
    CHECK(QMP_get_node_number_from(mine) == me);
    for (node = 0; node < nodes; node++) {
        int rest = node;
        coords = QMP_get_logical_coordinates_from(node);
        QMP_get_logical_coordinates_from2(c, node);
        for (d = 0; d < 3; rest /= dims[d], d++)
            CHECK(coords[d] == rest % dims[d] && c[d] == coords[d]);
        CHECK(QMP_get_node_number_from(coords) == node);
        free(coords);
    }
    CHECK(QMP_get_logical_coordinates_from(nodes) == NULL);
    CHECK(QMP_get_error_number(NULL) == QMP_NODE_OUTRANGE);
    c[0] = dims[0];
    CHECK(QMP_get_node_number_from(c) == -1);
    /* The allocated and the job communicators are others. */
    CHECK(QMP_comm_logical_topology_is_declared(QMP_comm_get_allocated()) == QMP_FALSE);
    CHECK(QMP_comm_logical_topology_is_declared(QMP_comm_get_job()) == QMP_FALSE);
}

static void topology_map(void) {
    int dims[3], map[3] = {2, 0, 1}, bad[3] = {0, 0, 1}, node, c[3], *coords;
    const int* mine;
    QMP_comm_t comm = QMP_comm_get_default();
    grid_of_nodes(dims, 3);
    CHECK(QMP_declare_logical_topology_map(dims, 3, bad, 3) == QMP_INVALID_ARG);
    CHECK(QMP_declare_logical_topology_map(dims, 3, map, 2) == QMP_INVALID_ARG);
    CHECK(QMP_declare_logical_topology_map(dims, 3, NULL, 3) == QMP_INVALID_ARG);
    CHECK(QMP_comm_declare_logical_topology_map(comm, dims, 3, map, 3) == QMP_SUCCESS);
    CHECK(QMP_comm_get_logical_number_of_dimensions(comm) == 3);
    CHECK(memcmp(QMP_comm_get_logical_dimensions(comm), dims, sizeof dims) == 0);
    mine = QMP_comm_get_logical_coordinates(comm);
    CHECK(mine[2] + dims[2] * (mine[0] + dims[0] * mine[1]) == me); /* map[0] fastest */
    for (node = 0; node < nodes; node++) {
        coords = QMP_comm_get_logical_coordinates_from(comm, node);
        QMP_comm_get_logical_coordinates_from2(comm, c, node);
        CHECK(memcmp(coords, c, sizeof c) == 0);
        CHECK(c[2] + dims[2] * (c[0] + dims[0] * c[1]) == node);
        CHECK(QMP_comm_get_node_number_from(comm, c) == node);
        free(coords);
    }
}

/* Run with -qmp-logic-map 1 0. */
static void logic_map_flag(void) {
    int dims[2];
    const int* mine;
    grid_of_nodes(dims, 2);
    CHECK(QMP_declare_logical_topology(dims, 2) == QMP_SUCCESS);
    mine = QMP_get_logical_coordinates();
    CHECK(mine[1] + dims[1] * mine[0] == me);
    /* It is not for other communicators. */
    CHECK(QMP_comm_declare_logical_topology(QMP_comm_get_job(), dims, 2) == QMP_SUCCESS);
    mine = QMP_comm_get_logical_coordinates(QMP_comm_get_job());
    CHECK(mine[0] + dims[0] * mine[1] == me);
}

/* The machine's own torus: neighbours are one link away, whatever it is. */
static void native_topology(void) {
    int *seen = calloc((size_t)nodes, sizeof *seen), node, c[6];
    CHECK(QMP_declare_logical_topology(NULL, -1) == QMP_SUCCESS);
    CHECK(QMP_get_logical_number_of_dimensions() >= 1);
    for (node = 0; node < nodes; node++) {
        QMP_get_logical_coordinates_from2(c, node);
        CHECK(QMP_get_node_number_from(c) == node);
        seen[node]++;
    }
    free(seen);
}

/* Run with -qmp-geom 2 3 and 6 processes: the allocated machine only. */
static void geometry_flag(void) {
    const int *dims = QMP_get_allocated_dimensions(), *mine = QMP_get_allocated_coordinates();
    CHECK(QMP_get_msg_passing_type() == QMP_GRID && QMP_GRID == QMP_MESH);
    CHECK(QMP_get_allocated_number_of_dimensions() == 2);
    CHECK(dims[0] == 2 && dims[1] == 3);
    CHECK(mine[0] + 2 * mine[1] == QMP_comm_get_node_number(QMP_comm_get_allocated()));
    CHECK(QMP_logical_topology_is_declared() == QMP_FALSE);
    CHECK(QMP_get_number_of_job_geometry_dimensions() == 0);
    CHECK(QMP_declare_logical_topology(dims, 2) == QMP_SUCCESS);
    CHECK(QMP_get_logical_coordinates()[0] == mine[0] &&
          QMP_get_logical_coordinates()[1] == mine[1]);
}

/* Run with -qmp-geom 4 2 -qmp-job 2 1 [-qmp-alloc-map 1 0] and 8 processes: two jobs of 2 x 2. */
static void jobs_flag(void) {
    const int* mine = QMP_get_allocated_coordinates();
    int one = 1;
    CHECK(QMP_get_number_of_jobs() == 2);
    CHECK(QMP_get_job_number() == mine[0] / 2);
    CHECK(QMP_get_number_of_job_geometry_dimensions() == 2);
    CHECK(QMP_get_job_geometry()[0] == 2 && QMP_get_job_geometry()[1] == 2);
    CHECK(nodes == 4 && QMP_get_number_of_nodes() == 4);
    CHECK(QMP_comm_get_logical_coordinates(QMP_comm_get_job())[0] == mine[0] % 2);
    CHECK(QMP_comm_get_logical_coordinates(QMP_comm_get_job())[1] == mine[1]);
    CHECK(QMP_sum_int(&one) == QMP_SUCCESS && one == 4);
    CHECK(QMP_comm_sum_int(QMP_comm_get_allocated(), &one) == QMP_SUCCESS && one == 32);
    CHECK(QMP_layout_grid(QMP_get_job_geometry(), 2) == QMP_SUCCESS);
    CHECK(QMP_get_logical_dimensions()[0] == 2 && QMP_get_number_of_subgrid_sites() == 1);
}

/* Run with -qmp-job 2: halves of the nodes in a row. */
static void jobs_without_geometry(void) {
    int machine_node = QMP_comm_get_node_number(QMP_comm_get_allocated());
    CHECK(QMP_get_number_of_jobs() == 2);
    CHECK(QMP_comm_get_number_of_nodes(QMP_comm_get_allocated()) == 2 * nodes);
    CHECK(QMP_get_job_number() == machine_node / nodes && me == machine_node % nodes);
    CHECK(QMP_get_job_geometry() == NULL);
}

/* Run with -qmp-nmpi 3 on more. */
static void fewer_processes(void) {
    int one = 1;
    CHECK(nodes == 3);
    CHECK(QMP_sum_int(&one) == QMP_SUCCESS && one == 3);
}

static void layout_grid(void) {
    int lattice[4] = {24, 24, 24, 48}, odd[4] = {7, 7, 7, 7}, d, product = 1, sites = 1;
    CHECK(QMP_get_subgrid_dimensions() == NULL && QMP_get_number_of_subgrid_sites() == 0);
    if (nodes > 1) CHECK(QMP_layout_grid(odd, 4) == QMP_ERROR);
    CHECK(QMP_layout_grid(lattice, 4) == QMP_SUCCESS);
    CHECK(QMP_logical_topology_is_declared() == QMP_TRUE);
    for (d = 0; d < 4; d++) {
        CHECK(QMP_get_subgrid_dimensions()[d] * QMP_get_logical_dimensions()[d] == lattice[d]);
        product *= QMP_get_logical_dimensions()[d];
        sites *= QMP_get_subgrid_dimensions()[d];
    }
    CHECK(product == nodes && QMP_get_number_of_subgrid_sites() == sites);
    if (nodes == 2) CHECK(QMP_get_logical_dimensions()[3] == 2); /* the longest is cut */
    lattice[0] = 48;
    CHECK(QMP_layout_grid(lattice, 4) == QMP_SUCCESS); /* again, on the same topology */
    CHECK(QMP_get_number_of_subgrid_sites() == 2 * sites);
    CHECK(QMP_layout_grid(lattice, 3) == QMP_ERROR);
}

static void memory(void) {
    static const size_t alignments[] = {0, 1, 8, 48, 64, 100, 4096};
    size_t i, bytes;
    QMP_mem_t* mem;
    char* p;
    for (i = 0; i < sizeof alignments / sizeof *alignments; i++)
        for (bytes = 0; bytes < 100000; bytes = bytes * 7 + 1) {
            mem = QMP_allocate_aligned_memory(bytes, alignments[i], QMP_MEM_NONCACHE);
            CHECK(mem != NULL);
            p = QMP_get_memory_pointer(mem);
            CHECK(p != NULL);
            if (alignments[i] > 0) CHECK((uintptr_t)p % alignments[i] == 0);
            memset(p, 17, bytes);
            QMP_free_memory(mem);
        }
    mem = QMP_allocate_memory(1000);
    CHECK((uintptr_t)QMP_get_memory_pointer(mem) % QMP_ALIGN_DEFAULT == 0);
    QMP_free_memory(mem);
    QMP_free_memory(NULL);
    CHECK(QMP_allocate_memory((size_t)-1) == NULL);
    CHECK(QMP_get_error_number(NULL) == QMP_NOMEM_ERR);
}

/* Around the ring, with all sizes on both sides of every limit. */
static void sizes(void) {
    static const size_t sizes[] = {0, 1, 8, 100, 2047, 2048, 16383, 16384, 16385, 70000, 1048577};
    size_t i, k;
    int round;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        QMP_mem_t *a = QMP_allocate_memory(n), *b = QMP_allocate_memory(n);
        unsigned char *out = QMP_get_memory_pointer(a), *in = QMP_get_memory_pointer(b);
        QMP_msghandle_t s = send_block(out, n, next_node), r = receive_block(in, n, previous_node);
        for (round = 0; round < 4; round++) {
            for (k = 0; k < n; k++) out[k] = (unsigned char)(me * 31 + round * 7 + (int)(k % 251));
            memset(in, 0, n);
            exchange(r, s);
            for (k = 0; k < n; k++)
                CHECK(in[k] == (unsigned char)(previous_node * 31 + round * 7 + (int)(k % 251)));
        }
        QMP_free_msghandle(s);
        QMP_free_msghandle(r);
        QMP_free_memory(a);
        QMP_free_memory(b);
    }
}

static void shorter_than_receive(void) {
    char in[100], out[100];
    QMP_msghandle_t r = receive_block(in, 100, previous_node);
    QMP_msghandle_t s40 = send_block(out, 40, next_node), s0 = send_block(out, 0, next_node);
    memset(out, me + 1, sizeof out);
    memset(in, 99, sizeof in);
    exchange(r, s0);
    CHECK(in[0] == 99);
    exchange(r, s40);
    CHECK(in[0] == previous_node + 1 && in[39] == previous_node + 1 && in[40] == 99);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s40);
    QMP_free_msghandle(s0);
}

static void to_oneself(void) {
    static double in[40000], out[40000];
    int dims[2], i;
    QMP_msghandle_t r, s;
    dims[0] = nodes;
    dims[1] = 1;
    CHECK(QMP_declare_logical_topology(dims, 2) == QMP_SUCCESS);
    for (i = 0; i < 40000; i++) out[i] = me + i;
    r = relative(0, in, sizeof in, 1, -1);
    s = relative(1, out, sizeof out, 1, +1);
    exchange(r, s);
    CHECK(memcmp(in, out, sizeof in) == 0);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
    memset(in, 0, sizeof in);
    r = receive_block(in, 80, me);
    s = send_block(out, 80, me);
    CHECK(QMP_start(s) == QMP_SUCCESS); /* also with the send first */
    CHECK(QMP_start(r) == QMP_SUCCESS);
    CHECK(QMP_wait(s) == QMP_SUCCESS && QMP_wait(r) == QMP_SUCCESS);
    CHECK(memcmp(in, out, 80) == 0);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
}

/* Even nodes start to higher numbers, and + and - of a dimension of size 2 stay apart. */
static void both_directions(void) {
    int dims[3], d, dir, in[3][2], out[3][2];
    QMP_msghandle_t all[12], whole;
    int n = 0, round;
    grid_of_nodes(dims, 3);
    CHECK(QMP_declare_logical_topology(dims, 3) == QMP_SUCCESS);
    /* Sends and receives declared in opposite orders of direction. */
    for (d = 0; d < 3; d++)
        for (dir = 0; dir < 2; dir++) {
            all[n++] = relative(1, &out[d][dir], sizeof(int), d, dir ? 1 : -1);
            all[n++] = relative(0, &in[d][1 - dir], sizeof(int), d, dir ? -1 : 1);
        }
    whole = QMP_declare_multiple(all, n);
    for (round = 0; round < 20; round++) {
        for (d = 0; d < 3; d++)
            for (dir = 0; dir < 2; dir++) out[d][dir] = round * 100000 + me * 100 + d * 10 + dir;
        CHECK(QMP_start(whole) == QMP_SUCCESS);
        CHECK(QMP_wait(whole) == QMP_SUCCESS);
        for (d = 0; d < 3; d++)
            for (dir = 0; dir < 2; dir++) {
                int c[3], from;
                memcpy(c, QMP_get_logical_coordinates(), sizeof c);
                c[d] = (c[d] + (dir ? 1 : dims[d] - 1)) % dims[d];
                from = QMP_get_node_number_from(c);
                /* from direction dir comes what the neighbour there sent the opposite way */
                CHECK(in[d][dir] == round * 100000 + from * 100 + d * 10 + (1 - dir));
            }
    }
    QMP_free_msghandle(whole);
}

/* A relative send and a send by number to the same node do not mix, whatever the order. */
static void kinds_apart(void) {
    int dims[1], a = me + 1000, b = me + 2000, ra = 0, rb = 0;
    QMP_msghandle_t sa, sb, ha, hb;
    dims[0] = nodes;
    CHECK(QMP_declare_logical_topology(dims, 1) == QMP_SUCCESS);
    sa = relative(1, &a, sizeof a, 0, +1);
    sb = send_block(&b, sizeof b, next_node);
    ha = relative(0, &ra, sizeof ra, 0, -1);
    hb = receive_block(&rb, sizeof rb, previous_node);
    CHECK(QMP_start(hb) == QMP_SUCCESS && QMP_start(ha) == QMP_SUCCESS);
    CHECK(QMP_start(sa) == QMP_SUCCESS && QMP_start(sb) == QMP_SUCCESS);
    CHECK(QMP_wait(ha) == QMP_SUCCESS && QMP_wait(hb) == QMP_SUCCESS);
    CHECK(QMP_wait(sa) == QMP_SUCCESS && QMP_wait(sb) == QMP_SUCCESS);
    CHECK(ra == previous_node + 1000 && rb == previous_node + 2000);
    QMP_free_msghandle(sa);
    QMP_free_msghandle(sb);
    QMP_free_msghandle(ha);
    QMP_free_msghandle(hb);
}

/* Several handles of one kind to one node match in the order of starting, not of declaring. */
static void start_order(void) {
    enum { many = 40 };
    static int out[many], in[many];
    QMP_msghandle_t s[many], r[many];
    int i;
    for (i = 0; i < many; i++) {
        out[i] = me * 1000 + i;
        s[i] = send_block(&out[i], sizeof(int), next_node);
        r[i] = receive_block(&in[i], sizeof(int), previous_node);
    }
    for (i = 0; i < many; i++) CHECK(QMP_start(s[many - 1 - i]) == QMP_SUCCESS);
    for (i = 0; i < many; i++) CHECK(QMP_start(r[i]) == QMP_SUCCESS);
    CHECK(QMP_wait_all(r, many) == QMP_SUCCESS && QMP_wait_all(s, many) == QMP_SUCCESS);
    for (i = 0; i < many; i++) CHECK(in[i] == previous_node * 1000 + many - 1 - i);
    for (i = 0; i < many; i++) {
        QMP_free_msghandle(s[i]);
        QMP_free_msghandle(r[i]);
    }
}

static void multiples(void) {
    int in[4] = {0, 0, 0, 0}, out[4], i, round;
    QMP_msghandle_t empty = QMP_declare_multiple(NULL, 0), pair[2], three[3], whole, inner;
    void* addresses[4];
    int other_in[2] = {0, 0}, other_out[2];
    CHECK(empty != NULL);
    CHECK(QMP_start(empty) == QMP_SUCCESS && QMP_wait(empty) == QMP_SUCCESS);
    QMP_free_msghandle(empty);
    QMP_free_msghandle(NULL);

    pair[0] = send_block(&out[0], sizeof(int), next_node);
    pair[1] = receive_block(&in[0], sizeof(int), previous_node);
    inner = QMP_declare_send_recv_pairs(pair, 2);
    three[0] = inner;
    three[1] = send_block(&out[1], sizeof(int), next_node);
    three[2] = receive_block(&in[1], sizeof(int), previous_node);
    whole = QMP_declare_multiple(three, 3);
    CHECK(QMP_is_complete(whole) == QMP_TRUE); /* not started */
    CHECK(QMP_wait(whole) == QMP_SUCCESS);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < 2; i++) out[i] = me * 10 + i + round * 1000;
        CHECK(QMP_start(whole) == QMP_SUCCESS);
        if (round == 1)
            while (QMP_is_complete(whole) == QMP_FALSE) {
            }
        CHECK(QMP_wait(whole) == QMP_SUCCESS);
        for (i = 0; i < 2; i++) CHECK(in[i] == previous_node * 10 + i + round * 1000);
    }
    /* The nested multiple was flattened: four parts, in order. */
    addresses[0] = &other_out[0];
    addresses[1] = &other_in[0];
    addresses[2] = &other_out[1];
    addresses[3] = &other_in[1];
    CHECK(QMP_change_address_multiple(whole, addresses, 4) == QMP_SUCCESS);
    in[0] = in[1] = -1;
    for (i = 0; i < 2; i++) other_out[i] = me * 10 + i + 7;
    CHECK(QMP_start(whole) == QMP_SUCCESS && QMP_wait(whole) == QMP_SUCCESS);
    for (i = 0; i < 2; i++) CHECK(other_in[i] == previous_node * 10 + i + 7 && in[i] == -1);
    CHECK(QMP_get_error_number(whole) == QMP_SUCCESS);
    CHECK(strlen(QMP_get_error_string(whole)) > 0);
    QMP_free_msghandle(whole);
}

static void wait_and_test(void) {
    int in = -1, out = me;
    QMP_msghandle_t r = receive_block(&in, sizeof in, previous_node);
    QMP_msghandle_t s = send_block(&out, sizeof out, next_node);
    CHECK(QMP_wait(r) == QMP_SUCCESS); /* not started: at once */
    CHECK(QMP_is_complete(r) == QMP_TRUE);
    CHECK(QMP_wait_all(&r, 1) == QMP_SUCCESS && QMP_wait_all(NULL, 0) == QMP_SUCCESS);
    CHECK(QMP_start(r) == QMP_SUCCESS);
    if (nodes > 1) {
        usleep(1000);
        CHECK(QMP_is_complete(r) == QMP_FALSE || previous_node != me);
    }
    CHECK(QMP_start(s) == QMP_SUCCESS);
    while (QMP_is_complete(r) == QMP_FALSE) {
    }
    CHECK(in == previous_node);
    CHECK(QMP_wait(s) == QMP_SUCCESS);
    CHECK(QMP_start(r) == QMP_SUCCESS); /* complete once seen: it may start again */
    CHECK(QMP_start(s) == QMP_SUCCESS && QMP_wait(s) == QMP_SUCCESS && QMP_wait(r) == QMP_SUCCESS);
    CHECK(QMP_clear_to_send(r, QMP_CTS_READY) == QMP_SUCCESS);
    CHECK(QMP_clear_to_send(s, QMP_CTS_DISABLED) == QMP_SUCCESS);
    CHECK(QMP_clear_to_send(r, (QMP_clear_to_send_t)7) == QMP_INVALID_ARG);
    exchange(r, s);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
}

static void strided(void) {
    enum { blocks = 300 };
    static double field[2 * blocks * 3], line[blocks * 3];
    QMP_msgmem_t m;
    QMP_msghandle_t s, r;
    int i, k;
    for (i = 0; i < 2 * blocks * 3; i++) field[i] = me * 10000 + i;
    m = QMP_declare_strided_msgmem(field + 3, 3 * sizeof(double), blocks, 6 * sizeof(double));
    s = QMP_declare_send_to(m, next_node, 0);
    QMP_free_msgmem(m);
    r = receive_block(line, sizeof line, previous_node);
    exchange(r, s);
    for (i = 0; i < blocks; i++)
        for (k = 0; k < 3; k++) CHECK(line[3 * i + k] == previous_node * 10000 + 6 * i + 3 + k);
    QMP_free_msghandle(s);
    QMP_free_msghandle(r);
    /* and into strided memory, backwards */
    m = QMP_declare_strided_msgmem(field + 6 * (blocks - 1), 3 * sizeof(double), blocks,
                                   -6 * (ptrdiff_t)sizeof(double));
    r = QMP_declare_receive_from(m, previous_node, 0);
    QMP_free_msgmem(m);
    for (i = 0; i < blocks * 3; i++) line[i] = me + 0.5 * i;
    s = send_block(line, sizeof line, next_node);
    exchange(r, s);
    for (i = 0; i < blocks; i++)
        for (k = 0; k < 3; k++) {
            CHECK(field[6 * (blocks - 1 - i) + k] == previous_node + 0.5 * (3 * i + k));
            CHECK(field[6 * i + 3 + k] == me * 10000 + 6 * i + 3 + k); /* between: untouched */
        }
    QMP_free_msghandle(s);
    QMP_free_msghandle(r);
}

static void strided_array_and_indexed(void) {
    static float a[2][100], got[64];
    void* base[2];
    size_t blksize[2] = {4 * sizeof(float), 2 * sizeof(float)};
    int nblocks[2] = {5, 7}, i, k, n, len[3] = {2, 0, 3}, index[3] = {10, 50, 1};
    ptrdiff_t stride[2] = {10 * sizeof(float), 3 * sizeof(float)};
    QMP_msgmem_t m;
    QMP_msghandle_t s, r;
    static float moved[2][100];
    base[0] = a[0];
    base[1] = a[1];
    for (i = 0; i < 200; i++) a[i / 100][i % 100] = (float)(me * 1000 + i);
    for (i = 0; i < 200; i++) moved[i / 100][i % 100] = -a[i / 100][i % 100];
    m = QMP_declare_strided_array_msgmem(base, blksize, nblocks, stride, 2);
    s = QMP_declare_send_to(m, next_node, 0);
    QMP_free_msgmem(m);
    r = receive_block(got, 34 * sizeof(float), previous_node);
    for (k = 0; k < 2; k++) {
        float sign = k ? -1.0f : 1.0f;
        exchange(r, s);
        for (i = 0; i < 20; i++)
            CHECK(got[i] == sign * (float)(previous_node * 1000 + i / 4 * 10 + i % 4));
        for (i = 0; i < 14; i++)
            CHECK(got[20 + i] == sign * (float)(previous_node * 1000 + 100 + i / 2 * 3 + i % 2));
        /* All bases move together with the first. */
        CHECK(QMP_change_address(s, moved[0]) == QMP_SUCCESS);
    }
    QMP_free_msghandle(s);
    QMP_free_msghandle(r);

    m = QMP_declare_indexed_msgmem(a[0], len, index, sizeof(float), 3);
    s = QMP_declare_send_to(m, next_node, 0);
    QMP_free_msgmem(m);
    r = receive_block(got, 5 * sizeof(float), previous_node);
    exchange(r, s);
    n = previous_node * 1000;
    CHECK(got[0] == (float)(n + 10) && got[1] == (float)(n + 11));
    CHECK(got[2] == (float)(n + 1) && got[4] == (float)(n + 3));
    QMP_free_msghandle(s);
    QMP_free_msghandle(r);
}

static void sums(void) {
    QMP_comm_t comm = QMP_comm_get_default();
    double n = nodes, half = n * (n - 1) / 2, d;
    int i = 1 << 24, k;
    uint64_t u = ((uint64_t)1 << 60) + (uint64_t)me;
    float f = 0.5f;
    long double ld = 1.0L + 1e-18L * me;
    unsigned long x = 1ul << me, bits = 0;
    float fa[5];
    double da[5], big[3000];
    long double la[3];
    for (k = 0; k < nodes; k++) bits ^= 1ul << k;

    i += me;
    CHECK(QMP_sum_int(&i) == QMP_SUCCESS && i == nodes * (1 << 24) + (int)half);
    i = me;
    CHECK(QMP_comm_sum_int(comm, &i) == QMP_SUCCESS && i == (int)half);
    CHECK(QMP_sum_uint64_t(&u) == QMP_SUCCESS);
    CHECK(u == ((uint64_t)nodes << 60) + (uint64_t)half); /* exact */
    u = 3;
    CHECK(QMP_comm_sum_uint64_t(comm, &u) == QMP_SUCCESS && u == 3 * (uint64_t)nodes);
    CHECK(QMP_sum_float(&f) == QMP_SUCCESS && f == 0.5f * (float)nodes);
    f = (float)me;
    CHECK(QMP_comm_sum_float(comm, &f) == QMP_SUCCESS && f == (float)half);
    d = me;
    CHECK(QMP_sum_double(&d) == QMP_SUCCESS && d == half);
    d = 0.25;
    CHECK(QMP_comm_sum_double(comm, &d) == QMP_SUCCESS && d == 0.25 * n);
    CHECK(QMP_sum_long_double(&ld) == QMP_SUCCESS);
    CHECK(fabsl(ld - (nodes + 1e-18L * half)) < 1e-18L * nodes * nodes);
    ld = me;
    CHECK(QMP_comm_sum_long_double(comm, &ld) == QMP_SUCCESS && ld == half);
    d = me == 0 ? 1.0 : 1e-17; /* too small for double, kept in between */
    CHECK(QMP_sum_double_extended(&d) == QMP_SUCCESS);
    CHECK(d == (double)(1.0L + (n - 1) * 1e-17L));
    d = me;
    CHECK(QMP_comm_sum_double_extended(comm, &d) == QMP_SUCCESS && d == half);
    for (k = 0; k < 5; k++) fa[k] = (float)(me + k), da[k] = me + k;
    CHECK(QMP_sum_float_array(fa, 5) == QMP_SUCCESS && fa[4] == (float)(half + 4 * n));
    CHECK(QMP_sum_double_array(da, 5) == QMP_SUCCESS && da[3] == half + 3 * n);
    for (k = 0; k < 5; k++) fa[k] = (float)k, da[k] = k;
    CHECK(QMP_comm_sum_float_array(comm, fa, 3) == QMP_SUCCESS && fa[2] == 2 * (float)n);
    CHECK(fa[3] == 3.0f); /* beyond the length: untouched */
    CHECK(QMP_comm_sum_double_array(comm, da, 4) == QMP_SUCCESS && da[3] == 3 * n);
    CHECK(QMP_sum_double_array(da, 0) == QMP_SUCCESS);
    for (k = 0; k < 3; k++) la[k] = me * 1e-19L + k;
    CHECK(QMP_sum_long_double_array(la, 3) == QMP_SUCCESS);
    CHECK(fabsl(la[0] - 1e-19L * half) <= 1e-30L * nodes * nodes); /* kept beyond double */
    for (k = 0; k < 3; k++) la[k] = k;
    CHECK(QMP_comm_sum_long_double_array(comm, la, 3) == QMP_SUCCESS && la[2] == 2 * n);
    for (k = 0; k < 3000; k++) big[k] = me * 3000 + k;
    for (i = 0; i < 3; i++) CHECK(QMP_sum_double_array(big, 3000) == QMP_SUCCESS);
    for (k = 0; k < 3000; k++) CHECK(big[k] == (half * 3000 + k * n) * n * n);
    CHECK(QMP_xor_ulong(&x) == QMP_SUCCESS && x == bits);
    x = 1ul << me;
    CHECK(QMP_comm_xor_ulong(comm, &x) == QMP_SUCCESS && x == bits);
}

static void extremes(void) {
    QMP_comm_t comm = QMP_comm_get_default();
    float f = (float)-me, g = (float)me;
    double d = -1.0 - me, e = 5.0 + me;
    CHECK(QMP_max_float(&f) == QMP_SUCCESS && f == 0.0f);
    CHECK(QMP_min_float(&g) == QMP_SUCCESS && g == 0.0f);
    CHECK(QMP_max_double(&d) == QMP_SUCCESS && d == -1.0);
    CHECK(QMP_min_double(&e) == QMP_SUCCESS && e == 5.0);
    f = g = (float)me;
    d = e = me;
    CHECK(QMP_comm_max_float(comm, &f) == QMP_SUCCESS && f == (float)(nodes - 1));
    CHECK(QMP_comm_min_float(comm, &g) == QMP_SUCCESS && g == 0.0f);
    CHECK(QMP_comm_max_double(comm, &d) == QMP_SUCCESS && d == nodes - 1);
    CHECK(QMP_comm_min_double(comm, &e) == QMP_SUCCESS && e == 0.0);
}

/* Matrix products, which associate and do not commute. */
struct matrix {
    unsigned a[4];
};
static void multiply(void* inout, void* in) {
    struct matrix *l = inout, *r = in, p;
    int i;
    for (i = 0; i < 4; i++)
        p.a[i] = l->a[i & 2] * r->a[i & 1] + l->a[(i & 2) + 1] * r->a[2 + (i & 1)];
    *l = p;
}
struct largest_block {
    int value, node;
    char ballast[50000];
};
static void take_largest(void* inout, void* in) {
    struct largest_block *a = inout, *b = in;
    if (b->value > a->value) *a = *b;
}

static void binary_reduction(void) {
    struct matrix m, sum, zero = {{0, 0, 0, 0}};
    static struct largest_block block;
    unsigned expected[4];
    int k;
    m.a[0] = 1 + (unsigned)me, m.a[1] = 2, m.a[2] = 3 * (unsigned)me, m.a[3] = 5;
    CHECK(QMP_binary_reduction(&m, sizeof m, multiply) == QMP_SUCCESS);
    /* The same on all nodes: what node 0 has is what everybody has. */
    memcpy(expected, m.a, sizeof expected);
    CHECK(QMP_broadcast(expected, sizeof expected) == QMP_SUCCESS);
    CHECK(memcmp(expected, m.a, sizeof expected) == 0);
    if (nodes > 1) CHECK(memcmp(&m, &zero, sizeof m) != 0);
    sum.a[0] = 1, sum.a[1] = 2, sum.a[2] = 0, sum.a[3] = 5;
    for (k = 1; k < nodes; k++) {
        struct matrix f;
        f.a[0] = 1 + (unsigned)k, f.a[1] = 2, f.a[2] = 3 * (unsigned)k, f.a[3] = 5;
        multiply(&sum, &f);
    }
    CHECK(memcmp(&sum, &m, sizeof m) == 0); /* in the order of the nodes */

    block.value = (me * 7 + 3) % nodes;
    block.node = me;
    memset(block.ballast, me, sizeof block.ballast);
    CHECK(QMP_comm_binary_reduction(QMP_comm_get_default(), &block, sizeof block, take_largest) ==
          QMP_SUCCESS);
    CHECK((block.node * 7 + 3) % nodes == block.value);
    CHECK(block.ballast[0] == block.node && block.ballast[49999] == block.node);
    CHECK(QMP_binary_reduction(&block, 0, take_largest) == QMP_SUCCESS);
}

static void same_bits(void) {
    double value = 1.0 / (3.0 + me) * (me % 2 ? -1e6 : 1.0), copy;
    float small[100], first[100];
    static double large[20000], of_root[20000];
    int k;
    CHECK(QMP_sum_double(&value) == QMP_SUCCESS);
    copy = value;
    CHECK(QMP_broadcast(&copy, sizeof copy) == QMP_SUCCESS);
    CHECK(memcmp(&copy, &value, sizeof value) == 0);
    for (k = 0; k < 100; k++) small[k] = 1.0f / (float)(1 + k + 13 * me);
    CHECK(QMP_sum_float_array(small, 100) == QMP_SUCCESS);
    memcpy(first, small, sizeof first);
    CHECK(QMP_broadcast(first, sizeof first) == QMP_SUCCESS);
    CHECK(memcmp(first, small, sizeof first) == 0);
    for (k = 0; k < 20000; k++) large[k] = 1.0 / (1 + k + 13 * me);
    CHECK(QMP_sum_double_array(large, 20000) == QMP_SUCCESS);
    memcpy(of_root, large, sizeof of_root);
    CHECK(QMP_broadcast(of_root, sizeof of_root) == QMP_SUCCESS);
    CHECK(memcmp(of_root, large, sizeof large) == 0);
    /* And the next time the same. Short vectors go another way, and may round otherwise. */
    for (k = 0; k < 20000; k++) large[k] = 1.0 / (1 + k + 13 * me);
    CHECK(QMP_sum_double_array(large, 20000) == QMP_SUCCESS);
    CHECK(memcmp(of_root, large, sizeof large) == 0);
    value = 1.0 / (1 + 777 + 13 * me);
    CHECK(QMP_sum_double(&value) == QMP_SUCCESS && fabs(value - large[777]) <= 1e-12 * value);
}

static void broadcast(void) {
    static const size_t sizes[] = {0, 1, 8, 5000, 16384, 200000, 3000001};
    static unsigned char data[3000001];
    size_t i, k;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (k = 0; k < sizes[i]; k++) data[k] = me == 0 ? (unsigned char)(k * 13 + i) : 0;
        if (i % 2)
            CHECK(QMP_broadcast(data, sizes[i]) == QMP_SUCCESS);
        else
            CHECK(QMP_comm_broadcast(QMP_comm_get_default(), data, sizes[i]) == QMP_SUCCESS);
        for (k = 0; k < sizes[i]; k++) CHECK(data[k] == (unsigned char)(k * 13 + i));
    }
}

static void alltoall(void) {
    static const int counts[] = {0, 1, 24, 20000};
    int i, n, k;
    for (i = 0; i < 4; i++) {
        int count = counts[i];
        char *out = malloc((size_t)(count * nodes + 1)), *in = malloc((size_t)(count * nodes + 1));
        for (n = 0; n < nodes; n++)
            for (k = 0; k < count; k++) out[n * count + k] = (char)(me * 16 + n + k);
        CHECK(QMP_comm_alltoall(QMP_comm_get_default(), in, out, count) == QMP_SUCCESS);
        for (n = 0; n < nodes; n++)
            for (k = 0; k < count; k++) CHECK(in[n * count + k] == (char)(n * 16 + me + k));
        free(out);
        free(in);
    }
    CHECK(QMP_comm_alltoall(QMP_comm_get_default(), NULL, NULL, 1) == QMP_INVALID_ARG);
}

/* Node 0 comes late to the barrier; nobody leaves before it has come. */
static void barrier(void) {
    double before, after;
    int i;
    for (i = 0; i < 100; i++) CHECK(QMP_barrier() == QMP_SUCCESS);
    before = QMP_time();
    if (me == 0) usleep(50000);
    CHECK(QMP_comm_barrier(QMP_comm_get_default()) == QMP_SUCCESS);
    after = QMP_time();
    CHECK(QMP_min_double(&after) == QMP_SUCCESS); /* the first to leave */
    if (me == 0) CHECK(after >= before + 0.05);   /* one host, one clock */
}

static void communicators(void) {
    QMP_comm_t all = QMP_comm_get_allocated(), job = QMP_comm_get_job();
    QMP_comm_t old = QMP_comm_get_default(), parity, backwards, none;
    void *hidden = NULL, *also_hidden = NULL;
    int one = 1, in = -1, out = me, count = (nodes + 1 - me % 2) / 2;
    QMP_msgmem_t mi, mo;
    QMP_msghandle_t s, r;
    CHECK(all != job && job != old && all != old);
    CHECK(QMP_comm_get_number_of_colors(all) == 1 && QMP_comm_get_key(all) == me);
    CHECK(QMP_get_hidden_comm(all, &hidden) == QMP_SUCCESS && hidden != NULL);
    CHECK(QMP_get_mpi_comm(all, &also_hidden) == QMP_SUCCESS && also_hidden == hidden);
    CHECK(QMP_get_hidden_comm(all, NULL) == QMP_INVALID_ARG);

    CHECK(QMP_comm_split(old, me % 2 ? 5 : 2, -me, &parity) == QMP_SUCCESS);
    CHECK(QMP_comm_get_number_of_nodes(parity) == count);
    CHECK(QMP_comm_get_node_number(parity) == count - 1 - me / 2); /* ascending key: backwards */
    CHECK(QMP_comm_get_number_of_colors(parity) == (nodes > 1 ? 2 : 1));
    CHECK(QMP_comm_get_color(parity) == (me % 2 ? 5 : 2) && QMP_comm_get_key(parity) == -me);
    CHECK(QMP_comm_sum_int(parity, &one) == QMP_SUCCESS && one == count);
    CHECK(QMP_comm_is_primary_node(parity) == (me / 2 == count - 1));

    /* A topology and messages of its own. */
    CHECK(QMP_comm_declare_logical_topology(parity, &count, 1) == QMP_SUCCESS);
    mi = QMP_declare_msgmem(&in, sizeof in);
    mo = QMP_declare_msgmem(&out, sizeof out);
    r = QMP_comm_declare_receive_relative(parity, mi, 0, +1, 0);
    s = QMP_comm_declare_send_relative(parity, mo, 0, -1, 0);
    exchange(r, s);
    CHECK(in == ((me / 2 - 1 + count) % count) * 2 + me % 2);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
    r = QMP_comm_declare_receive_from(parity, mi, count - 1 - me / 2, 1);
    s = QMP_comm_declare_send_to(parity, mo, count - 1 - me / 2, 1);
    exchange(r, s);
    CHECK(in == me);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
    QMP_free_msgmem(mi);
    QMP_free_msgmem(mo);

    CHECK(QMP_comm_split(all, 0, nodes - me, &backwards) == QMP_SUCCESS);
    CHECK(QMP_comm_get_node_number(backwards) == nodes - 1 - me);
    CHECK(QMP_comm_set_default(backwards) == QMP_SUCCESS);
    CHECK(QMP_comm_get_default() == backwards && QMP_get_node_number() == nodes - 1 - me);
    out = nodes - 1 - me == 0 ? 4711 : 0;
    CHECK(QMP_broadcast(&out, sizeof out) == QMP_SUCCESS && out == 4711);
    CHECK(QMP_comm_free(backwards) == QMP_INVALID_ARG); /* it is the default */
    CHECK(QMP_comm_set_default(old) == QMP_SUCCESS);
    CHECK(QMP_comm_set_job(job) == QMP_SUCCESS && QMP_comm_set_allocated(all) == QMP_SUCCESS);
    CHECK(QMP_comm_free(backwards) == QMP_SUCCESS);
    CHECK(QMP_comm_free(backwards) == QMP_INVALID_ARG);
    CHECK(QMP_comm_split(old, me == 0 ? 0 : -1, 0, &none) == QMP_SUCCESS);
    CHECK((none != NULL) == (me == 0));
    CHECK(QMP_comm_free(parity) == QMP_SUCCESS);
}

/* The sums of communicators that run at the same time and share nodes with none do not disturb
 * each other, nor messages. */
static void split_work(void) {
    QMP_comm_t third;
    int i, sum, expected = 0, in = 0, out;
    QMP_msghandle_t s = send_block(&out, sizeof out, next_node);
    QMP_msghandle_t r = receive_block(&in, sizeof in, previous_node);
    CHECK(QMP_comm_split(QMP_comm_get_default(), me % 3, 0, &third) == QMP_SUCCESS);
    for (i = me % 3; i < nodes; i += 3) expected += i;
    for (i = 0; i < 50; i++) {
        out = i * 1000 + me;
        CHECK(QMP_start(r) == QMP_SUCCESS && QMP_start(s) == QMP_SUCCESS);
        sum = me;
        CHECK(QMP_comm_sum_int(third, &sum) == QMP_SUCCESS && sum == expected);
        CHECK(QMP_wait(r) == QMP_SUCCESS && QMP_wait(s) == QMP_SUCCESS);
        CHECK(in == i * 1000 + previous_node);
    }
    QMP_free_msghandle(s);
    QMP_free_msghandle(r);
    CHECK(QMP_comm_free(third) == QMP_SUCCESS);
}

/* SIGUSR1 asks what this process waits for; the program goes on. */
static void signal_report(void) {
    int in = -1, out = me;
    QMP_msghandle_t r = receive_block(&in, sizeof in, previous_node);
    QMP_msghandle_t s = send_block(&out, sizeof out, next_node);
    CHECK(QMP_start(r) == QMP_SUCCESS);
    CHECK(raise(SIGUSR1) == 0);
    CHECK(QMP_is_complete(r) == QMP_FALSE); /* nobody sends before the barrier */
    CHECK(QMP_barrier() == QMP_SUCCESS);
    CHECK(QMP_start(s) == QMP_SUCCESS && QMP_wait(s) == QMP_SUCCESS && QMP_wait(r) == QMP_SUCCESS);
    CHECK(in == previous_node);
    QMP_free_msghandle(r);
    QMP_free_msghandle(s);
}

/* Leaves handles, message memory and memory behind: finalize does not mind. */
static QMP_mem_t* left_memory;
static QMP_msghandle_t left_handle;
static void leave_things(void) {
    left_memory = QMP_allocate_memory(64);
    left_handle = send_block(QMP_get_memory_pointer(left_memory), 64, next_node);
    QMP_declare_multiple(NULL, 0);
}

static const struct test_case all_cases[] = {
    {"machine", machine},
    {"errors", errors},
    {"printing", printing},
    {"time_and_profile", time_and_profile},
    {"topology", topology},
    {"topology_map", topology_map},
    {"logic_map_flag", logic_map_flag},
    {"native_topology", native_topology},
    {"geometry_flag", geometry_flag},
    {"jobs_flag", jobs_flag},
    {"jobs_without_geometry", jobs_without_geometry},
    {"fewer_processes", fewer_processes},
    {"layout_grid", layout_grid},
    {"memory", memory},
    {"sizes", sizes},
    {"shorter_than_receive", shorter_than_receive},
    {"to_oneself", to_oneself},
    {"both_directions", both_directions},
    {"kinds_apart", kinds_apart},
    {"start_order", start_order},
    {"multiples", multiples},
    {"wait_and_test", wait_and_test},
    {"strided", strided},
    {"strided_array_and_indexed", strided_array_and_indexed},
    {"sums", sums},
    {"extremes", extremes},
    {"binary_reduction", binary_reduction},
    {"same_bits", same_bits},
    {"broadcast", broadcast},
    {"alltoall", alltoall},
    {"barrier", barrier},
    {"communicators", communicators},
    {"split_work", split_work},
    {"signal_report", signal_report},
    {"leave_things", leave_things},
};

int main(int argc, char** argv) {
    QMP_thread_level_t provided = QMP_THREAD_SINGLE;
    const size_t count = sizeof all_cases / sizeof *all_cases;
    size_t i;
    int word, ran = 0;
    CHECK(QMP_is_initialized() == QMP_FALSE);
    CHECK(QMP_verbose(2) == 0);
    CHECK(QMP_init_msg_passing(&argc, &argv, QMP_THREAD_FUNNELED, &provided) == QMP_SUCCESS);
    CHECK(provided == QMP_THREAD_FUNNELED);
    CHECK(argv[argc] == NULL);
    me = QMP_get_node_number();
    nodes = QMP_get_number_of_nodes();
    next_node = (me + 1) % nodes;
    previous_node = (me + nodes - 1) % nodes;
    for (word = 1; word < argc; word++) {
        for (i = 0; i < count && strcmp(all_cases[i].name, argv[word]) != 0; i++) {
        }
        if (i == count) QMP_abort_string(8, argv[word]);
        all_cases[i].run();
        ran++;
    }
    CHECK(ran > 0);
    QMP_finalize_msg_passing();
    CHECK(QMP_is_initialized() == QMP_FALSE);
    /* Printing and freeing work after the end. */
    CHECK(QMP_info("done") == 4);
    if (left_handle != NULL) {
        memset(QMP_get_memory_pointer(left_memory), 1, 64);
        QMP_free_msghandle(left_handle);
        QMP_free_memory(left_memory);
    }
    return 0;
}
