// SPDX-License-Identifier: BSD-3-Clause
// Stretches of memory that this process has unmapped, as reported by UCX's libucm (munmap, mremap,
// brk, madvise, shmdt): inside the call, in the thread that makes it.
//
// libucm patches these calls, so it is loaded only when an object of this class is made; libucs,
// which it needs, would also install signal handlers, which is disabled. If the libraries are
// missing, watches() is false. take() is called under the Runtime's lock; the notes come from any
// thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace torusmp::transport::verbs {

class Unmapped {
  public:
    struct Range {
        std::uintptr_t begin;
        std::uintptr_t end;
    };

    Unmapped();
    ~Unmapped();
    Unmapped(const Unmapped&) = delete;
    Unmapped& operator=(const Unmapped&) = delete;

    bool watches() const { return watches_; }
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }
    // The ranges recorded since the last call. One range that covers everything if there were more
    // than could be recorded.
    std::vector<Range> take();
    void note(std::uintptr_t begin, std::uintptr_t end) noexcept;

  private:
    static constexpr std::size_t room = 256;

    void lock() noexcept;

    bool watches_ = false;
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    std::atomic<std::size_t> count_{0};  // room + 1 if there were more than fit
    std::array<Range, room> ranges_{};
};

}  // namespace torusmp::transport::verbs
