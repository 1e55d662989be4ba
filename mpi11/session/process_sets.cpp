// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/session/process_sets.h"

#include <fmt/format.h>
#include <strings.h>

#include <functional>

#include "mpi11/environment/library.h"

namespace torusmp::mpi {
namespace {

struct ProcessSet {
    std::string name;
    std::function<bool(Rank)> contains;
};

std::vector<ProcessSet> all_sets() {
    const Rank self = runtime().rank();
    const routing::Torus& torus = runtime().torus();
    std::vector<ProcessSet> sets{
        {"mpi://WORLD", [](Rank) { return true; }},
        {"mpi://SELF", [self](Rank rank) { return rank == self; }},
        {"torus://HOST", [self](Rank rank) {
             return runtime().state().host_of(rank) == runtime().state().host_of(self);
         }}};
    const auto agree = [self, &torus](Rank rank, int dimension) {
        return torus.coordinates(rank)[std::size_t(dimension)] ==
               torus.coordinates(self)[std::size_t(dimension)];
    };
    const int dimensions = torus.dimensions();
    for (int d = 0; dimensions >= 2 && d < dimensions; ++d)
        sets.push_back({fmt::format("torus://row/{}", d), [=](Rank rank) {
                            for (int other = 0; other < dimensions; ++other)
                                if (other != d && !agree(rank, other)) return false;
                            return true;
                        }});
    for (int d = 0; dimensions >= 3 && d < dimensions; ++d)
        sets.push_back(
            {fmt::format("torus://plane/{}", d), [=](Rank rank) { return agree(rank, d); }});
    return sets;
}

}  // namespace

std::vector<std::string> names_of_process_sets() {
    std::vector<std::string> names;
    for (ProcessSet& set : all_sets()) names.push_back(std::move(set.name));
    return names;
}

std::optional<Members> process_set(std::string_view name) {
    for (const ProcessSet& set : all_sets()) {
        if (strcasecmp(set.name.c_str(), std::string(name).c_str()) != 0) continue;
        std::vector<Rank> ranks;
        for (Rank rank = 0; rank < runtime().size(); ++rank)
            if (set.contains(rank)) ranks.push_back(rank);
        return Members(std::move(ranks));
    }
    return std::nullopt;
}

}  // namespace torusmp::mpi
