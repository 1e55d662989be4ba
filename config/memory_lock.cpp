// SPDX-License-Identifier: BSD-3-Clause
#include "config/memory_lock.h"

#include <linux/capability.h>
#include <sys/resource.h>

#include "base/capability.h"

namespace torusmp::config {

std::optional<std::uint64_t> memory_lock_limit() {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        base::has_capability(CAP_IPC_LOCK))
        return std::nullopt;
    return limit.rlim_cur;
}

}  // namespace torusmp::config
