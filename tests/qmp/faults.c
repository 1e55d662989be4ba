/* SPDX-License-Identifier: BSD-3-Clause */
/* Misuse that must end in a clear message, one kind at a time: faults NAME. Every process runs the
 * same program. The processes without the fault wait at the call that would never return. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

static int me, nodes;
static char buffer[100000];

static QMP_msghandle_t send_to(size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(buffer, bytes);
    QMP_msghandle_t h = QMP_declare_send_to(m, node, 0);
    QMP_free_msgmem(m);
    return h;
}

static QMP_msghandle_t receive_from(size_t bytes, int node) {
    QMP_msgmem_t m = QMP_declare_msgmem(buffer, bytes);
    QMP_msghandle_t h = QMP_declare_receive_from(m, node, 0);
    QMP_free_msgmem(m);
    return h;
}

static void start_twice(void) {
    QMP_msghandle_t h = receive_from(8, (me + 1) % nodes);
    QMP_start(h);
    QMP_start(h);
}
static void free_in_flight(void) {
    QMP_msghandle_t h = receive_from(24, (me + 1) % nodes);
    QMP_start(h);
    QMP_free_msghandle(h);
}
static void change_in_flight(void) {
    QMP_msghandle_t h = receive_from(24, (me + 1) % nodes);
    QMP_start(h);
    QMP_change_address(h, buffer + 8);
}
static void pending_at_end(void) {
    QMP_msghandle_t h = receive_from(24, (me + 1) % nodes);
    QMP_start(h);
    QMP_finalize_msg_passing();
}
static void too_long(size_t sent, size_t received) {
    if (me == 1) {
        QMP_msghandle_t h = send_to(sent, 0);
        QMP_start(h);
        QMP_wait(h);
    }
    if (me == 0) {
        QMP_msghandle_t h = receive_from(received, 1);
        QMP_start(h);
        QMP_wait(h);
    }
    QMP_barrier();
}
static void too_long_small(void) {
    too_long(128, 64);
}
static void too_long_large(void) {
    too_long(100000, 50000);
}
static void node_out_of_range(void) {
    send_to(8, nodes);
}
static void node_negative(void) {
    receive_from(8, -1);
}
static void relative_without_topology(void) {
    QMP_declare_send_relative(QMP_declare_msgmem(buffer, 8), 0, 1, 0);
}
static void axis_out_of_range(void) {
    QMP_declare_logical_topology(&nodes, 1);
    QMP_declare_receive_relative(QMP_declare_msgmem(buffer, 8), 1, 1, 0);
}
static void declared_twice(void) {
    QMP_declare_logical_topology(&nodes, 1);
    QMP_declare_logical_topology(&nodes, 1);
}
static void free_part(void) {
    QMP_msghandle_t h = send_to(8, 0);
    QMP_declare_multiple(&h, 1);
    QMP_free_msghandle(h);
}
static void null_in_multiple(void) {
    QMP_msghandle_t h[2] = {NULL, NULL};
    h[0] = send_to(8, 0);
    QMP_declare_multiple(h, 2);
}
static void change_multiple_count(void) {
    QMP_msghandle_t h = send_to(8, 0);
    void* addresses[2] = {buffer, buffer};
    QMP_change_address_multiple(QMP_declare_multiple(&h, 1), addresses, 2);
}
static void null_handle(void) {
    QMP_wait(NULL);
}
static void null_memory(void) {
    QMP_declare_send_to(NULL, 0, 0);
}
static void no_address(void) {
    QMP_start(QMP_declare_send_to(QMP_declare_msgmem(NULL, 8), 0, 0));
}
static void coordinates_without_topology(void) {
    QMP_get_logical_coordinates();
}
static void init_twice(void) {
    QMP_thread_level_t provided;
    QMP_init_msg_passing(NULL, NULL, QMP_THREAD_SINGLE, &provided);
}
static void after_end(void) {
    QMP_finalize_msg_passing();
    QMP_barrier();
}
static void abort_with_code(void) {
    if (me == nodes - 1) QMP_abort(37);
    QMP_barrier();
}
static void abort_with_string(void) {
    if (me == 0) QMP_abort_string(5, "out of cheese");
    QMP_barrier();
}
/* A process dies in the middle of a sum of all. */
static void killed_in_sum(void) {
    double value = 1.0;
    int i;
    for (i = 0;; i++) {
        if (i == 100 && me == nodes - 1) _exit(3);
        QMP_sum_double(&value);
    }
}
/* A process dies, the others are notified and go on (torus-run --keep-going). */
static void goes_on(void) {
    char memory[24] = {0};
    QMP_msgmem_t mem = QMP_declare_msgmem(memory, sizeof memory);
    QMP_msghandle_t receive = QMP_declare_receive_from(mem, nodes - 1, 0);
    QMP_status_t status;
    if (me == nodes - 1) raise(SIGKILL);
    QMP_start(receive);
    status = QMP_wait(receive);
    printf("node %d goes on: %s\n", me, status == QMP_SUCCESS ? "success" : QMP_error_string(status));
    fflush(stdout);
    QMP_free_msghandle(receive);
    QMP_free_msgmem(mem);
}
/* The same in a sum of all: every other one's call ends with an error. */
static void sums_go_on(void) {
    double value = 1.0;
    QMP_status_t status = QMP_SUCCESS;
    int i;
    for (i = 0; status == QMP_SUCCESS; i++) {
        if (i == 100 && me == nodes - 1) raise(SIGKILL);
        value = 1.0;
        status = QMP_sum_double(&value);
    }
    printf("node %d goes on after %s sums\n", me, i < 100 ? "too few" : "enough");
    fflush(stdout);
}
/* Different lengths, found in the checking mode. */
static void different_lengths(void) {
    char memory[16] = {0};
    QMP_broadcast(memory, me == 1 ? 12 : 16);
}
static void nothing(void) {}

