/* SPDX-License-Identifier: BSD-3-Clause */
/* qmp.h alone, as its first include, in every language it must compile in. */
#include <qmp.h>

typedef char status_values_as_published
    [QMP_MAX_STATUS == 0x101a && QMP_TIMEOUT == 0x1019 && QMP_NODE_OUTRANGE == 0x1015 ? 1 : -1];
typedef char other_values_as_published[QMP_MESH == 1 && QMP_FATTREE == 2 &&
                                               QMP_THREAD_MULTIPLE == 3 && QMP_CTS_DISABLED == -1 &&
                                               QMP_MEM_DEFAULT == 6
                                           ? 1
                                           : -1];

int main(int argc, char** argv) {
    status_values_as_published a;
    other_values_as_published b;
    QMP_thread_level_t provided;
    (void)sizeof a;
    (void)sizeof b;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) != QMP_SUCCESS) return 1;
    QMP_finalize_msg_passing();
    return 0;
}
