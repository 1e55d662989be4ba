// SPDX-License-Identifier: BSD-3-Clause
// The Runtimes of a process that has joined several jobs: whatever one of them waits for, the
// others move too, and a sleeping thread sleeps for all of them.
//
// Owned by the front end that joins the jobs; it outlives its Runtimes. Any thread may call. While a
// process is in one job only, its Runtime has no Companions.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/transport/api/interface.h"

namespace torusmp::core {

class Progress;

class Companions {
  public:
    Companions() = default;
    Companions(const Companions&) = delete;
    Companions& operator=(const Companions&) = delete;

    // Throws std::runtime_error if an interface cannot be slept on beside others. No thread waits
    // in this Runtime yet, or all its waits poll.
    void add(Progress& progress);
    // Afterwards no thread uses this Runtime on behalf of another one.
    void remove(Progress& progress);

    // Moves all but one. Returns true if something moved.
    bool poll(const Progress& but);
    // Sleeps until there is an event for any of them, or one has moved already. `self` has prepared
    // its own sleep.
    void sleep(Progress& self, transport::Clock::time_point deadline);

  private:
    using List = std::vector<Progress*>;
    // A thread that holds the list uses what is in it.
    std::shared_ptr<const List> list() const {
        const std::lock_guard lock(mutex_);
        return list_;
    }
    // The lock is held.
    void replace(List with);

    mutable std::mutex mutex_;
    std::shared_ptr<const List> list_ = std::make_shared<const List>();
    std::vector<std::weak_ptr<const List>> past_;  // lists that threads may still use
};

}  // namespace torusmp::core
