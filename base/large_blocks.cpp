// SPDX-License-Identifier: BSD-3-Clause
#include "base/large_blocks.h"

#include <pthread.h>

namespace torusmp::base {

constinit LargeBlocks large_blocks;

bool LargeBlocks::begin(BlockProvider& provider, std::size_t least, std::size_t end,
                        const void* memory, std::size_t memory_bytes) {
    BlockProvider* none = nullptr;
    if (!provider_.compare_exchange_strong(none, &provider)) return false;
    pthread_atfork([] { large_blocks.provider()->before_fork(); },
                   [] { large_blocks.provider()->after_fork(false); },
                   [] { large_blocks.provider()->after_fork(true); });
    memory_.store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_relaxed);
    memory_bytes_.store(memory_bytes, std::memory_order_release);
    least_.store(least, std::memory_order_relaxed);
    range_.store(end - least, std::memory_order_release);
    return true;
}

}  // namespace torusmp::base
