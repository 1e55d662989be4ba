// SPDX-License-Identifier: BSD-3-Clause
// The options of a Runtime: its rank, its resources, and its policies.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/packets.h"
#include "core/request.h"
#include "core/transport/api/interface.h"
#include "core/waits/waits.h"
#include "routing/detours.h"
#include "routing/link_news.h"
#include "routing/torus.h"

namespace torusmp::config {
class Settings;
template <class T>
class Setting;
}  // namespace torusmp::config

namespace torusmp::core {

class ControlPage;

// The ports up to this number belong to links, by direction; those from it on belong to directly
// connected ranks, one for each.
inline constexpr std::uint32_t direct_port_base = 2 * routing::max_dimensions;

struct Options {
    routing::Torus torus;
    Rank rank = 0;
    // Ranks that are reached directly, without a link: the ranks of this host, including this one.
    // The others are reached over the links, and beyond the neighbours by relay. Empty for links
    // only.
    std::vector<Rank> direct;
    // bytes; messages of this size and more go by remote write
    std::size_t eager_limit = transport::default_eager_limit;
    // Messages of this size and more are spread over all shortest paths, where links are separate
    // link transports.
    std::size_t spread_limit = 65536;  // bytes
    // Ranks beyond the links are reached directly: the network forwards.
    bool far_direct = false;
    // The number of connections that a rank keeps, in addition to the relay, over hosts that
    // forward IP; 0 for none. A rank gets one after `shortcut_after` messages to another rank; see
    // Shortcuts.
    int shortcuts = 0;
    std::uint32_t shortcut_after = 8;
    // Bytes. Where memory is mapped, flows store from here on, and other messages from there on.
    std::size_t direct_limit = 2048;
    std::size_t store_limit = 4096;
    // Receive slots of a connection, for packets of its own ends, and for each further virtual
    // channel.
    int credits = transport::default_credits;
    int relay_credits = transport::default_relay_credits;
    bool detour = false;  // a link whose cable dies goes on over other ranks
    // A cable that dies again is used no sooner than this later, each time twice as long, up to a
    // thousand times: a flapping cable must not disturb all detours each time.
    std::chrono::nanoseconds hold_down = std::chrono::milliseconds(10);
    // Links whose cables are known to be dead at the start; the same on every rank.
    std::vector<routing::Link> dead_links = {};
    bool oversubscribed = false;  // ranks outnumber cores, so a wait sleeps after few polls
    // Some ranks of the job share cores, which all ranks know: what a collective costs the cores
    // counts for more than how many steps it takes.
    bool shares_cores = false;
    bool threads = false;  // several threads call
    // Ranks may die and the job continues: a death then does not end receives from any source,
    // because the caller knows which of them may wait for the dead rank.
    // It also means that deaths are reported to Runtime::peer_died(): until that happens a lost
    // peer may be alive.
    bool tolerates_deaths = false;
    // A peer is lost; called under the Runtime's lock. May be empty.
    std::function<void()> on_loss{};
    // A wait that lasts longer is published; one ten times as long has its causes looked for.
    std::chrono::nanoseconds publish_after = std::chrono::milliseconds(100);
    // Receives reports of waits first; if it returns false or is empty, they go to log as text.
    std::function<bool(const Waits&, WaitsWanted)> on_waits = {};
    // Receives reports of waits and faults: whole lines without a trailing newline.
    std::function<void(std::string_view)> log;
    std::function<std::string(Rank)> name_of;  // the name of a rank in messages; default "rank N"
    std::function<void()> on_interrupt = {};   // see Runtime::interrupt()
    // Receives faults of links and ranks, because the caller may know the real reason why the job
    // ends. If empty, they go to log.
    std::function<void(std::string_view)> log_fault = {};
    // Receives news of the cables under this rank's links. If empty, deaths go to log.
    std::function<void(const routing::LinkNews&)> log_link = {};
    // Called when a rank is asked to hold its messages, because unexpected ones use more than
    // transport.unexpected: that rank, the bytes that are used, and the limit. Under the lock.
    std::function<void(Rank, std::size_t, std::size_t)> on_hold = {};
    // The page on which the rank publishes its state; it must outlive the Runtime. Null if none.
    ControlPage* page = nullptr;

    // Whether a message of that many bytes travels in one packet, and the first size that does not.
    bool is_eager(std::size_t bytes) const { return bytes <= eager_limit; }
    std::size_t first_large() const { return eager_limit + 1; }
    // The largest size of a packet's body, in bytes: an eager message, or a piece of a large one of
    // that size.
    std::size_t body() const {
        return largest_payload() + sizeof(DataBody) + (tolerates_deaths ? sizeof(Envelope) : 0);
    }
    // Payload bytes of one packet of a large message. The packet with its headers fills a power of
    // two, and so whole packets of a network whose packets have such sizes. In shared memory the
    // payload alone does: then powers of two and whole pages need no short packet at the end.
    std::size_t fragment() const {
        return largest_payload() - sizeof(transport::PacketHeader) - sizeof(DataBody);
    }
    std::size_t fragment_in_memory() const { return largest_payload(); }
    // The settings that single modules of core read, each its own when it is made. Null for the
    // defaults.
    std::shared_ptr<const config::Settings> settings = {};

    // Takes over what the user may set.
    void apply(const config::Settings& given);
    // The value of a row of core/settings.h, which defines these two.
    template <class T>
    T value(const config::Setting<T>& row) const;
    template <class T>
    void set(const config::Setting<T>& row, std::type_identity_t<T> value);
    // Throws std::invalid_argument that names the found and the expected value.
    void check() const;

  private:
    std::size_t largest_payload() const { return std::max<std::size_t>(eager_limit, 4096); }
    config::Settings copy_of_settings() const;
};

using InterfaceFactory = std::function<std::unique_ptr<transport::Interface>(
    const std::vector<transport::PortOptions>&)>;

// A transport for connections to ranks that are not in Options::direct.
struct LinkTransport {
    InterfaceFactory make;
    // Whether the transport carries this link or, without a link, the connection to this far rank.
    // The first link transport that returns true carries it, so both ends must get the same answer.
    // If empty, it carries all.
    std::function<bool(Rank peer, std::optional<routing::Direction> link)> carries = {};
};

}  // namespace torusmp::core
