// SPDX-License-Identifier: BSD-3-Clause
#include "core/simulated/timed_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/settings.h"

namespace torusmp::core::simulated {

namespace {

constexpr int most_reported = 12;

// Links that behave like those of TCP: writes with notices, in order, and no reads.
sim::WorldOptions world_of(const TimedOptions& options) {
    if (options.torus.size() < 2)
        throw std::invalid_argument(fmt::format(
            "a job in simulated time: found {} rank, expected at least 2", options.torus.size()));
    sim::WorldOptions world;
    world.write = sim::Remote::pending;
    world.read = sim::Remote::refused;
    world.notifies = true;
    world.model = options.model;
    return world;
}

Options options_of(const TimedOptions& options, Rank rank) {
    Options mine{.torus = options.torus, .rank = rank, .direct = {}, .log = {}, .name_of = {}};
    mine.eager_limit = options.eager_limit;
    mine.far_direct = false;
    mine.set(setting::watchdog, std::chrono::nanoseconds(0));
    return mine;
}

}  // namespace

Runtime& TimedRank::runtime() const {
    return (*job_)[rank_];
}

void TimedRank::compute(double nanoseconds) const {
    job_->compute(rank_, nanoseconds);
}

sim::Time TimedRank::now() const {
    return job_->now(rank_);
}

TimedJob::TimedJob(const TimedOptions& options)
    : torus_(options.torus),
      ranks_({.torus = options.torus, .world = world_of(options), .options = [&](Rank rank) {
                  return options_of(options, rank);
              }}) {
    ranks_.connect(ranks_.addresses());
    for (Rank rank = 0; rank < size(); ++rank)
        ranks_.each_interface(rank, [&](sim::Interface& it) { interfaces_.push_back(&it); });
    if (int(interfaces_.size()) != size())
        throw std::logic_error("a rank in simulated time has one interface");
    ended_.assign(interfaces_.size(), true);
    called_for_.assign(interfaces_.size(), sim::Time{-1});
    run_until_idle();
}

// Runs until nothing is in flight and all processors are free.
void TimedJob::run_until_idle() {
    while (const auto index = ranks_.world().step()) {
        Runtime& runtime = ranks_[ranks_.owner(*index)];
        while (runtime.progress()) {
        }
    }
    sim::World& world = ranks_.world();
    sim::Time free = world.now();
    for (const sim::Interface* it : interfaces_) free = std::max(free, world.program_at(*it));
    world.advance(free - world.now());
}

sim::Time TimedJob::run(const std::vector<std::unique_ptr<Program>>& by_rank) {
    sim::World& world = ranks_.world();
    const sim::Time began = world.now();
    ended_.assign(interfaces_.size(), false);
    running_ = size();
    for (sim::Interface* it : interfaces_) world.call(*it, began);
    sim::Time last = began;
    while (running_ > 0) {
        const auto index = world.step();
        if (!index) {
            std::string waits;
            int shown = 0;
            for (Rank rank = 0; rank < size(); ++rank)
                if (!ended_[std::size_t(rank)] && ++shown <= most_reported)
                    waits += fmt::format("\nrank {}: {}", rank, ranks_[rank].state().report());
            throw std::runtime_error(
                fmt::format("{} ranks wait for each other without end{}", running_, waits));
        }
        const Rank rank = ranks_.owner(*index);
        const bool ran = !ended_[std::size_t(rank)];
        give_turn(rank, by_rank);
        if (ran && ended_[std::size_t(rank)])
            last = std::max(last, world.program_at(interface(rank)));
    }
    run_until_idle();
    return last - began;
}

void TimedJob::give_turn(Rank rank, const std::vector<std::unique_ptr<Program>>& programs) {
    sim::World& world = ranks_.world();
    const auto index = std::size_t(rank);
    Runtime& runtime = ranks_[rank];
    const TimedRank self(*this, rank);
    bool moved = true;
    while (moved) {
        while (runtime.progress()) {
        }
        if (ended_[index]) return;
        // The rank is computing, or busy with packets, and continues with its program only then.
        const sim::Time resumes = world.program_at(interface(rank));
        if (resumes > world.now()) {
            if (called_for_[index] != resumes) world.call(interface(rank), resumes);
            called_for_[index] = resumes;
            return;
        }
        if (programs[index]->advance(self)) {
            ended_[index] = true;
            --running_;
        }
        moved = world.program_at(interface(rank)) == world.now() && runtime.progress();
    }
    if (ended_[index]) return;
    const sim::Time resumes = world.program_at(interface(rank));
    if (resumes > world.now() && called_for_[index] != resumes) {
        called_for_[index] = resumes;
        world.call(interface(rank), resumes);
    }
}

}  // namespace torusmp::core::simulated
