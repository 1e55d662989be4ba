// SPDX-License-Identifier: BSD-3-Clause
#include "job/death_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace torusmp::job {

void DeathWatch::start(core::Runtime& runtime) {
    runtime_ = &runtime;
    stop_ = base::Descriptor(eventfd(0, EFD_CLOEXEC));
    thread_ = std::thread([this] { watch(); });
}

void DeathWatch::stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    if (write(stop_.get(), &one, sizeof one) < 0) return;  // cannot happen: nothing else is written
    thread_.join();
}

void DeathWatch::watch() {
    std::array<pollfd, 2> watched{
        {{bootstrap_.deaths_descriptor(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    for (;;) {
        if (poll(watched.data(), watched.size(), -1) < 0) continue;  // a signal
        if (watched[1].revents != 0) return;
        const auto deaths = bootstrap_.deaths();
        if ((watched[0].revents & POLLIN) == 0 && deaths.empty()) return;  // the launcher is gone
        {
            const std::lock_guard lock(mutex_);
            news_.insert(news_.end(), deaths.begin(), deaths.end());
        }
        if (!deaths.empty()) runtime_->interrupt();
    }
}

void DeathWatch::deliver() {
    std::vector<launch::Death> news;
    {
        const std::lock_guard lock(mutex_);
        news = std::exchange(news_, {});
    }
    for (const launch::Death& death : news)
        runtime_->peer_died(death.rank, fmt::format("it {}", death.cause));
}

}  // namespace torusmp::job
