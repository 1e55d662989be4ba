// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/file/elsewhere.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "config/geometry.h"
#include "mpi11/file/file.h"

namespace torusmp::mpi {
namespace {

// This host's name in the settings; empty if they do not name it.
std::string node_name() {
    const config::Settings& settings = library().process->settings();
    const auto& names = host_names(settings);
    if (names.empty()) return {};
    return names[std::size_t(node_of(settings, runtime().rank()))];
}

// The lowest rank of each host without a member.
std::vector<Rank> others_of(const World& world, const std::vector<Rank>& members) {
    const auto host_of = [&](Rank rank) { return world.runtime().state().host_of(rank); };
    std::set<Rank> known;
    for (const Rank member : members) known.insert(host_of(member));
    std::vector<Rank> others;
    for (Rank rank = 0; rank < world.roster()->size(); ++rank)
        if (world.roster()->names[std::size_t(rank)].job != 0 && known.insert(host_of(rank)).second)
            others.push_back(rank);
    return others;
}

// Only those on the host that io.at names, if the settings know it by that name.
void keep_named(const World& world, const std::string& home, std::vector<Rank>& others) {
    const config::Settings& settings = library().process->settings();
    const auto& names = host_names(settings);
    const auto named = std::find(names.begin(), names.end(), home);
    if (world.joined() || named == names.end()) return;
    std::erase_if(others,
                  [&](Rank rank) { return node_of(settings, rank) != named - names.begin(); });
}

}  // namespace

const io::Homes& homes() {
    return library().process->settings()[io::setting::at];
}

io::Sight sight_of(const std::string& path) {
    return io::look_at(path, homes(), node_name());
}

std::unique_ptr<io::OutsideKeeper> make_outside_keeper(World& world) {
    return std::make_unique<io::OutsideKeeper>(world.runtime(), context_of_keepers, sight_of);
}

io::KeeperClient keeper_client(World& world, Rank keeper) {
    return {world.runtime(), context_of_keepers, keeper,
            [] { return std::string_view(file_call); }};
}

bool has_other_hosts(const World& world, const std::vector<Rank>& members) {
    return !others_of(world, members).empty();
}

OutsideKeeperFound find_outside_keeper(World& world, const std::string& path,
                                       const std::vector<io::Sight>& sights,
                                       const std::vector<Rank>& members, bool creates) {
    if (path.size() >= io::keeper_call::longest_path)
        return {.rank = {}, .name = {}, .refusal = std::strerror(ENAMETOOLONG)};
    std::vector<Rank> others = others_of(world, members);
    keep_named(world, io::other_home(sights.front(), homes()), others);
    std::vector<io::Sight> all = sights;
    std::vector<Rank> ranks = members;
    for (const Rank rank : others) {
        const auto sight = keeper_client(world, rank).look(path);
        if (!sight) continue;
        all.push_back(*sight);
        ranks.push_back(rank);
    }
    std::vector<int> hosts;
    for (const Rank rank : ranks) hosts.push_back(world.runtime().state().host_of(rank));
    const io::Residence residence = io::residence_of(path, all, hosts, homes(), creates);
    OutsideKeeperFound found{.rank = {}, .name = {}, .refusal = residence.refusal};
    const auto keeper = std::size_t(residence.keeper);
    if (!residence.refusal.empty() || keeper < members.size()) return found;
    found.rank = ranks[keeper];
    found.name = who_is(int(world.roster()->names[std::size_t(ranks[keeper])].rank),
                        all[keeper].host_name(), " of MPI_COMM_WORLD");
    return found;
}

}  // namespace torusmp::mpi
