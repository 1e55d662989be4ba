// The members of a communicator as the grid over which their collectives run.
//
// A member has a node number (its place in the communicator, what users see) and a place: its
// position in a grid that follows the machine. Members that fill a box of the machine's torus (all
// of it, or a slice) keep the machine's dimensions; any others are laid out as a balanced grid in
// rank order. Places are row-major, the last dimension fastest, and dimensions of extent 1 are left
// out. All members work out the same grid by themselves.
//
// Owned by a front end's communicator, which keeps it longer than any schedule on it. One thread at
// a time may call next_tag(); the rest is immutable.
#pragma once

#include <vector>

#include "core/runtime.h"

namespace torusmp::collectives {

using core::Rank;

class Group {
  public:
    // members: the machine rank of each node; the runtime's own rank is among them. context: one
    // that no other communicator of these ranks uses for matched messages.
    // Throws std::invalid_argument when own rank is missing or a rank stands twice.
    Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context);

    core::Runtime& runtime() const { return *runtime_; }
    core::Context context() const { return context_; }
    int size() const { return int(members_.size()); }
    int node() const { return node_; }
    Rank rank_of(int node) const { return members_[std::size_t(node)]; }
    const std::vector<Rank>& members() const { return members_; }

    int place() const { return place_; }
    int place_of(int node) const { return place_of_[std::size_t(node)]; }
    int node_at(int place) const { return node_at_[std::size_t(place)]; }

    int dimensions() const { return int(dims_.size()); }
    int extent(int dimension) const { return dims_[std::size_t(dimension)]; }
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
        return rank_of(node_at(place));
    }

    // Every member reaches every other without a relay (they share a host).
    bool direct() const { return direct_; }

    // A tag for the next collective; members start collectives in one order, so they agree.
    core::Tag next_tag() { return tag_ = (tag_ + 1) & 0x3fffffff; }

  private:
    void find_grid();

    core::Runtime* runtime_;
    core::Context context_;
    std::vector<Rank> members_;
    std::vector<int> node_at_;   // by place
    std::vector<int> place_of_;  // by node
    std::vector<int> dims_;
    std::vector<int> strides_;
    int node_ = -1;
    int place_ = -1;
    bool direct_ = false;
    core::Tag tag_ = 0;
};

}  // namespace torusmp::collectives
