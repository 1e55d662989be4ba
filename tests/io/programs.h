// SPDX-License-Identifier: BSD-3-Clause
// Programs of a simulated job that block in calls of the library.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "collectives/simulated_group.h"
#include "core/link/cable_faults.h"
#include "io/random_view.h"

namespace torusmp::io::testing {

// Programs that block, each a thread of its own, of which one at a time runs, or the job does.
class Programs {
  public:
    ~Programs() {
        for (auto& thread : threads_) thread.join();
    }
    void add(std::function<void()> program) {
        const int number = int(threads_.size());
        ended_.push_back(false);
        threads_.emplace_back([this, number, program = std::move(program)] {
            await(number);
            program();
            ended_[std::size_t(number)] = true;
            run(job);
        });
    }
    // By a program: others go on until done.
    void wait(const std::function<bool()>& done) {
        const int me = running_;
        while (!done()) {
            run(job);
            await(me);
        }
    }
    // False: nothing moves any more, but not all have ended. cables: those that die and come back;
    // null: none does.
    bool run_all(collectives::testing::Job& machine, Random& random,
                 core::testing::CableFaults* cables) {
        int vain = 0;
        while (std::find(ended_.begin(), ended_.end(), false) != ended_.end()) {
            const auto next = below(random, threads_.size());
            if (!ended_[next]) {
                run(int(next));
                await(job);
            }
            if (cables != nullptr) cables->happen();
            vain = machine.turn() ? 0 : vain + 1;
            if (vain > 1000) return false;
        }
        return true;
    }

  private:
    static constexpr int job = -1;
    void run(int who) {
        const std::lock_guard lock(mutex_);
        running_ = who;
        changed_.notify_all();
    }
    void await(int me) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return running_ == me; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    int running_ = job;
    std::vector<bool> ended_;
    std::vector<std::thread> threads_;
};

}  // namespace torusmp::io::testing
