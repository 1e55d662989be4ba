// SPDX-License-Identifier: BSD-3-Clause
// What a Runtime is made with: who it is, what it may use, and how it goes about it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/geometry.h"
#include "core/packets.h"
#include "core/request.h"
#include "core/settings.h"
#include "core/transport/api/interface.h"
#include "core/waits/waits.h"
#include "routing/detours.h"
#include "routing/link_news.h"
#include "routing/torus.h"

namespace torusmp::core {

class ControlPage;

// Ports by use: links by direction, then one for each rank that connects directly.
inline constexpr std::uint32_t direct_port_base = 2 * routing::max_dimensions;

struct Options {
    routing::Torus torus;
    Rank rank = 0;
    // Ranks that are reached directly, without a link: those of this host, this one included. The
    // others are reached over the links, beyond the neighbours by relay. Empty: links only.
    std::vector<Rank> direct;
    // bytes; messages of this size and more go by remote write
    std::size_t eager_limit = setting::eager_limit.initial();
    // Messages of this size and more are spread over all shortest paths, where links are separate
    // link transports.
    std::size_t spread_limit = 65536;  // bytes
    // Ranks beyond the links are reached directly: the network forwards.
    bool far_direct = config::setting::forward.initial() == config::Forward::kernel;
    // Beside the relay: how many connections that the network forwards a rank keeps at a time, and
    // how many messages to another rank it takes until there is one; see Shortcuts. 0: none.
    int shortcuts = 0;
    std::uint32_t shortcut_after = 8;
    std::size_t direct_limit = 2048;  // bytes; flows store from here on where memory is mapped
    // Receive slots of a connection, for packets of its own ends, and for each further virtual
    // channel.
    int credits = setting::tokens.initial();
    int relay_credits = setting::relay_tokens.initial();
    bool detour = false;  // a link whose cable dies goes on over other ranks
    // A cable that dies again is used no sooner than this later, each time twice as long, up to a
    // thousand times: what flaps shall not disturb all detours each time.
    std::chrono::nanoseconds hold_down = std::chrono::milliseconds(10);
    // Links whose cables are known to be dead at the start, the same ones on every rank.
    std::vector<routing::Link> dead_links = {};
    std::chrono::nanoseconds spin = setting::spin.initial();  // polling before sleeping
    bool oversubscribed = false;  // more ranks than cores: hardly poll, sleep
    // That is so for some ranks of the job, which all of them know alike: what a collective costs
    // the cores counts for more than how many steps it takes.
    bool shares_cores = false;
    bool threads = false;  // several threads call
    // Relays and remote writes move while the program computes.
    bool progress_thread = setting::progress.initial() == ProgressMode::thread;
    std::chrono::nanoseconds watchdog = setting::watchdog.initial();  // zero: off
    // Where news of waits go first; false, or none: as text to log.
    std::function<bool(const Waits&, WaitsWanted)> on_waits = {};
    // Where reports of waits and faults go: whole lines without a newline at the end.
    std::function<void(std::string_view)> log;
    std::function<std::string(Rank)> name_of;  // how messages call a rank; default "rank N"
    std::function<void()> on_interrupt = {};   // see Runtime::interrupt()
    // Where faults of links and ranks go, which may end the job for a reason that others know
    // better; none: to log.
    std::function<void(std::string_view)> log_fault = {};
    // Where news of the cables under this rank's links go; none: deaths to log.
    std::function<void(const routing::LinkNews&)> log_link = {};
    // Where the rank tells about itself; it must outlive the Runtime. None: nowhere.
    ControlPage* page = nullptr;

    // The largest body of a packet.
    std::size_t body() const { return std::max<std::size_t>(eager_limit, 4096); }
    // Payload of one packet of a large message: so much that the packet with its headers fills a
    // power of two, and so whole packets of a network that sends those.
    std::size_t fragment() const {
        return body() - sizeof(transport::PacketHeader) - sizeof(DataBody);
    }
    // Takes over what the user may set.
    void apply(const config::Settings& settings);
    // Throws std::invalid_argument that says what was found and what was expected.
    void check() const;
};

using InterfaceFactory = std::function<std::unique_ptr<transport::Interface>(
    const std::vector<transport::PortOptions>&)>;

// What carries connections to ranks that are not in Options::direct.
struct LinkTransport {
    InterfaceFactory make;
    // Whether it carries this link or, without one, the connection to this far rank; the first
    // link transport that does takes it, so both ends must come to the same answer. Empty: all.
    std::function<bool(Rank peer, std::optional<routing::Direction> link)> carries = {};
};

}  // namespace torusmp::core
