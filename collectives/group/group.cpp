// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/group/group.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "collectives/area/area.h"
#include "collectives/group/ledger.h"
#include "routing/box.h"

namespace torusmp::collectives {

Group::Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context,
             const Policy& policy)
    : Group(runtime, std::move(members), context, policy, Kind::whole) {}

Group::~Group() = default;

Group::Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context,
             const Policy& policy, Kind kind)
    : runtime_(&runtime),
      context_(context),
      members_(std::move(members)),
      policy_(&policy),
      kind_(kind),
      tags_(int(kind)) {
    find_places();
    find_grid();
    find_neighbours();
    routes_.emplace(*torus_, place_);

    std::vector<Rank> near = runtime.options().direct;
    std::sort(near.begin(), near.end());
    direct_ = std::all_of(members_.begin(), members_.end(), [&](Rank rank) {
        return rank == runtime.rank() || std::binary_search(near.begin(), near.end(), rank);
    });
    if (direct_)
        situation_ = runtime.options().oversubscribed ? Situation::crowded : Situation::host;
    if (kind == Kind::whole || kind == Kind::ordered)
        ledger_ = std::make_unique<Ledger>(*this, core::Tag(kind));
    if (kind != Kind::leaders && Area::fits(*this))
        area_ = std::make_unique<Area>(*this, tags_.beside(0), Area::slots_of(size()));
}

void Group::find_places() {
    member_at_.resize(members_.size());
    std::iota(member_at_.begin(), member_at_.end(), 0);
    // Ranks are row-major over the torus, so members in rank order are row-major over their box.
    std::vector<int> by_rank = member_at_;
    std::sort(by_rank.begin(), by_rank.end(),
              [&](int a, int b) { return members_[std::size_t(a)] < members_[std::size_t(b)]; });
    for (std::size_t i = 1; i < by_rank.size(); ++i)
        if (rank_of(by_rank[i]) == rank_of(by_rank[i - 1]))
            throw std::invalid_argument("a group names rank " +
                                        std::to_string(rank_of(by_rank[i])) + " twice");
    if (kind_ != Kind::ordered) member_at_ = std::move(by_rank);
    place_of_.resize(members_.size());
    for (int place = 0; place < size(); ++place) {
        const int member = member_at_[std::size_t(place)];
        place_of_[std::size_t(member)] = place;
        if (members_[std::size_t(member)] == runtime_->rank()) {
            member_ = member;
            place_ = place;
        }
    }
    if (member_ < 0)
        throw std::invalid_argument("rank " + std::to_string(runtime_->rank()) +
                                    " is not a member of its own group");
}

void Group::find_grid() {
    std::optional<routing::Box> box;
    if (kind_ != Kind::ordered) box = routing::box_of(runtime_->torus(), members_);
    const std::vector<int> dims = box ? box->extents : routing::balanced_dims(size(), 3);
    std::vector<bool> periodic;
    for (int d = 0; d < int(dims.size()); ++d) {
        if (dims[std::size_t(d)] == 1) continue;
        dims_.push_back(dims[std::size_t(d)]);
        periodic.push_back(!box || box->periodic[std::size_t(d)]);
        if (box) machine_dimension_.push_back(d);
    }
    strides_.resize(dims_.size());
    int stride = 1;
    for (std::size_t d = dims_.size(); d-- > 0; stride *= dims_[d]) strides_[d] = stride;
    on_links_ = box && box->linked && runtime_->torus().graph() == nullptr;
    const std::vector<int> single{1};
    torus_.emplace(dims_.empty() ? single : dims_,
                   dims_.empty() ? std::vector<bool>{false} : periodic);
}

void Group::find_neighbours() {
    const routing::Torus& machine = runtime_->torus();
    for (int i = 0; i < 2 * dimensions(); ++i) {
        const auto direction = routing::Direction::from_index(i);
        const auto place = torus_->neighbour(place_, direction);
        if (!place) continue;
        Neighbour& neighbour = neighbours_[std::size_t(i)];
        neighbour.rank = rank_of(member_at(*place));
        if (machine_dimension_.empty() || machine.graph() != nullptr) continue;
        const routing::Direction link{machine_dimension_[std::size_t(direction.dimension)],
                                      direction.sign};
        if (machine.neighbour(runtime_->rank(), link) == neighbour.rank) neighbour.link = link;
    }
}

Group& Group::ordered() {
    if (kind_ == Kind::ordered || std::is_sorted(member_at_.begin(), member_at_.end()))
        return *this;
    if (ordered_ == nullptr)
        ordered_ = std::make_unique<Group>(*runtime_, members_, context_, *policy_, Kind::ordered);
    return *ordered_;
}

void Group::find_hosts() {
    hosts_known_ = true;
    if (kind_ != Kind::whole) return;
    std::set<Rank> hosts;
    for (const Rank rank : members_) hosts.insert(runtime_->state().host_of(rank));
    if (hosts.size() > 1 && hosts.size() < members_.size()) hosts_ = std::make_unique<Hosts>(*this);
}

namespace {

// The members of the runtime's own host in the order of their places.
std::vector<Rank> members_here(const Group& group) {
    std::vector<Rank> here;
    const core::Runtime& runtime = group.runtime();
    for (int place = 0; place < group.size(); ++place) {
        const Rank rank = group.rank_of(group.member_at(place));
        if (runtime.state().host_of(rank) == runtime.state().host_of(runtime.rank()))
            here.push_back(rank);
    }
    return here;
}

}  // namespace

Hosts::Hosts(Group& group)
    : local(group.runtime(), members_here(group), group.context(), group.policy(),
            Group::Kind::local) {
    std::map<Rank, std::pair<int, int>> seen;  // host: its index, its members so far
    std::vector<Rank> firsts;
    host_of_member.resize(std::size_t(group.size()));
    local_member.resize(std::size_t(group.size()));
    for (int place = 0; place < group.size(); ++place) {
        const int member = group.member_at(place);
        const Rank rank = group.rank_of(member);
        const auto [entry, is_first] =
            seen.try_emplace(group.runtime().state().host_of(rank), int(firsts.size()), 0);
        if (is_first) firsts.push_back(rank);
        host_of_member[std::size_t(member)] = entry->second.first;
        local_member[std::size_t(member)] = entry->second.second++;
    }
    if (local.member() == 0)
        leaders = std::make_unique<Group>(group.runtime(), std::move(firsts), group.context(),
                                          group.policy(), Group::Kind::leaders);
}

}  // namespace torusmp::collectives
