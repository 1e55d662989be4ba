// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/soak_round.h"

#include <fmt/format.h>

namespace torusmp::collectives::testing {

Round::Round(Job& job, Tasks& tasks, Random& random, std::function<bool()> turn)
    : job_(job),
      random_(random),
      turn_(turn ? std::move(turn) : [&job] { return job.turn(); }),
      queues_(std::size_t(job.size())) {
    for (auto& task : tasks)
        for (int node = 0; node < task->team().size(); ++node) {
            const core::Rank rank = task->team().members[std::size_t(node)];
            queues_[std::size_t(rank)].push_back({task.get(), node});
            calls_.push_back({task.get(), node});
        }
    for (core::Rank rank = 0; rank < job.size(); ++rank)
        if (!queues_[std::size_t(rank)].empty()) waiting_.push_back(rank);
}

bool Round::finish() {
    std::size_t next = 0;
    const auto all_ended = [&] {
        while (next < calls_.size() && ended(calls_[next])) ++next;
        return next == calls_.size();
    };
    while (!all_ended())
        if (!turn_()) return all_ended();
    return true;
}

void Round::start_one() {
    const std::size_t pick = std::size_t(random_.below(waiting_.size()));
    auto& queue = queues_[std::size_t(waiting_[pick])];
    const core::Rank rank = waiting_[pick];
    if (job_.alive(rank)) queue.front().task->start(queue.front().node);
    queue.erase(queue.begin());
    if (queue.empty()) {
        waiting_[pick] = waiting_.back();
        waiting_.pop_back();
    }
    if (random_.below(4) == 0) turn_();
}

Tasks random_tasks(std::vector<Team>& teams, Random& random, std::uint64_t most) {
    Tasks tasks;
    for (auto left = 1 + random.below(most); left > 0; --left)
        tasks.push_back(random_task(teams[std::size_t(random.below(teams.size()))], random));
    return tasks;
}

std::string describe(const Tasks& tasks) {
    std::string text;
    for (const auto& task : tasks)
        text += fmt::format("  {} on {} ({} members)\n", task->describe(), task->team().name,
                            task->team().size());
    return text;
}

std::string check_round(Job& job, std::vector<Team>& teams, Random& random, std::uint64_t most,
                        std::function<bool()> turn) {
    Tasks tasks = random_tasks(teams, random, most);
    Round round(job, tasks, random, std::move(turn));
    round.start_all();
    const bool ended = round.finish();
    std::string wrong;
    if (!ended) wrong = "some calls never end:\n" + job.report();
    for (const auto& call : round.calls())
        if (ended && call.schedule().error() != core::Error::none)
            wrong += fmt::format("rank {}: {}\n", call.rank(), call.schedule().failure());
    if (wrong.empty())
        for (const auto& task : tasks)
            if (const std::string found = task->wrong(); !found.empty())
                wrong += fmt::format("{}: {}\n", task->describe(), found);
    if (!wrong.empty()) wrong = describe(tasks) + wrong;
    // A task that has not ended must stay as long as the job.
    if (!ended)
        for (auto& task : tasks) [[maybe_unused]] auto* const kept = task.release();
    return wrong;
}

}  // namespace torusmp::collectives::testing
