// SPDX-License-Identifier: BSD-3-Clause
// A waiting call: polls, yields the core, sleeps, and reports when it waits long.
#include <sched.h>

#include <algorithm>

#include "base/pause.h"
#include "core/progress/progress.h"

namespace torusmp::core {
namespace {

using transport::Clock;

// Polls at the beginning of a wait without a spin-loop hint to the processor: a few times as many
// as a short message takes.
constexpr unsigned polls_without_pause = 128;
// The length of a wait after which tasks are notified, in units of Options::publish_after; it
// doubles each time.
constexpr int first_linger = 10;
// Times that the core is yielded to other ranks before sleep, if ranks outnumber cores.
constexpr unsigned most_yields = 16;
// The most of these yields that may be in vain, because no other rank took the core. A rank that is
// alone on its host may share the cores with ranks in other containers, among which the kernel
// distributes them regardless of yields; and the kernel wakes it when it has handled a packet in
// any case.
constexpr unsigned most_vain_yields = 2;
// A shorter yield was in vain.
constexpr std::chrono::nanoseconds shortest_turn = std::chrono::microseconds(1);
// A longer yield has given the core to threads that do not yield in turn.
constexpr std::chrono::nanoseconds longest_turn = std::chrono::milliseconds(1);

}  // namespace

// Checks the results of the previous polls before it polls again, so that the caller gets a result
// without delay.
void Progress::Waiter::turn() {
    look();
    if (progress_.plain_) [[likely]] {
        progress_.poll_unlocked();
        return;
    }
    progress_.poll_companions();
    if (!progress_.locking_) {
        progress_.poll_unlocked();
        return;
    }
    // A waiting thread does not queue for the lock behind threads that have work to do.
    const std::unique_lock<Gate> lock(progress_.gate_, std::try_to_lock);
    if (lock) progress_.poll_locked();
}

void Progress::Waiter::look() {
    // Another thread may have moved the awaited object since the last check.
    if (const std::uint64_t moves = progress_.moves_.load(std::memory_order_acquire);
        moves != moves_seen_) {
        // Notes between ranks about their waiting do not end the wait.
        const std::uint64_t notes = progress_.notes_.load(std::memory_order_relaxed);
        if (moves - moves_seen_ > notes - notes_seen_) began_.store({}, std::memory_order_relaxed);
        const bool first = moves_seen_ == ~std::uint64_t{0};
        moves_seen_ = moves;
        notes_seen_ = notes;
        idle_turns_ = 0;
        vain_yields_ = 0;
        // The caller has just polled; but another thread may have moved something since.
        if (!first || progress_.locking_) return;
    }
    ++idle_turns_;
    const Options& options = progress_.options_;
    if (options.oversubscribed) {
        // The peer can answer only when it has the core: yield it, and sleep if that does not help.
        // Waking a sleeper costs more than a few turns of all ranks.
        if (idle_turns_ <= most_yields && vain_yields_ < most_vain_yields) return yield();
    }
    const std::chrono::nanoseconds spin(progress_.spin_.load(std::memory_order_relaxed));
    const bool spins = !options.oversubscribed && spin.count() != 0;
    if (spins && idle_turns_ % progress_.polls_per_look_ != 0) {
        // No pause during the first polls, to keep latency low.
        if (idle_turns_ > polls_without_pause) base::pause();
        return;
    }
    const auto now = Clock::now();
    auto began = began_.load(std::memory_order_relaxed);
    if (began == Clock::time_point{})
        began_.store(began = warned_ = now, std::memory_order_relaxed);
    if (progress_.poll_companions()) return;
    if (spins && now - began < spin) return;
    if (!listed_) progress_.list(*this);
    speak(now);
    progress_.sleep_until(next_word(), moves_seen_);
}

// Among ranks of one host, which wake a sleeper themselves, a short yield does not count as vain.
// Long yields are checked if the program has threads, which may spin.
void Progress::Waiter::yield() {
    if (!progress_.alone_ && !progress_.locking_) {
        sched_yield();
        return;
    }
    const auto before = Clock::now();
    sched_yield();
    const auto turn = Clock::now() - before;
    if (progress_.alone_ && turn < shortest_turn) ++vain_yields_;
    if (progress_.locking_ && turn > longest_turn) vain_yields_ = most_vain_yields;
}

// Publishes and reports a long wait, and decides when the next report is due.
void Progress::Waiter::speak(Clock::time_point now) {
    const std::chrono::nanoseconds watchdog = progress_.watchdog_;
    if (linger_at_ == Clock::time_point{}) {
        // Several times before the watchdog reports, so that its report can include the findings.
        linger_step_ = first_linger * progress_.options_.publish_after;
        if (watchdog.count() != 0) linger_step_ = std::min(linger_step_, watchdog / 8);
        linger_at_ = now + linger_step_;
    }
    const auto began = began_.load(std::memory_order_relaxed);
    if (published_ != began && now - began >= progress_.options_.publish_after) {
        spoke_ = true;
        published_ = began;
        progress_.publish_wait({what_, began, awaited_}, *this);
    }
    if (now >= linger_at_) {
        lingers_ = spoke_ = true;
        linger_step_ *= 2;
        linger_at_ = now + linger_step_;
        progress_.linger(what_);
    }
    if (watchdog.count() != 0 && now - warned_ >= watchdog) {
        progress_.report_waits(WaitsWanted::overdue);
        warned_ = now;
    }
}

Clock::time_point Progress::Waiter::next_word() const {
    const std::chrono::nanoseconds watchdog = progress_.watchdog_;
    auto next = linger_at_;
    if (watchdog.count() != 0) next = std::min(next, warned_ + watchdog);
    const auto began = began_.load(std::memory_order_relaxed);
    if (published_ != began) next = std::min(next, began + progress_.options_.publish_after);
    return next;
}

void Progress::Waiter::end() {
    progress_.unlist(*this);
    if (!spoke_) return;
    if (lingers_) progress_.linger({});
    progress_.end_wait(*this);
}

}  // namespace torusmp::core
