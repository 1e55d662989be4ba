// SPDX-License-Identifier: BSD-3-Clause
// How threads sleep until something moves.
#include <poll.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/assert.h"
#include "core/progress/progress.h"

namespace torusmp::core {

using transport::Clock;

namespace {

constexpr std::chrono::nanoseconds longest_accompanied_sleep = std::chrono::milliseconds(1);

}  // namespace

// Sleeps unless something has moved since the caller read `moves_seen`: with several threads that
// may have been the awaited event, and nothing would wake this thread again. One thread sleeps in
// the interfaces, the others until that one, or any other, has moved something.
void Progress::sleep_until(Clock::time_point deadline, std::uint64_t moves_seen) {
    // The awaited event may occur in a companion that another thread moves, which does not wake
    // this thread.
    if (locking_ && companions() != nullptr)
        deadline = std::min<Clock::time_point>(deadline, Clock::now() + longest_accompanied_sleep);
    std::unique_lock<Gate> lock(gate_, std::defer_lock);
    if (locking_) lock.lock();
    if (asleep_) {
        ++others_asleep_;
        const auto news = [&] { return !asleep_ || moves_ != moves_seen; };
        if (deadline == Clock::time_point::max())
            moved_.wait(lock, news);
        else
            moved_.wait_until(lock, deadline, news);
        --others_asleep_;
        TORUSMP_ASSERT(others_asleep_ >= 0, commons_.rank(), others_asleep_);
        return;
    }
    if (prepare_sleep(moves_seen)) {
        if (locking_) lock.unlock();
        if (Companions* const others = companions(); others != nullptr)
            others->sleep(*this, deadline);
        else
            sleep_in_interfaces(deadline);
        // If other processes want the core, the waiting rank yields it.
        if (contention_.slept()) spin_ = contention_.present() ? 0 : longest_spin_.count();
        if (locking_) lock.lock();
        end_sleep();
    }
    cancel_sleep();
}

// Returns false if there is something to do. cancel_sleep() follows in any case.
bool Progress::prepare_sleep(std::uint64_t moves_seen) {
    if (looking_ != 0) set_tasks_asleep(true);
    for (transport::Interface* it : connections_.interfaces()) it->prepare_sleep();
    poll_locked();
    // This poll may have made news after it had checked for them, and the bell that announced them
    // is silent again.
    if (moves_.load(std::memory_order_relaxed) != moves_seen || has_news() || stopping_ ||
        stays_awake_)
        return false;
    asleep_ = true;
    woken_ = false;
    known_moves_ = moves_seen;
    return true;
}

void Progress::end_sleep() {
    TORUSMP_ASSERT(asleep_, commons_.rank(), others_asleep_);
    asleep_ = false;
    if (others_asleep_ != 0) moved_.notify_all();  // one of them watches from now on
}

void Progress::cancel_sleep() {
    for (transport::Interface* it : connections_.interfaces()) it->cancel_sleep();
    if (looking_ != 0) set_tasks_asleep(false);
}

void Progress::sleep_in_interfaces(transport::Clock::time_point deadline) {
    const auto interfaces = connections_.interfaces();
    if (interfaces.size() == 1) return interfaces.front()->sleep(deadline);
    std::array<pollfd, Connections::most_interfaces> watched{};
    for (std::size_t i = 0; i < interfaces.size(); ++i)
        watched[i] = {interfaces[i]->descriptor(), POLLIN, 0};
    sleep_on({watched.data(), interfaces.size()}, deadline);
}

void Progress::watch(std::vector<pollfd>& watched) const {
    for (transport::Interface* it : connections_.interfaces())
        watched.push_back({it->descriptor(), POLLIN, 0});
}

void Progress::sleep_on(std::span<pollfd> watched, transport::Clock::time_point deadline) {
    // Interfaces with time limits of their own must be polled now and then.
    const auto most = std::chrono::seconds(1);
    const auto left = std::clamp<std::chrono::nanoseconds>(deadline - Clock::now(),
                                                           std::chrono::nanoseconds(0), most);
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ppoll(watched.data(), watched.size(), &time, nullptr);
}

// A thread that sleeps on a futex must first be woken: it does not wait for the descriptor. It stays
// awake until this thread has the lock, or it would sleep again before.
void Progress::accompany(Companions* companions) {
    std::unique_lock<Gate> lock(gate_, std::defer_lock);
    if (locking_) lock.lock();
    while (companions != nullptr && asleep_) {
        stays_awake_ = true;
        wake();
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        lock.lock();
    }
    stays_awake_ = false;
    if (companions != nullptr)
        for (transport::Interface* it : connections_.interfaces()) it->want_descriptor();
    companions_.store(companions, std::memory_order_relaxed);
    plain_ = !locking_ && companions == nullptr;
}

bool Progress::poll_if_free() {
    if (!locking_) return poll_unlocked();
    const std::unique_lock<Gate> lock(gate_, std::try_to_lock);
    return lock && poll_locked();
}

Progress::Sleeper Progress::sleep_beside() {
    std::unique_lock<Gate> lock(gate_, std::defer_lock);
    if (locking_ && !lock.try_lock()) return Sleeper::none;
    if (asleep_) return Sleeper::another;
    if (prepare_sleep(moves_.load(std::memory_order_relaxed))) return Sleeper::this_one;
    cancel_sleep();
    return Sleeper::none;
}

void Progress::wake_beside() {
    std::unique_lock<Gate> lock(gate_, std::defer_lock);
    if (locking_) lock.lock();
    end_sleep();
    cancel_sleep();
}

}  // namespace torusmp::core
