// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/cpu_contention.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace torusmp::core {
namespace {

// A woken thread gets an idle core immediately; if it takes longer than this on average, other
// processes had the core.
constexpr std::uint64_t long_wait = 10'000;  // ns
// The number of samples in a row without contention before it counts as over: while all ranks sleep
// at the same time there is little of it, and it returns when they do not.
constexpr unsigned calm_looks = 16;

}  // namespace

// Reads schedstat, which contains the ns on a core, the ns ready without one, and the number of
// turns. If the kernel keeps no such record, contention is never reported.
bool CpuContention::look() {
    if (!file_)
        file_ = base::Descriptor(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    std::array<char, 96> text{};
    if (!file_ || ::pread(file_.get(), text.data(), text.size() - 1, 0) <= 0) return false;
    unsigned long long ran = 0, waited = 0;
    if (std::sscanf(text.data(), "%llu %llu", &ran, &waited) != 2) return false;
    const bool first = waited_ == 0;
    const std::uint64_t since = waited - waited_;
    waited_ = waited;
    calm_ = !first && since > long_wait * sleeps_per_look ? 0 : calm_ + 1;
    present_ = calm_ == 0 || (present_ && calm_ < calm_looks);
    return true;
}

}  // namespace torusmp::core
