// SPDX-License-Identifier: BSD-3-Clause
// Progress: polling, sleeping and waking; the lock, the tasks, and the thread that makes progress
// while the program computes.
//
// With Options::threads or a progress thread any thread may call; otherwise only one at a time, and
// no lock is taken. ask_for() may be called from anywhere, including signal handlers.
//
// One rule wakes sleeping threads: a thread that may have ended a wait, in a poll or in any other
// call, wakes them when it releases the lock. So no module needs to know the waiting threads.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "core/commons.h"
#include "core/connection/connections.h"
#include "core/connection/packet_sender.h"
#include "core/connection/shortcuts.h"
#include "core/link/link_manager.h"
#include "core/progress/companions.h"
#include "core/progress/cpu_contention.h"
#include "core/progress/task.h"
#include "core/waits/waits.h"

namespace torusmp::core {

// A call that waits for a while, in the form in which it is published.
struct Waiting {
    std::string_view call;
    transport::Clock::time_point since;
    const Awaited* awaited;  // null if it is unknown
};

class Progress {
  public:
    // `sink` receives what the interfaces deliver. `waits` makes the report of all waits. `publish`
    // publishes this rank's state; its argument is null if no call waits long.
    Progress(Commons& commons, Connections& connections, PacketSender& sender, FaultHandler& faults,
             LinkManager& links, Shortcuts& shortcuts, transport::Sink& sink,
             std::function<Waits()> waits, std::function<void(const Waiting*)> publish);
    ~Progress() { stop(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // The lock; its last release wakes sleeping threads if there is news for them.
    class Gate {
      public:
        explicit Gate(Progress& progress) : progress_(progress) {}
        void lock() {
            mutex_.lock();
            entered();
        }
        bool try_lock() {
            if (!mutex_.try_lock()) return false;
            entered();
            return true;
        }
        void unlock() {
            TORUSMP_ASSERT(depth_ > 0 && progress_.commons_.lock.held(), depth_);
            if (--depth_ == 0) {
                progress_.wake_sleeper();
                progress_.commons_.lock.leave();
            }
            mutex_.unlock();
        }

      private:
        friend class Progress;
        void entered() {
            if (depth_++ == 0) progress_.commons_.lock.take();
        }
        Progress& progress_;
        std::recursive_mutex mutex_;
        int depth_ = 0;
    };

    // Taken by every entry point; costs one predictable branch if only one thread calls.
    class Guard {
      public:
        explicit Guard(const Progress& progress)
            : gate_(progress.locking_ ? &progress.gate_ : nullptr) {
            if (gate_ != nullptr) gate_->lock();
        }
        ~Guard() {
            if (gate_ != nullptr) gate_->unlock();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;
        // The caller has just started this request. If it is already complete, that is not news,
        // because no thread waits for it yet.
        void started(const Request& request) {
            if (gate_ != nullptr && request.complete() && !request.pending())
                ++gate_->progress_.known_completed_;
        }

      private:
        Gate* gate_;
    };

    // One waiting call: decides between polling, sleeping and reporting.
    class Waiter {
      public:
        // `awaited` is used in reports; null if it is unknown.
        Waiter(Progress& progress, std::string_view what, const Awaited* awaited)
            : progress_(progress), what_(what), awaited_(awaited) {}
        ~Waiter() {
            if (listed_) end();
        }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;
        // Polls; sleeps before that if the polls so far have moved nothing.
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
        // Start of the wait for anything to move; other threads read it for reports.
        std::atomic<transport::Clock::time_point> began_{transport::Clock::time_point{}};
        transport::Clock::time_point warned_{};     // time of the watchdog's last report
        transport::Clock::time_point linger_at_{};  // when tasks are notified next
        std::chrono::nanoseconds linger_step_{};
        transport::Clock::time_point published_{};  // start of the published wait
        bool lingers_ = false;
        bool listed_ = false;
        bool spoke_ = false;  // has published or lingers
    };

    // Whether several threads may call, so that Guards lock.
    bool locks() const { return locking_; }
    // Starts the progress thread if the options request one.
    void start();
    void stop();

    // Moves everything that can move, without waiting. Returns true if something moved.
    bool poll() {
        if (!locking_) [[likely]]
            return poll_unlocked();
        const Guard guard(*this);
        return poll_locked();
    }
    // Takes what has arrived and starts nothing that waits for it. The lock is held.
    void take_arrived();
    // poll() inside a call that returns without waiting, and that programs repeat until something
    // has changed. If nothing moved and ranks share cores, yields the core to the others, unless
    // the rank is alone on its host: there it hardly helps, and costs contended windows a fifth of
    // their rate.
    void poll_repeatedly() {
        if (!poll() && options_.direct.size() > 1) yield_core();
    }
    // The same in a call that reports name; it yields on any host.
    void poll_for(std::string_view call, const Awaited& sought) {
        const bool moved = poll_companions();
        {
            const Guard guard(*this);
            const Look look(*this, call, sought);
            if (poll_locked() || moved) return;
        }
        yield_core();
    }
    bool poll_companions() {
        Companions* const others = companions();
        return others != nullptr && others->poll(*this);
    }
    // Wakes all waiting threads to check their conditions again, after an event elsewhere.
    void recheck();
    void add_task(Task& task);
    // See Notes.
    void linger(std::string_view what);
    std::string_view waits_in() const { return waits_in_; }
    // Adds the calls that wait, what they await, and what tasks wait for.
    void report(Waits& waits) const;
    std::size_t tasks() const { return tasks_.size(); }
    // The event for which the oldest task waits; empty if there is none.
    std::string first_task() const;
    // Publishes immediately.
    void publish();

    // Asks the thread that runs next for this work: bits of the control page.
    void ask_for(unsigned what) noexcept;

    // --- for Companions ---
    // Null: alone again.
    void accompany(Companions* companions);
    Companions* companions() const { return companions_.load(std::memory_order_relaxed); }
    // Polls unless another thread runs here.
    bool poll_if_free();
    // Lets the calling thread sleep for this Runtime, too. Returns this_one if it may, until
    // wake_beside(), which must follow; another if another thread sleeps already; none if there is
    // something to do.
    enum class Sleeper { this_one, another, none };
    Sleeper sleep_beside();
    void wake_beside();
    // Adds what the sleeping thread waits for.
    void watch(std::vector<pollfd>& watched) const;
    static void sleep_on(std::span<pollfd> watched, transport::Clock::time_point deadline);
    void wake() noexcept { connections_.interfaces().front()->wake(); }

  private:
    // Ends with the poll of poll_for(), also if that throws.
    struct Look {
        Look(Progress& of, std::string_view call, const Awaited& sought) : progress(of) {
            progress.looks_in_ = call;
            progress.sought_ = &sought;
        }
        ~Look() { progress.sought_ = nullptr; }
        Progress& progress;
    };

    bool poll_locked();
    bool poll_unlocked();
    void yield_core() const;
    bool has_news() const;
    void wake_sleeper() noexcept;
    bool do_errands();
    bool advance_tasks(bool moved);
    void set_tasks_asleep(bool asleep);
    void answer_asked();
    void report_sought(Waits& waits) const;
    void list(Waiter& waiter);
    void unlist(Waiter& waiter);
    void report_waits(WaitsWanted why);
    void publish_wait(const Waiting& waiting, const Waiter& waiter);
    void end_wait(const Waiter& waiter);
    void sleep_until(transport::Clock::time_point deadline, std::uint64_t moves_seen);
    void sleep_in_interfaces(transport::Clock::time_point deadline);
    bool prepare_sleep(std::uint64_t moves_seen);
    void end_sleep();
    void cancel_sleep();
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
    const bool has_thread_;  // relays and remote writes move while the program computes
    const bool locking_;
    bool plain_ = !locking_;                       // one thread, and no companions
    const std::chrono::nanoseconds watchdog_;      // 0 if off
    const std::chrono::nanoseconds longest_spin_;  // of polling before sleep
    mutable Gate gate_{*this};
    struct Listed {
        Task* task;
        bool looks;
    };
    std::vector<Listed> tasks_;
    int looking_ = 0;  // the number of tasks that look at memory
    std::string_view waits_in_;
    std::string_view looks_in_;
    const Awaited* sought_ = nullptr;     // null if no call looks
    std::vector<const Waiter*> waiters_;  // those that have slept

    bool asleep_ = false;       // a thread sleeps in the interfaces, on behalf of all
    bool woken_ = false;        // it has been woken, but does not run yet
    bool stays_awake_ = false;  // none may sleep now: accompany() waits for that
    int others_asleep_ = 0;     // other threads, which sleep until any thread moves something
    std::condition_variable_any moved_;
    // Requests that the other threads have completed outside a poll.
    std::uint64_t known_completed_ = 0;
    std::uint64_t known_moves_ = 0;        // at the last wake-up of the others
    std::atomic<std::uint64_t> moves_{0};  // polls that moved something
    std::atomic<std::uint64_t> notes_{0};  // of them, those that brought notes
    std::atomic<std::int64_t> spin_{0};    // ns of polling before sleep, at most Options::spin
    CpuContention contention_;             // used by the thread that sleeps
    const bool alone_;                     // on its host
    unsigned polls_per_look_ = 1;
    std::atomic<unsigned>& asked_;    // on the control page
    std::optional<Waiting> waiting_;  // the last call that published its wait, until it ends
    const Waiter* waiter_ = nullptr;  // the waiter of that call
    std::atomic<Companions*> companions_{nullptr};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace torusmp::core
