// SPDX-License-Identifier: BSD-3-Clause
// Settings of shared memory.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/shm/cross_memory.h"

namespace torusmp::transport::shm::setting {

inline const config::Setting<CopyMode> copy{
    "transport.copy",
    config::choice<CopyMode>({{"auto", CopyMode::automatic},
                              {"cma", CopyMode::one_copy},
                              {"pipeline", CopyMode::packets}}),
    CopyMode::automatic,
    "How large messages cross shared memory. cma: one copy from process to process by the kernel. "
    "pipeline: two copies through shared pages. auto: whichever was faster lately in this job."};

inline const config::Table table{&copy};

}  // namespace torusmp::transport::shm::setting
