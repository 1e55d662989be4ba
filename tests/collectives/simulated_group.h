// SPDX-License-Identifier: BSD-3-Clause
// A group on every rank of a simulated job, and schedules on them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "collectives/allreduce/allreduce.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/broadcast/broadcast.h"
#include "core/job.h"

namespace torusmp::collectives::testing {

using core::testing::Job;
using core::testing::JobOptions;

// Rounding makes the order of additions visible.
inline void add_floats(void* result, const void* a, const void* b, std::size_t count, const void*) {
    auto* const sum = static_cast<float*>(result);
    const auto* const left = static_cast<const float*>(a);
    const auto* const right = static_cast<const float*>(b);
    for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}
inline const Operation float_sum{add_floats, sizeof(float)};

inline JobOptions job_of(std::vector<int> dims, bool direct, std::uint64_t seed = 1) {
    JobOptions options;
    options.dims = std::move(dims);
    options.direct = direct;
    options.world.mapped = direct;  // as between ranks of one host, so groups have areas
    options.seed = seed;
    options.world.all_mapped = direct && seed % 3 == 0;  // groups lend memory
    return options;
}

inline std::vector<core::Rank> all_ranks(const Job& job) {
    std::vector<core::Rank> ranks(std::size_t(job.size()), 0);
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

// An algorithm by its row; null: as the settings say.
using Wanted = const AlgorithmRow*;
inline Wanted named(const AlgorithmTable& table, std::string_view name) {
    return &table.row(name);
}
inline std::vector<Wanted> every(const AlgorithmTable& table) {
    std::vector<Wanted> all;
    for (const AlgorithmRow& row : table.rows()) all.push_back(&row);
    return all;
}
inline std::vector<Wanted> automatic_and_every(const AlgorithmTable& table) {
    std::vector<Wanted> all = every(table);
    all.push_back(nullptr);
    return all;
}
inline std::string_view name_of(Wanted algorithm) {
    return algorithm == nullptr ? "automatic" : algorithm->name;
}

// Each member starts `calls` calls in order, while the others are ahead or behind:
// start(member, number of the call).
template <class Start>
void start_in_any_order(Job& job, int members, int calls, Start&& start) {
    std::vector<int> next(std::size_t(members), 0);
    for (int left = members * calls; left > 0;) {
        const auto member = std::size_t(job.random().below(std::uint64_t(members)));
        if (next[member] == calls) continue;
        start(member, std::size_t(next[member]++));
        --left;
        if (job.random().below(3) == 0) job.turn();
    }
}

// Whether all have ended, without an error.
template <class Schedules>
bool all_well(const Schedules& schedules) {
    for (const auto& schedule : schedules)
        if (!schedule.complete() || schedule.error() != core::Error::none) return false;
    return true;
}

// Declare it before the Job that it works on, because requests must outlive the Job.
template <class ScheduleType>
struct SimulatedGroup {
    std::vector<std::unique_ptr<Group>> groups;  // by member
    std::deque<ScheduleType> schedules;

    void sign_on(Job& job, const std::vector<core::Rank>& members, core::Context context = 7,
                 const Policy& policy = default_policy()) {
        for (const core::Rank rank : members) {
            groups.push_back(std::make_unique<Group>(job[rank], members, context, policy));
            schedules.emplace_back(*groups.back());
        }
    }
    int size() const { return int(groups.size()); }
    ScheduleType& operator[](int member) { return schedules[std::size_t(member)]; }
    bool complete() const { return all_well(schedules); }
};

}  // namespace torusmp::collectives::testing
