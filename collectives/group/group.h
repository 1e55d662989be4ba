// SPDX-License-Identifier: BSD-3-Clause
// The members of a communicator as the grid over which their collectives run.
//
// A member has a member number (its place in the communicator, seen by users) and a place: its
// position in a grid that follows the machine. Members that fill a box of the machine's torus (all
// of it, or a slice) keep the machine's dimensions; any others are laid out as a balanced grid in
// rank order. Places are row-major, the last dimension fastest, and dimensions of extent 1 are left
// out. All members compute the same grid independently.
//
// Owned by a front end's communicator, which outlives every schedule on it. One thread at a time
// may start collectives on it; the grid is immutable.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "collectives/group/policy.h"
#include "collectives/group/routes.h"
#include "collectives/group/tags.h"
#include "core/api.h"
#include "routing/torus.h"

namespace torusmp::collectives {

class Area;
class Ledger;
using core::Rank;

// Messages between the same two members in one collective match by stream: a tag is the
// collective's tag times this number, plus the stream.
inline constexpr int max_streams = 64;
static_assert(std::int64_t(Tags::most()) * max_streams + max_streams - 1 ==
              std::numeric_limits<core::Tag>::max());

struct Hosts;

class Group {
  public:
    // `members` contains the machine rank of each member, including the runtime's own rank. No
    // other communicator of these ranks uses `context` for matched messages. `policy` is the same
    // on all members, and the caller keeps it. Throws std::invalid_argument if the own rank is
    // missing or a rank is listed twice.
    Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context,
          const Policy& policy = default_policy());
    // A group of some of the members serves the whole collective, the same in member order, the
    // part inside a host, or the part between the first members of all hosts.
    enum class Kind { whole, ordered, local, leaders };
    Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context,
          const Policy& policy, Kind kind);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    core::Runtime& runtime() const { return *runtime_; }
    core::Context context() const { return context_; }
    int size() const { return int(members_.size()); }
    int member() const { return member_; }
    Rank rank_of(int member) const {
        TORUSMP_ASSERT(member >= 0 && member < size(), member, size(), context_);
        return members_[std::size_t(member)];
    }
    const std::vector<Rank>& members() const { return members_; }

    int place() const { return place_; }
    int place_of(int member) const {
        TORUSMP_ASSERT(member >= 0 && member < size(), member, size(), context_);
        return place_of_[std::size_t(member)];
    }
    int member_at(int place) const {
        TORUSMP_ASSERT(place >= 0 && place < size(), place, size(), context_);
        return member_at_[std::size_t(place)];
    }

    int dimensions() const { return int(dims_.size()); }
    int extent(int dimension) const { return dims_[std::size_t(dimension)]; }
    // The largest extent; 0 for a group of one member.
    int longest() const {
        return dims_.empty() ? 0 : *std::max_element(dims_.begin(), dims_.end());
    }
    // Coordinate of a place along a dimension.
    int coordinate(int place, int dimension) const {
        return place / strides_[std::size_t(dimension)] % extent(dimension);
    }
    int coordinate(int dimension) const { return coordinate(place_, dimension); }
    // Distance in places of one step along a dimension.
    int stride(int dimension) const { return strides_[std::size_t(dimension)]; }
    // The member with the own coordinates except for this one.
    Rank line_rank(int dimension, int coordinate) const {
        const int place = place_ + (coordinate - this->coordinate(dimension)) * stride(dimension);
        return rank_of(member_at(place));
    }

    // The grid of places as a torus of its own; for one member, a torus of extent 1. A dimension
    // wraps around if the members fill a ring of the machine, and in balanced grids.
    const routing::Torus& torus() const { return *torus_; }
    // The member one step away in the grid; any_source if there is none.
    Rank neighbour(routing::Direction direction) const {
        return neighbours_[std::size_t(direction.index())].rank;
    }
    // The machine's link to that member, if the step is a link.
    std::optional<routing::Direction> link(routing::Direction direction) const {
        return neighbours_[std::size_t(direction.index())].link;
    }

    // Whether every step in the grid is a link, for every member.
    bool on_links() const { return on_links_; }

    // Trees, regions and bundles over the grid, as seen by this member.
    Routes& routes() { return *routes_; }
    // The tags of the collectives on this group.
    Tags& tags() { return tags_; }

    // Whether every member reaches every other without a relay (they share a host).
    bool direct() const { return direct_; }

    // Memory through which members of one host work together; null if not possible.
    Area* area() const { return area_.get(); }

    // The choice of algorithms, by situation of the members.
    const Policy& policy() const { return *policy_; }
    Situation situation() const { return situation_; }
    // This member's calls, and the calls that others have reported.
    Ledger& ledger() const { return *ledger_; }

    // No collective succeeds any more; those in progress end with Error::revoked.
    void revoke() {
        revoked_.store(true, std::memory_order_relaxed);
        runtime_->notes().count_fault();
    }
    bool revoked() const { return revoked_.load(std::memory_order_relaxed); }

    // Gives the program's name of this group for reports; kept by the caller.
    void set_names(const core::Reporter& names) { names_ = &names; }
    const core::Reporter* names() const { return names_; }

    // The same members laid out in member order, for operations that do not commute. The group
    // itself if it already has that order; otherwise created on first use.
    Group& ordered();
    // The members by hosts; null if all are on one host, or each on its own. Created on first use.
    Hosts* hosts() {
        if (!hosts_known_) [[unlikely]]
            find_hosts();
        return hosts_.get();
    }

  private:
    void find_places();
    void find_grid();
    void find_neighbours();
    void find_hosts();

    struct Neighbour {
        Rank rank = core::any_source;
        std::optional<routing::Direction> link;
    };

    core::Runtime* runtime_;
    core::Context context_;
    std::vector<Rank> members_;
    std::vector<int> member_at_;  // by place
    std::vector<int> place_of_;   // by member
    std::vector<int> dims_;
    std::vector<int> strides_;
    bool on_links_ = false;
    std::vector<int> machine_dimension_;  // by dimension; empty if the grid is not the machine's
    std::optional<routing::Torus> torus_;
    std::array<Neighbour, 2 * routing::max_dimensions> neighbours_{};
    int member_ = -1;
    int place_ = -1;
    bool direct_ = false;
    const Policy* policy_;
    Situation situation_ = Situation::links;
    Kind kind_;
    Tags tags_;
    std::optional<Routes> routes_;
    std::unique_ptr<Ledger> ledger_;  // null if no collectives begin here, only parts of others
    std::unique_ptr<Area> area_;
    std::unique_ptr<Group> ordered_;
    std::unique_ptr<Hosts> hosts_;
    bool hosts_known_ = false;
    std::atomic<bool> revoked_{false};
    const core::Reporter* names_ = nullptr;
};

// A group that spans several hosts with several members each: collectives go through shared memory
// inside a host, and over the links once for each host.
struct Hosts {
    explicit Hosts(Group& group);

    // The numbers of the parts of collectives over hosts, see Schedule::nest(). The parts inside a
    // host come first: in the area of the host's members each part of a call has a number of its
    // own.
    static constexpr std::uint64_t parts_inside = 2;
    enum Part : int {
        broadcast_inside = 1,
        reduce_inside,
        broadcast_of_leaders,
        reduce_of_leaders,
        allreduce_of_leaders
    };
    // Whether a member of `group`, to which these hosts belong, is on this host.
    bool is_here(const Group& group, int member) const {
        return host_of_member[std::size_t(member)] == host_of_member[std::size_t(group.member())];
    }

    Group local;                      // the members of this host, in the order of their places
    std::unique_ptr<Group> leaders;   // the first of each host; null on all other members
    std::vector<int> host_of_member;  // index of the member's host among the leaders
    std::vector<int> local_member;    // its member number in `local` there
};

}  // namespace torusmp::collectives
