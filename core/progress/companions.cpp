// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/companions.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/progress/progress.h"

namespace torusmp::core {

void Companions::replace(List with) {
    past_.push_back(list_);
    list_ = std::make_shared<const List>(std::move(with));
}

void Companions::add(Progress& progress) {
    progress.accompany(this);
    const std::lock_guard lock(mutex_);
    List with = *list_;
    with.push_back(&progress);
    replace(std::move(with));
}

void Companions::remove(Progress& progress) {
    std::vector<std::weak_ptr<const List>> past;
    {
        const std::lock_guard lock(mutex_);
        List without = *list_;
        std::erase(without, &progress);
        replace(std::move(without));
        std::erase_if(past_, [](const auto& it) { return it.expired(); });
        past = past_;
    }
    // Polls end soon; a sleeping thread is woken, and holds its list until it has left all others.
    for (const auto& it : past)
        while (const auto held = it.lock()) {
            for (Progress* const other : *held) other->wake();
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    std::atomic_thread_fence(std::memory_order_acquire);  // expiry alone orders nothing
    progress.accompany(nullptr);
}

bool Companions::poll(const Progress& but) {
    const auto all = list();  // held while its members are in use
    bool moved = false;
    for (Progress* const it : *all)
        if (it != &but) moved |= it->poll_if_free();
    return moved;
}

void Companions::sleep(Progress& self, transport::Clock::time_point deadline) {
    const auto all = list();
    List asleep;
    std::vector<pollfd> watched;
    self.watch(watched);
    bool busy = false;
    for (Progress* const it : *all) {
        if (it == &self || busy) continue;
        const auto sleeper = it->sleep_beside();
        busy = sleeper == Progress::Sleeper::none;
        if (sleeper != Progress::Sleeper::this_one) continue;
        asleep.push_back(it);
        it->watch(watched);
    }
    if (!busy) Progress::sleep_on(watched, deadline);
    for (Progress* const it : asleep) it->wake_beside();
}

}  // namespace torusmp::core
