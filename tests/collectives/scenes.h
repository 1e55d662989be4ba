// SPDX-License-Identifier: BSD-3-Clause
// Jobs and groups on which every collective must work: tori and open meshes, odd and even, rings of
// two, slices, arbitrary members, links and direct paths, few credits.
#pragma once

#include <string>
#include <vector>

#include "collectives/simulated_group.h"

namespace torusmp::collectives::testing {

struct Scene {
    std::string name;
    JobOptions options;
    std::vector<core::Rank> members{};  // empty: all

    std::vector<core::Rank> members_of(const Job& job) const {
        return members.empty() ? all_ranks(job) : members;
    }
    std::size_t size() const {
        if (!members.empty()) return members.size();
        std::size_t ranks = 1;
        for (const int extent : options.dims) ranks *= std::size_t(extent);
        return ranks;
    }
};

inline std::vector<Scene> scenes() {
    std::vector<Scene> all;
    for (const auto& dims :
         std::vector<std::vector<int>>{{1}, {2}, {5}, {2, 2}, {3, 4}, {2, 1, 3}, {4, 2, 3}, {5, 4}})
        for (const bool direct : {true, false})
            all.push_back({std::string(direct ? "direct " : "linked ") + std::to_string(dims[0]),
                           job_of(dims, direct, all.size() + 1)});

    auto open = job_of({4, 3}, false, 31);
    open.periodic = {false, false};
    all.push_back({"open mesh", open});
    auto half_open = job_of({5, 4}, false, 32);
    half_open.periodic = {false, true};
    half_open.credits = half_open.relay_credits = 2;
    half_open.world.packet = {core::testing::sim::Time(1000), core::testing::sim::Time(90000)};
    all.push_back({"half open, two credits, long delays", half_open});

    for (const bool direct : {true, false}) {
        all.push_back(
            {"backwards", job_of({3, 4}, direct, 33), {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}});
        all.push_back({"a ring", job_of({3, 4}, direct, 34), {7, 4, 5, 6}});
        all.push_back({"half a plane", job_of({4, 4}, direct, 35), {0, 1, 4, 5, 8, 9, 12, 13}});
        all.push_back({"a ring with gaps", job_of({5}, direct, 37), {4, 1, 2}});
        all.push_back({"arbitrary", job_of({3, 4}, direct, 36), {11, 0, 3, 7, 5}});
    }
    return all;
}

}  // namespace torusmp::collectives::testing
