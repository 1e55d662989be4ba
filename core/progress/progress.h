// SPDX-License-Identifier: BSD-3-Clause
// Progress: who polls, who sleeps, who is woken; the lock, the tasks, and the thread that makes
// progress while the program computes.
//
// With Options::threads or a progress thread any thread may call; otherwise one at a time, and no
// lock is taken. ask_for() and wake() may be called from anywhere, signal handlers included.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/commons.h"
#include "core/connection/connections.h"
#include "core/connection/packet_sender.h"
#include "core/link/link_manager.h"
#include "core/progress/cpu_contention.h"
#include "core/progress/task.h"

namespace torusmp::core {

class Progress {
  public:
    // sink: where the interfaces deliver. report: the text of all waits.
    Progress(Commons& commons, Connections& connections, PacketSender& sender, FaultHandler& faults,
             LinkManager& links, transport::Sink& sink, std::function<std::string()> report);
    ~Progress() { stop(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // Taken by every entry; costs one predictable branch where only one thread calls.
    class Guard {
      public:
        explicit Guard(const Progress& progress)
            : mutex_(progress.locking_ ? &progress.mutex_ : nullptr) {
            if (mutex_ != nullptr) mutex_->lock();
        }
        ~Guard() {
            if (mutex_ != nullptr) mutex_->unlock();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        std::recursive_mutex* mutex_;
    };

    // One waiting call: decides between polling, sleeping and reporting.
    class Waiter {
      public:
        Waiter(Progress& progress, std::string_view what) : progress_(progress), what_(what) {}
        ~Waiter() {
            if (lingers_) progress_.linger({});
        }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;
        // Polls, and sleeps before if the polls so far have moved nothing.
        void turn();

      private:
        void look();
        void speak(transport::Clock::time_point now);
        transport::Clock::time_point next_word() const;

        Progress& progress_;
        std::string_view what_;
        unsigned idle_turns_ = 0;
        std::uint64_t moves_seen_ = ~std::uint64_t{0};  // none: so the first turn never sleeps
        std::uint64_t notes_seen_ = 0;
        transport::Clock::time_point began_{};      // to wait for anything to move
        transport::Clock::time_point warned_{};     // by the watchdog
        transport::Clock::time_point linger_at_{};  // next, whatever moves until then
        std::chrono::nanoseconds linger_step_{};
        bool lingers_ = false;
    };

    // Whether several threads may call: then Guards are taken.
    bool locks() const { return locking_; }
    // Starts the progress thread, if there is to be one.
    void start();
    void stop();

    // Moves everything that can move, without waiting. True when something did.
    bool poll() {
        Guard guard(*this);
        return poll_unlocked();
    }
    // What somebody waits for has happened elsewhere: everybody who waits looks again.
    void stir();
    void add_task(Task& task);
    // See Notes.
    void linger(std::string_view what);
    std::string_view waits_in() const { return waits_in_; }
    void report_tasks(std::string& text) const;

    enum : unsigned { report_wanted = 1, interrupt_wanted = 2 };
    // Asks the thread that next runs to do that.
    void ask_for(unsigned what) noexcept;
    // Something was put where a poll finds it: wakes whoever sleeps.
    void wake() {
        if (asleep_) wake_sleepers();
    }

  private:
    bool poll_unlocked();
    bool do_errands();
    bool advance_tasks(bool moved);
    void set_tasks_asleep(bool asleep);
    void answer_asked();
    void sleep_until(transport::Clock::time_point deadline, std::uint64_t moves_seen);
    void sleep_in_interfaces(transport::Clock::time_point deadline);
    void wake_sleepers() noexcept;
    void thread_main();

    Commons& commons_;
    const Options& options_;
    Connections& connections_;
    PacketSender& sender_;
    FaultHandler& faults_;
    LinkManager& links_;
    transport::Sink& sink_;
    const std::function<std::string()> report_;
    const bool locking_;
    mutable std::recursive_mutex mutex_;
    struct Listed {
        Task* task;
        bool looks;
    };
    std::vector<Listed> tasks_;
    int looking_ = 0;  // how many of them look at memory
    std::string_view waits_in_;

    bool asleep_ = false;    // a thread sleeps in the interfaces, for all
    int others_asleep_ = 0;  // and these until anybody moves something
    std::condition_variable_any moved_;
    std::atomic<std::uint64_t> moves_{0};  // polls that moved something
    std::atomic<std::uint64_t> notes_{0};  // and of them, those that brought notes
    std::atomic<std::int64_t> spin_{0};    // ns of polling before sleep, at most Options::spin
    CpuContention contention_;             // used by the thread that sleeps
    unsigned polls_per_look_ = 1;
    std::atomic<unsigned> asked_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace torusmp::core
