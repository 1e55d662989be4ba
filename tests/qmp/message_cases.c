/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, messages and their handles. */
#include "cases.h"

#include <stdint.h>
#include <unistd.h>

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

const struct test_case message_cases[] = {
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
    {NULL, NULL},
};
