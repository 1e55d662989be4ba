/* SPDX-License-Identifier: BSD-3-Clause */
#include <qmp.h>

int main(int argc, char** argv) {
    QMP_thread_level_t provided;
    int one = 1;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) != QMP_SUCCESS) return 1;
    if (QMP_sum_int(&one) != QMP_SUCCESS || one != QMP_get_number_of_nodes()) QMP_abort(3);
    if (QMP_is_primary_node()) QMP_printf("sum %d", one);
    QMP_finalize_msg_passing();
    return 0;
}
