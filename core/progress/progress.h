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
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/commons.h"
#include "core/connection/connections.h"
#include "core/connection/packet_sender.h"
#include "core/connection/shortcuts.h"
#include "core/link/link_manager.h"
#include "core/progress/cpu_contention.h"
#include "core/progress/task.h"
#include "core/waits/waits.h"

namespace torusmp::core {

// A call that waits longer than a moment, as it is published.
struct Waiting {
    std::string_view call;
    transport::Clock::time_point since;
    const Request* request;  // what it waits for; null: something else
};

class Progress {
  public:
    // sink: where the interfaces deliver. waits: what makes the report of all waits. publish: tells
    // about this rank; null: no call waits long.
    Progress(Commons& commons, Connections& connections, PacketSender& sender, FaultHandler& faults,
             LinkManager& links, Shortcuts& shortcuts, transport::Sink& sink,
             std::function<Waits()> waits, std::function<void(const Waiting*)> publish);
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
        // awaited: for reports; null: nobody can tell.
        Waiter(Progress& progress, std::string_view what, const Awaited* awaited)
            : progress_(progress), what_(what), awaited_(awaited) {}
        ~Waiter() {
            if (listed_) end();
        }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;
        // Polls, and sleeps before if the polls so far have moved nothing.
        void turn();

      private:
        friend class Progress;
        void look();
        void yield();
        void speak(transport::Clock::time_point now);
        transport::Clock::time_point next_word() const;
        void end();

        Progress& progress_;
        std::string_view what_;
        const Awaited* awaited_;
        unsigned idle_turns_ = 0;
        unsigned vain_yields_ = 0;
        std::uint64_t moves_seen_ = ~std::uint64_t{0};  // none
        std::uint64_t notes_seen_ = 0;
        // To wait for anything to move; other threads make reports of it.
        std::atomic<transport::Clock::time_point> began_{transport::Clock::time_point{}};
        transport::Clock::time_point warned_{};     // by the watchdog
        transport::Clock::time_point linger_at_{};  // next, whatever moves until then
        std::chrono::nanoseconds linger_step_{};
        transport::Clock::time_point published_{};  // the beginning of the wait that was
        bool lingers_ = false;
        bool listed_ = false;
        bool spoke_ = false;  // has published, or lingers
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
    // Adds the calls that wait, what they await, and what tasks wait for.
    void report(Waits& waits) const;
    std::size_t tasks() const { return tasks_.size(); }
    // What the oldest task waits for; empty: there is none.
    std::string first_task() const;
    // Publishes at once.
    void publish();

    // Asks the thread that next runs to do that: bits of the control page.
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
    void list(Waiter& waiter);
    void unlist(Waiter& waiter);
    void tell(WaitsWanted why);
    void publish_wait(const Waiting& waiting, const Waiter& waiter);
    void end_wait(const Waiter& waiter);
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
    Shortcuts& shortcuts_;
    transport::Sink& sink_;
    const std::function<Waits()> waits_;
    const std::function<void(const Waiting*)> publish_;
    const bool locking_;
    mutable std::recursive_mutex mutex_;
    struct Listed {
        Task* task;
        bool looks;
    };
    std::vector<Listed> tasks_;
    int looking_ = 0;  // how many of them look at memory
    std::string_view waits_in_;
    std::vector<const Waiter*> waiters_;  // those that have slept

    bool asleep_ = false;    // a thread sleeps in the interfaces, for all
    int others_asleep_ = 0;  // and these until anybody moves something
    std::condition_variable_any moved_;
    std::atomic<std::uint64_t> moves_{0};  // polls that moved something
    std::atomic<std::uint64_t> notes_{0};  // and of them, those that brought notes
    std::atomic<std::int64_t> spin_{0};    // ns of polling before sleep, at most Options::spin
    CpuContention contention_;             // used by the thread that sleeps
    const bool alone_;                     // on its host
    unsigned polls_per_look_ = 1;
    std::atomic<unsigned>& asked_;    // on the control page
    std::optional<Waiting> waiting_;  // the last call that published its wait, until it ends
    const Waiter* waiter_ = nullptr;  // and which it was
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace torusmp::core
