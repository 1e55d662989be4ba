// SPDX-License-Identifier: BSD-3-Clause
// Passes the launcher's reports of dead ranks to the Runtime, if the job continues after a death,
// and informs it when the death of a lost peer would have been reported by now.
//
// A dedicated thread sleeps on the launcher's descriptor. Its reports are handed over inside the
// Runtime's own progress, so the Runtime needs no lock for them. Started and stopped by the
// Process, from one thread; created before the Runtime, which it outlives.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "core/api.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

class DeathWatch {
  public:
    explicit DeathWatch(launch::Bootstrap& bootstrap) : bootstrap_(bootstrap) {}
    ~DeathWatch() { stop(); }
    DeathWatch(const DeathWatch&) = delete;
    DeathWatch& operator=(const DeathWatch&) = delete;

    // The launcher takes at most `longest` to report a death. `outlives_launcher` means that this
    // process does not end with the launcher. If the launcher is gone, deaths are not reported any
    // more, so all others then count as dead.
    void start(core::Runtime& runtime, std::chrono::nanoseconds longest, bool outlives_launcher);
    // The Runtime has lost a peer. Any thread may call.
    void expect_report() noexcept;
    // Uses neither the launcher nor the Runtime afterwards.
    void stop();
    // Called by the Runtime after interrupt(), on the thread that runs it: hands over the reports
    // that have been read.
    void deliver();

  private:
    void watch();

    launch::Bootstrap& bootstrap_;
    core::Runtime* runtime_ = nullptr;
    std::chrono::nanoseconds longest_{};
    base::Descriptor stop_, expects_;
    std::mutex mutex_;
    std::vector<launch::Death> news_;
    bool overdue_ = false, launcher_gone_ = false;
    bool outlives_launcher_ = false;
    std::thread thread_;
};

}  // namespace torusmp::job
