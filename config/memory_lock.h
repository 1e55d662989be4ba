// SPDX-License-Identifier: BSD-3-Clause
// The amount of memory that this process may lock. Any thread may call.
#pragma once

#include <cstdint>
#include <optional>

namespace torusmp::config {

// Bytes of memory that this process may lock, and so register with a device; empty if unlimited, or
// one that does not apply to it (CAP_IPC_LOCK).
std::optional<std::uint64_t> memory_lock_limit();

}  // namespace torusmp::config
