// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/soak_tasks.h"

#include <numeric>

#include "collectives/soak_task.h"

namespace torusmp::collectives::testing {
namespace {

using core::Rank;

const std::vector<TaskMaker>& makers() {
    static const std::vector<TaskMaker> all = [] {
        std::vector<TaskMaker> both = tasks_of_moves();
        for (const TaskMaker& maker : tasks_of_reductions()) both.push_back(maker);
        return both;
    }();
    return all;
}

template <class Element>
void shuffle(std::vector<Element>& elements, Random& random) {
    for (std::size_t i = elements.size(); i > 1; --i)
        std::swap(elements[i - 1], elements[std::size_t(random.below(i))]);
}

// The ranks that have the coordinates of a random rank in these dimensions.
std::vector<Rank> slice(const routing::Torus& torus, const std::vector<int>& fixed,
                        Random& random) {
    const auto at = torus.coordinates(Rank(random.below(std::uint64_t(torus.size()))));
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        const auto here = torus.coordinates(rank);
        if (std::all_of(fixed.begin(), fixed.end(),
                        [&](int d) { return here[std::size_t(d)] == at[std::size_t(d)]; }))
            ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace

void Team::sign_on(Job& job, core::Context context) {
    for (const Rank rank : members)
        groups.push_back(std::make_unique<Group>(job[rank], members, context));
}

std::vector<Team> random_teams(const routing::Torus& torus, Random& random) {
    std::vector<Team> teams(5);
    std::vector<Rank> all(std::size_t(torus.size()));
    std::iota(all.begin(), all.end(), 0);
    teams[0].name = "all";
    teams[0].members = all;
    teams[1].name = "all, shuffled";
    shuffle(all, random);
    teams[1].members = all;

    std::vector<int> dimensions(std::size_t(torus.dimensions()));
    std::iota(dimensions.begin(), dimensions.end(), 0);
    shuffle(dimensions, random);
    teams[2].name = "a slice with one dimension fixed";
    teams[2].members = slice(torus, {dimensions.begin(), dimensions.begin() + 1}, random);
    teams[3].name = "a line";
    teams[3].members = slice(torus, {dimensions.begin() + 1, dimensions.end()}, random);
    shuffle(teams[3].members, random);
    teams[4].name = "some ranks";
    shuffle(all, random);
    all.resize(1 + std::size_t(random.below(std::min<std::uint64_t>(all.size(), 40))));
    teams[4].members = all;
    return teams;
}

std::unique_ptr<SoakTask> random_task(Team& team, Random& random) {
    return makers()[std::size_t(random.below(makers().size()))].make(team, random);
}

std::unique_ptr<SoakTask> task_of(const AlgorithmTable& table, Wanted algorithm, Team& team,
                                  Random& random) {
    const auto maker =
        std::find_if(makers().begin(), makers().end(),
                     [&](const TaskMaker& candidate) { return candidate.table == &table; });
    if (maker == makers().end()) return nullptr;
    auto task = maker->make(team, random);
    task->choose(algorithm);
    return task;
}

}  // namespace torusmp::collectives::testing
