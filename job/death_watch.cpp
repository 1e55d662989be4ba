// SPDX-License-Identifier: BSD-3-Clause
#include "job/death_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace torusmp::job {
namespace {

void ring_bell(const base::Descriptor& bell) noexcept {
    const std::uint64_t one = 1;
    // It can only fail if the bell has rung unheard for 2^64 times.
    [[maybe_unused]] const auto written = write(bell.get(), &one, sizeof one);
}

}  // namespace

void DeathWatch::start(core::Runtime& runtime, std::chrono::nanoseconds longest,
                       bool outlives_launcher) {
    runtime_ = &runtime;
    longest_ = longest;
    outlives_launcher_ = outlives_launcher;
    stop_ = base::Descriptor(eventfd(0, EFD_CLOEXEC));
    expects_ = base::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // Ranks may have died before this one joined its job again.
    news_ = bootstrap_.deaths();
    if (!news_.empty()) runtime.interrupt();
    thread_ = std::thread([this] { watch(); });
}

void DeathWatch::stop() {
    if (!thread_.joinable()) return;
    ring_bell(stop_);
    thread_.join();
}

void DeathWatch::expect_report() noexcept {
    if (expects_.get() >= 0) ring_bell(expects_);
}

void DeathWatch::watch() {
    using Clock = std::chrono::steady_clock;
    std::array<pollfd, 3> watched{{{bootstrap_.deaths_descriptor(), POLLIN, 0},
                                   {stop_.get(), POLLIN, 0},
                                   {expects_.get(), POLLIN, 0}}};
    constexpr auto never = Clock::time_point::max();
    auto due = never;  // when a report is overdue
    for (;;) {
        int wait = -1;
        if (due != never) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
            wait = int(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
        }
        if (poll(watched.data(), watched.size(), wait) < 0) continue;  // a signal
        if (watched[1].revents != 0) return;
        if (watched[2].revents != 0) {
            std::uint64_t rung;
            if (read(expects_.get(), &rung, sizeof rung) > 0) due = Clock::now() + longest_;
        }
        const auto deaths = bootstrap_.deaths();
        constexpr int ended = POLLHUP | POLLERR | POLLNVAL;  // with POLLIN for the last reports
        const bool gone = (watched[0].revents & ended) != 0 && deaths.empty();
        if (gone && !outlives_launcher_) return;
        const bool overdue = due != never && Clock::now() >= due;
        if (overdue) due = never;
        if (deaths.empty() && !overdue && !gone) continue;
        {
            const std::lock_guard lock(mutex_);
            news_.insert(news_.end(), deaths.begin(), deaths.end());
            overdue_ |= overdue;
            launcher_gone_ = gone;
        }
        runtime_->interrupt();
        if (gone) return;
    }
}

void DeathWatch::deliver() {
    std::vector<launch::Death> news;
    bool overdue = false, gone = false;
    {
        const std::lock_guard lock(mutex_);
        news = std::exchange(news_, {});
        overdue = std::exchange(overdue_, false);
        gone = launcher_gone_;
    }
    for (const launch::Death& death : news)
        runtime_->peer_died(death.rank, fmt::format("it {}", death.cause));
    if (gone)
        for (core::Rank rank = 0; rank < runtime_->size(); ++rank)
            if (rank != runtime_->rank())
                runtime_->peer_died(rank,
                                    "the torus-run that joins it with this process has ended");
    if (overdue) runtime_->deaths_are_known();
}

}  // namespace torusmp::job
