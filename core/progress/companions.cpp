// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/companions.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/progress/progress.h"

namespace torusmp::core {

std::shared_ptr<const Companions::List> Companions::replace(List with) {
    const std::lock_guard lock(mutex_);
    return std::exchange(list_, std::make_shared<const List>(std::move(with)));
}

void Companions::add(Progress& progress) {
    progress.accompany(this);
    List with = *list();
    with.push_back(&progress);
    replace(std::move(with));
}

void Companions::remove(Progress& progress) {
    List with = *list();
    std::erase(with, &progress);
    const auto before = replace(std::move(with));
    // Polls end soon; sleeping threads are woken, and hold the list until they have left all
    // others.
    while (before.use_count() > 1) {
        for (Progress* const it : *before) it->wake();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    progress.accompany(nullptr);
}

bool Companions::poll(const Progress& but) {
    bool moved = false;
    for (Progress* const it : *list())
        if (it != &but) moved |= it->poll_if_free();
    return moved;
}

void Companions::sleep(Progress& self, transport::Clock::time_point deadline) {
    const auto all = list();
    List resting;
    std::vector<pollfd> watched;
    self.watch(watched);
    bool news = false;
    for (Progress* const it : *all) {
        if (it == &self || news) continue;
        switch (it->rest()) {
            case Progress::Rest::news:
                news = true;
                break;
            case Progress::Rest::elsewhere:
                break;
            case Progress::Rest::here:
                resting.push_back(it);
                it->watch(watched);
        }
    }
    if (!news) Progress::sleep_on(watched, deadline);
    for (Progress* const it : resting) it->rise();
}

}  // namespace torusmp::core
