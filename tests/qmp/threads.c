/* SPDX-License-Identifier: BSD-3-Clause */
/* QMP_THREAD_MULTIPLE: several threads exchange messages concurrently, each on its own handles. */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { workers = 4, rounds = 300, length = 600 };
static int me, nodes;

/* A communicator for each thread, so that its messages match with those of its twins. */
static QMP_comm_t comms[workers];

static void* work(void* number) {
    int w = (int)(intptr_t)number, round, i;
    double out[length] = {0.0}, in[length];
    QMP_msgmem_t mo = QMP_declare_msgmem(out, sizeof out), mi = QMP_declare_msgmem(in, sizeof in);
    QMP_msghandle_t s = QMP_comm_declare_send_to(comms[w], mo, (me + 1) % nodes, 0);
    QMP_msghandle_t r = QMP_comm_declare_receive_from(comms[w], mi, (me + nodes - 1) % nodes, 0);
    for (round = 0; round < rounds; round++) {
        double sum = w;
        for (i = 0; i < length; i++) out[i] = me * 1e6 + w * 1e4 + round + i;
        CHECK(QMP_start(r) == QMP_SUCCESS && QMP_start(s) == QMP_SUCCESS);
        CHECK(QMP_comm_sum_double(comms[w], &sum) == QMP_SUCCESS && sum == (double)w * nodes);
        CHECK(QMP_wait(r) == QMP_SUCCESS && QMP_wait(s) == QMP_SUCCESS);
        for (i = 0; i < length; i++)
            CHECK(in[i] == (me + nodes - 1) % nodes * 1e6 + w * 1e4 + round + i);
    }
    QMP_free_msghandle(s);
    QMP_free_msghandle(r);
    QMP_free_msgmem(mo);
    QMP_free_msgmem(mi);
    return NULL;
}

int main(int argc, char** argv) {
    QMP_thread_level_t provided;
    pthread_t thread[workers];
    int w;
    CHECK(QMP_init_msg_passing(&argc, &argv, QMP_THREAD_MULTIPLE, &provided) == QMP_SUCCESS);
    CHECK(provided == QMP_THREAD_MULTIPLE);
    me = QMP_get_node_number();
    nodes = QMP_get_number_of_nodes();
    for (w = 0; w < workers; w++)
        CHECK(QMP_comm_split(QMP_comm_get_default(), 0, 0, &comms[w]) == QMP_SUCCESS);
    for (w = 0; w < workers; w++)
        CHECK(pthread_create(&thread[w], NULL, work, (void*)(intptr_t)w) == 0);
    for (w = 0; w < workers; w++) CHECK(pthread_join(thread[w], NULL) == 0);
    QMP_finalize_msg_passing();
    return 0;
}
