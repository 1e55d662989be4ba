// Brings the launcher's news of dead ranks to the Runtime, where the job lives on after a death.
//
// A thread of its own sleeps on the launcher's descriptor. What it reads is handed over inside the
// Runtime's own progress, so the Runtime needs no lock for it. Made and ended by the Process.
#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "config/descriptor.h"
#include "core/api.h"
#include "launch/bootstrap.h"

namespace torusmp::job {

class DeathWatch {
  public:
    DeathWatch(launch::Bootstrap& bootstrap, core::Runtime& runtime);
    ~DeathWatch();
    DeathWatch(const DeathWatch&) = delete;
    DeathWatch& operator=(const DeathWatch&) = delete;

    // Called by the Runtime after interrupt(), on its thread: tells it what has been read.
    void tell();

  private:
    void watch();

    launch::Bootstrap& bootstrap_;
    core::Runtime& runtime_;
    config::Descriptor stop_;
    std::mutex mutex_;
    std::vector<launch::Death> news_;
    std::thread thread_;
};

}  // namespace torusmp::job
