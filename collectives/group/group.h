// SPDX-License-Identifier: BSD-3-Clause
// The members of a communicator as the grid over which their collectives run.
//
// A member has a member number (its place in the communicator, what users see) and a place: its
// position in a grid that follows the machine. Members that fill a box of the machine's torus (all
// of it, or a slice) keep the machine's dimensions; any others are laid out as a balanced grid in
// rank order. Places are row-major, the last dimension fastest, and dimensions of extent 1 are left
// out. All members work out the same grid by themselves.
//
// Owned by a front end's communicator, which keeps it longer than any schedule on it. One thread at
// a time may start collectives on it; the grid is immutable.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/group/policy.h"
#include "collectives/group/routes.h"
#include "collectives/group/tags.h"
#include "core/api.h"
#include "routing/torus.h"

namespace torusmp::collectives {

class Area;
class Ledger;
using core::Rank;

// Messages between the same two members in one collective match by streams; their tags are the
// collective's times this number, plus the stream's.
inline constexpr int max_streams = 32;

struct Hosts;

class Group {
  public:
    // members: the machine rank of each member; the runtime's own rank is among them. context: one
    // that no other communicator of these ranks uses for matched messages.
    // Throws std::invalid_argument when own rank is missing or a rank stands twice.
    // policy: kept by the caller; the same on all members.
    Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context,
          const Policy& policy = default_policy());
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    core::Runtime& runtime() const { return *runtime_; }
    core::Context context() const { return context_; }
    int size() const { return int(members_.size()); }
    int member() const { return member_; }
    Rank rank_of(int member) const { return members_[std::size_t(member)]; }
    const std::vector<Rank>& members() const { return members_; }

    int place() const { return place_; }
    int place_of(int member) const { return place_of_[std::size_t(member)]; }
    int member_at(int place) const { return member_at_[std::size_t(place)]; }

    int dimensions() const { return int(dims_.size()); }
    int extent(int dimension) const { return dims_[std::size_t(dimension)]; }
    // The largest extent; 0 of a group of one member.
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
    // The member with own coordinates except for this one.
    Rank line_rank(int dimension, int coordinate) const {
        const int place = place_ + (coordinate - this->coordinate(dimension)) * stride(dimension);
        return rank_of(member_at(place));
    }

    // The grid of places as a torus of its own; of one member, a torus of extent 1. A dimension
    // wraps around where the members fill a ring of the machine, and in balanced grids.
    const routing::Torus& torus() const { return *torus_; }
    // The member one step away in the grid; any_source where there is none.
    Rank neighbour(routing::Direction direction) const {
        return neighbours_[std::size_t(direction.index())].rank;
    }
    // The machine's link to it, where that step is one.
    std::optional<routing::Direction> link(routing::Direction direction) const {
        return neighbours_[std::size_t(direction.index())].link;
    }

    // Every step in the grid is a link, for whichever member.
    bool on_links() const { return on_links_; }

    // Trees, regions and bundles over the grid, as this member sees them.
    Routes& routes() { return *routes_; }
    // Of the collectives on this group.
    Tags& tags() { return tags_; }

    // Every member reaches every other without a relay (they share a host).
    bool direct() const { return direct_; }

    // Memory through which members of one host work together; null: there can be none.
    Area* area() const { return area_.get(); }

    // Which algorithms are taken, by where the members are.
    const Policy& policy() const { return *policy_; }
    Situation situation() const { return situation_; }
    // What this member has called, and heard of the others' calls.
    Ledger& ledger() const { return *ledger_; }

    // Who says in reports what the program calls this group; kept by the caller.
    void set_names(const core::Reporter& names) { names_ = &names; }
    const core::Reporter* names() const { return names_; }

    // The same members laid out in the order of their member numbers: for operations that do not
    // commute. Itself where that is so anyway; else made on first use.
    Group& ordered();
    // The members by hosts; null where all are on one host, or each on one of its own. Made on
    // first use.
    Hosts* hosts() {
        if (!hosts_known_) [[unlikely]]
            find_hosts();
        return hosts_.get();
    }

  private:
    friend struct Hosts;
    enum class Kind { whole, ordered, local, leaders };
    Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context,
          const Policy& policy, Kind kind);
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
    std::vector<int> machine_dimension_;  // by dimension; empty: the grid is not the machine's
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
    std::unique_ptr<Ledger> ledger_;  // null where no collectives begin, but parts of others
    std::unique_ptr<Area> area_;
    std::unique_ptr<Group> ordered_;
    std::unique_ptr<Hosts> hosts_;
    bool hosts_known_ = false;
    const core::Reporter* names_ = nullptr;
};

// A group that spans hosts with several members each: collectives go through shared memory inside a
// host, and over the links once for each host.
struct Hosts {
    explicit Hosts(Group& group);

    // The numbers of the parts of collectives over hosts, see Schedule::nest(). Those inside a host
    // come first: in the area of the host's members each part of a call has a number of its own.
    static constexpr std::uint64_t parts_inside = 2;
    enum Part : int {
        broadcast_inside = 1,
        reduce_inside,
        broadcast_of_leaders,
        reduce_of_leaders,
        allreduce_of_leaders
    };
    // Whether a member of the group these are the hosts of is on this one.
    bool is_here(const Group& group, int member) const {
        return host_of_member[std::size_t(member)] == host_of_member[std::size_t(group.member())];
    }

    Group local;                      // the members of this host, in the order of their places
    std::unique_ptr<Group> leaders;   // the first of each host; null on all others
    std::vector<int> host_of_member;  // index of its host among the leaders
    std::vector<int> local_member;    // and its member number in `local` there
};

}  // namespace torusmp::collectives
