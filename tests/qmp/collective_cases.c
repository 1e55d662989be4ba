/* SPDX-License-Identifier: BSD-3-Clause */
/* Global operations, and communicators of some of the nodes. */
#include "cases.h"

#include <math.h>
#include <stdint.h>
#include <unistd.h>

QMP_status_t QMP_get_mpi_comm(QMP_comm_t comm, void** mpicomm);

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

/* Node 0 comes late to the barrier; no node leaves before it has entered. */
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

/* Node 0 has broadcast and freed the communicator before the others call. */
static void freed_early(void) {
    QMP_comm_t all;
    int word = me;
    CHECK(QMP_comm_split(QMP_comm_get_default(), 0, me, &all) == QMP_SUCCESS);
    if (me != 0) usleep(20000);
    CHECK(QMP_comm_broadcast(all, &word, sizeof word) == QMP_SUCCESS && word == 0);
    CHECK(QMP_comm_free(all) == QMP_SUCCESS);
}

const struct test_case collective_cases[] = {
    {"sums", sums},
    {"extremes", extremes},
    {"binary_reduction", binary_reduction},
    {"same_bits", same_bits},
    {"broadcast", broadcast},
    {"alltoall", alltoall},
    {"barrier", barrier},
    {"communicators", communicators},
    {"split_work", split_work},
    {"freed_early", freed_early},
    {NULL, NULL},
};
