/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine and its grids: queries of QMP, topologies, layouts, and the flags for them. */
#include "cases.h"

#include <unistd.h>

static void machine(void) {
    QMP_comm_t allocated = QMP_comm_get_allocated();
    CHECK(QMP_is_initialized() == QMP_TRUE);
    CHECK(QMP_comm_get_number_of_nodes(allocated) == nodes);
    CHECK(QMP_comm_get_node_number(allocated) == me);
    CHECK(QMP_comm_is_primary_node(allocated) == (me == 0));
    CHECK(QMP_is_primary_node() == (me == 0));
    CHECK(QMP_get_number_of_jobs() == 1);
    CHECK(QMP_get_job_number() == 0);
    CHECK(QMP_get_number_of_job_geometry_dimensions() == 0);
    CHECK(QMP_get_job_geometry() == NULL);
    CHECK(QMP_io_node(me) == me);
    CHECK(QMP_master_io_node() == 0);
    CHECK(strcmp(QMP_version_str(), "2.5.4") == 0);
    CHECK(QMP_version_int() == 2005004);
}

/* The wiring of the machine is not given. */
static void a_switch(void) {
    CHECK(QMP_get_msg_passing_type() == QMP_SWITCH);
    CHECK(QMP_get_allocated_number_of_dimensions() == 0);
    CHECK(QMP_get_allocated_dimensions() == NULL);
    CHECK(QMP_get_allocated_coordinates() == NULL);
}

/* Run on 2x3x2: the torus of the job is the machine, and declares nothing. */
static void the_torus_of_the_job(void) {
    const int extents[3] = {2, 3, 2}, *mine = QMP_get_allocated_coordinates();
    int d, sum[3];
    CHECK(QMP_get_msg_passing_type() == QMP_GRID);
    CHECK(QMP_get_allocated_number_of_dimensions() == 3);
    for (d = 0; d < 3; d++) CHECK(QMP_get_allocated_dimensions()[d] == extents[d]);
    for (d = 0; d < 3; d++) {
        sum[d] = mine[d];
        CHECK(mine[d] >= 0 && mine[d] < extents[d]);
        /* Each coordinate belongs to the same number of nodes. */
        CHECK(QMP_sum_int(&sum[d]) == QMP_SUCCESS);
        CHECK(sum[d] == 12 / extents[d] * (extents[d] * (extents[d] - 1) / 2));
    }
    CHECK(QMP_get_number_of_jobs() == 1 && QMP_get_job_geometry() == NULL);
    CHECK(QMP_logical_topology_is_declared() == QMP_FALSE);
    /* The same as the machine's own topology, which is declared by -1. */
    CHECK(QMP_declare_logical_topology(NULL, -1) == QMP_SUCCESS);
    for (d = 0; d < 3; d++) CHECK(QMP_get_logical_coordinates()[d] == mine[d]);
    CHECK(QMP_get_node_number_from(mine) == me);
}

static void errors(void) {
    QMP_status_t code;
    CHECK(QMP_ERROR == 0x1001 && QMP_INVALID_ARG == 0x100f);
    CHECK(strlen(QMP_error_string(QMP_SUCCESS)) > 0);
    for (code = QMP_ERROR; code < QMP_MAX_STATUS; code = (QMP_status_t)(code + 1)) {
        CHECK(strlen(QMP_error_string(code)) > 0);
        CHECK(strncmp(QMP_error_string(code), "unknown error code", 18) != 0);
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
    /* Wrong arguments are refused and do not declare a topology. */
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

const struct test_case grid_cases[] = {
    {"machine", machine},
    {"errors", errors},
    {"printing", printing},
    {"time_and_profile", time_and_profile},
    {"topology", topology},
    {"topology_map", topology_map},
    {"logic_map_flag", logic_map_flag},
    {"native_topology", native_topology},
    {"a_switch", a_switch},
    {"the_torus_of_the_job", the_torus_of_the_job},
    {"geometry_flag", geometry_flag},
    {"jobs_flag", jobs_flag},
    {"jobs_without_geometry", jobs_without_geometry},
    {"fewer_processes", fewer_processes},
    {"layout_grid", layout_grid},
    {NULL, NULL},
};
