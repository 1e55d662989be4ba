// SPDX-License-Identifier: BSD-3-Clause
// Finds, before ranks start, which hosts are at the other ends of this host's links, so that a
// moved plug or a renamed device is known after a few packets; without this, ranks would only
// notice after transport.timeout that the other end does not answer.
//
// Sends two packets on each correctly connected link. If a link's device does not exist, it listens
// and sends on the other devices of the host, too. Owned by a daemon and used by its one thread.
#pragma once

#include <array>
#include <chrono>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "config/network.h"
#include "config/plugs.h"
#include "config/settings.h"
#include "programs/torus_run/streams/cable_probe.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

class PlugWatch {
  public:
    using Clock = std::chrono::steady_clock;

    // The links of a node of these settings; none without a torus. A device that cannot be used is
    // omitted: the ranks report it.
    PlugWatch(Loop& loop, const config::Settings& settings, int node,
              std::span<const std::byte> secret);
    ~PlugWatch();
    PlugWatch(const PlugWatch&) = delete;
    PlugWatch& operator=(const PlugWatch&) = delete;

    // Sends the packets that are due. Adds cables that lead elsewhere, each once.
    void look(Clock::time_point now, std::vector<LinkTrouble>& news);
    // Time of the next action; nothing when the answers are complete.
    std::optional<Clock::time_point> next() const;
    // Whether the other end of each link that has a carrier is known.
    bool complete() const;

  private:
    struct Link {
        std::string device;
        int index = 0;
        config::Plug expected;
        std::array<base::Descriptor, 2> sockets;  // IPv6, IPv4
        std::optional<config::Plug> stranger;     // an end other than the expected one was heard
        Clock::time_point stranger_at{};
        bool shared = false;         // several were heard, so this is not a cable
        bool heard = false;          // the expected end was heard
        bool is_heard = false;       // that end has heard this one
        bool has_confirmed = false;  // this has been sent to that end
        bool reported = false;
        bool spare = false;  // of no link; a link's device is missing
        bool done() const { return heard && is_heard && has_confirmed; }
    };

    void add(const config::Device& device, const config::Plug& expected);
    void add_spares(const config::HostFacts& facts);
    void receive(Link& link);
    void take(Link& link, const Identity& identity);
    void send(Link& link);
    void close(Link& link);

    Loop& loop_;
    const int node_;
    int nodes_ = 0;
    Nonce nonce_{};
    std::list<Link> links_;
    int missing_ = 0;  // links whose device does not exist
    Clock::time_point began_ = Clock::now();
    std::optional<Clock::time_point> next_;
};

}  // namespace torusmp::torus_run
