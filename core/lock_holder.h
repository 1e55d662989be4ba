// SPDX-License-Identifier: BSD-3-Clause
// The thread that holds the Runtime's lock. Known only where assertions are on and several threads
// may call; elsewhere held() is always true.
//
// take() and leave() are called by the thread that takes and leaves the lock, held() by any thread.
#pragma once

#include <atomic>
#include <thread>

#include "base/assert.h"

namespace torusmp::core {

class LockHolder {
  public:
    void take() {
        if constexpr (base::assertions) {
            known_.store(true, std::memory_order_relaxed);
            thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
    }
    void leave() {
        if constexpr (base::assertions) thread_.store({}, std::memory_order_relaxed);
    }
    bool held() const {
        return !known_.load(std::memory_order_relaxed) ||
               thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

  private:
    std::atomic<bool> known_{false};  // the lock has been taken once
    std::atomic<std::thread::id> thread_{};
};

}  // namespace torusmp::core