static const struct test_case all_cases[] = {
    {"start_twice", start_twice},
    {"free_in_flight", free_in_flight},
    {"change_in_flight", change_in_flight},
    {"pending_at_end", pending_at_end},
    {"too_long_small", too_long_small},
    {"too_long_large", too_long_large},
    {"node_out_of_range", node_out_of_range},
    {"node_negative", node_negative},
    {"relative_without_topology", relative_without_topology},
    {"axis_out_of_range", axis_out_of_range},
    {"declared_twice", declared_twice},
    {"free_part", free_part},
    {"null_in_multiple", null_in_multiple},
    {"change_multiple_count", change_multiple_count},
    {"null_handle", null_handle},
    {"null_memory", null_memory},
    {"no_address", no_address},
    {"coordinates_without_topology", coordinates_without_topology},
    {"init_twice", init_twice},
    {"after_end", after_end},
    {"abort_with_code", abort_with_code},
    {"abort_with_string", abort_with_string},
    {"killed_in_sum", killed_in_sum},
    {"goes_on", goes_on},
    {"sums_go_on", sums_go_on},
    {"different_lengths", different_lengths},
    {"nothing", nothing},
};

int main(int argc, char** argv) {
    QMP_thread_level_t provided;
    size_t i;
    if (argc > 1 && strcmp(argv[1], "before_start") == 0) QMP_barrier();
    if (argc > 1 && strcmp(argv[1], "bad_level") == 0)
        QMP_init_msg_passing(&argc, &argv, (QMP_thread_level_t)9, &provided);
    QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided);
    me = QMP_get_node_number();
    nodes = QMP_get_number_of_nodes();
    for (i = 0; i < sizeof all_cases / sizeof *all_cases; i++)
        if (argc > 1 && strcmp(all_cases[i].name, argv[1]) == 0) all_cases[i].run();
    QMP_finalize_msg_passing();
    return 0;
}
