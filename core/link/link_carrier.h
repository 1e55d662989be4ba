// SPDX-License-Identifier: BSD-3-Clause
// One of this rank's links as a carrier: of its own packets, of news about other links, and of what
// belongs to links whose cables are dead. LinkCarriers has all of them, by direction.
//
// Owned by LinkManager and used under the Runtime's lock.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/connection/connection.h"
#include "core/link/frames.h"
#include "core/link/link_end.h"
#include "routing/detours.h"

namespace torusmp::core {

// A SetupBody on its way from one end of a link to the other.
struct LinkSetup {
    Rank source;
    Rank destination;
    int direction;
    SetupBody body;
};

struct LinkCarrier {
    // The cable by which frames and control packets leave; null without one.
    transport::Channel* cable() const {
        return end != nullptr ? end->cable() : connection->channel;
    }
    // Whether it is an end that core still uses.
    bool has_open_end() const { return end != nullptr && !end->closed(); }
    void queue(const LinkSetup& setup) { setups[{setup.source, setup.direction}] = setup; }
    void drop_queues() {
        news.clear();
        setups.clear();
    }
    bool has_queued() const {
        return !news.empty() || !setups.empty() || (end != nullptr && end->confirms());
    }

    Connection* connection = nullptr;  // null if the torus has no link there
    std::unique_ptr<LinkEnd> end;      // null for a link that dies only with its rank
    std::set<routing::Link> news;      // links whose versions are to be sent
    std::map<std::pair<Rank, int>, LinkSetup> setups;  // by source and direction
    std::string why;                     // why the cable died; empty if another rank reported it
    std::vector<routing::Hop> reported;  // the detour that was reported last
};

class LinkCarriers {
  public:
    auto begin() { return carriers_.begin(); }
    auto end() { return carriers_.end(); }
    auto begin() const { return carriers_.begin(); }
    auto end() const { return carriers_.end(); }
    LinkCarrier& operator[](routing::Direction direction) {
        return carriers_[std::size_t(direction.index())];
    }
    // The carrier of the connection of that end.
    LinkCarrier& of(const LinkEnd& end) { return (*this)[*end.connection().link]; }
    LinkEnd* end_of(routing::Direction direction) { return (*this)[direction].end.get(); }

  private:
    std::array<LinkCarrier, std::size_t(2 * routing::max_dimensions)> carriers_;
};

}  // namespace torusmp::core
