// SPDX-License-Identifier: BSD-3-Clause
// Settings of shared memory.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/shm/cross_memory.h"
#include "core/transport/shm/large_blocks.h"

namespace torusmp::transport::shm::setting {

inline const config::Setting<CopyMode> copy{
    "transport.copy",
    config::choice<CopyMode>({{"auto", CopyMode::automatic},
                              {"cma", CopyMode::one_copy},
                              {"pipeline", CopyMode::packets}}),
    CopyMode::automatic,
    "How large messages cross shared memory. cma: one copy from process to process by the kernel. "
    "pipeline: two copies through shared pages. auto: whichever was faster lately in this job."};

inline const config::Setting<Malloc> large_blocks{
    "transport.malloc",
    config::choice<Malloc>(
        {{"auto", Malloc::automatic}, {"shared", Malloc::shared}, {"separate", Malloc::separate}}),
    Malloc::automatic,
    "Where malloc() places blocks of 32 KiB and more after MPI_Init or QMP_init_msg_passing. "
    "shared: in memory that the other ranks of the host have mapped, so that messages between them "
    "take one copy. separate: where the C library places them. auto: shared, except for blocks "
    "that "
    "would lose their huge pages, and where the kernel is told not to promise more memory than it "
    "has."};

inline const config::Table table{&copy, &large_blocks};

}  // namespace torusmp::transport::shm::setting
