// SPDX-License-Identifier: BSD-3-Clause
// The simulated transport: any number of interfaces in one process, joined by links that delay,
// reorder, die and corrupt as configured, in virtual time.
//
// A World owns the links and the clock; sim::Interface objects belong to their creators (Runtimes)
// and must be destroyed before the World. Everything runs in one thread, and the same seed with the
// same calls gives the same run. Nothing happens by itself: step() moves the clock to the next
// event and names its interface, which handles it at its next poll().
//
// The World checks what a real transport would leave to chance. A packet for which no receive slot
// is free, a credit returned twice, a reserve() without commit() and the like are bugs of the
// caller and throw std::logic_error.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/transport/api/interface.h"
#include "core/transport/sim/clocks.h"
#include "core/transport/sim/random.h"

namespace torusmp::transport::sim {

// The duration of an event: uniform in [low, high], and occasionally `straggle` more.
struct Delay {
    Time low{1000};
    Time high{5000};
    double straggling = 0.0;  // probability
    Time straggle{0};
};

// The behaviour of remote writes or reads.
enum class Remote {
    refused,    // the transport has none
    immediate,  // done on return
    pending,    // done after a delay; the bytes move only then, and Sink::on_transfer() reports it
    mixed       // randomly one of the three: a write allowed once may be refused the next time
};

struct WorldOptions {
    std::uint64_t seed = 1;
    Delay packet{};
    Delay grant{};
    Delay transfer{Time{2000}, Time{20000}, 0.0, Time{0}};
    Remote write = Remote::pending;
    Remote read = Remote::pending;
    bool notifies = false;       // Capabilities::notifies: writes arrive in order
    bool separate_links = true;  // Capabilities::separate_links
    bool wavers = false;         // can_write() may refuse what it has just allowed
    bool places = false;         // Capabilities::places
    // Memory from allocate() is mapped by the peers: writing or reading it is immediate.
    bool mapped = false;
    // And so is all other memory, as the program's large blocks are within a host.
    bool all_mapped = false;
    double copy_rate = 0;          // Interface::copy_rate()
    Time cable_within{5'000'000};  // a reconnected link waits this long for its cable
    Time down_within{1'000'000};   // both ends of a dead link are notified within this time
    // Packets, remote writes and processors take the time that the modelled machine takes, in place
    // of the delays above.
    std::optional<LinkModel> model{};
};

struct InterfaceOptions {
    std::vector<PortOptions> ports;  // the slots of some ports
    std::optional<PortOptions>
        other{};  // of every port that `ports` does not name (its .port is unused)
    std::size_t allocatable = std::size_t(-1);  // total bytes that allocate() returns
    bool separate_links = true;                 // false: not, whatever the world's options say
};

// Counters of the traffic on all links so far.
struct Counters {
    std::uint64_t packets = 0;    // sent
    std::uint64_t bytes = 0;      // of their payload
    std::uint64_t delivered = 0;  // packets taken
    std::uint64_t held = 0;       // times a packet was offered and held
    std::uint64_t lost = 0;       // lost with their links
    std::uint64_t grants = 0;     // Channel::grant() calls
    std::uint64_t transfers = 0;  // remote writes and reads started
    std::uint64_t placed = 0;     // payloads that reached their place in memory
    std::uint64_t misplaced = 0;  // payloads that were dropped because no such memory is exposed
    std::uint64_t events = 0;     // steps of the clock
};

class World;
class Interface;

namespace detail {

// Payload for a place in the peer's memory, delivered before its packet.
struct Placed {
    std::vector<std::byte> bytes;
    RemoteAddress target{};
};

struct Packet {
    PacketHeader header;
    std::unique_ptr<std::byte[]> payload;  // exactly header.length bytes, so tools detect overruns
    bool slotted = false;                  // sent by a channel, not injected, so it occupies a slot
    Placed placed{};
};

// The packets of one virtual channel on their way into one end of a link, oldest first.
struct VirtualChannel {
    std::deque<Packet> packets;
    std::size_t arrived = 0;  // those that have reached their slot
    std::size_t slotted = 0;  // those that occupy one
    std::size_t owed = 0;     // packets taken whose credit has not been returned
    Time last_due{0};
    bool listed = false;  // in the interface's list of channels with something to deliver
};

struct Motion {  // a pending remote write or read
    std::uint64_t cookie;
    std::byte* there;
    std::vector<Bytes> here;  // the stretches of local memory
    bool write;
    std::uint64_t key;  // the remote memory's seal; nothing moves once it is deregistered
    std::optional<std::uint64_t> notice;
    bool moved = false;

    std::size_t bytes() const;
    void move(std::size_t most) const;  // moves the first `most` bytes
};

struct Link;
class Channel;

struct End {
    Link* link = nullptr;
    End* peer = nullptr;
    Interface* interface = nullptr;  // null once the interface is gone
    std::uint32_t port = 0;
    PortOptions slots{};
    Channel* channel = nullptr;  // null until this side has connected
    std::array<VirtualChannel, max_virtual_channels> virtual_channels;
    std::deque<CreditWord> grants_under_way;
    CreditWord grants_arrived = 0;
    Time last_grant_due{0};
    std::map<std::uint64_t, Motion> motions;  // started at this end
    Time last_transfer_due{0};
    Time line{0};            // with a model, packets leave this end no earlier
    bool announced = false;  // the other side connected, and this one was notified
    bool down_reported = false;
    bool closed = false;  // core has closed it; only the ends of its transfers are still reported
};

struct Link {
    std::array<End, 2> ends;
    Delay packet{};
    bool dead = false;
    bool cut = false;        // not dead, but waits for its cable
    bool waited = false;     // waited for its cable during its whole life
    std::uint64_t left = 0;  // how often an end was withdrawn before the two had met
    Time opens_at{0};        // no earlier, because both ends want a pause
    std::string why;
};

std::string name_of(const End& end);
// Each link port has a key of its own in RemoteMemory; other ports share these, as one process
// hardly uses both.
constexpr std::uint32_t key_place(std::uint32_t port) {
    return port % most_link_ports;
}

enum class EventKind : std::uint8_t {
    packet,
    grant,
    transfer,
    notice,
    announce,
    missing,
    abandoned,
    down,
    wake
};

struct Event {
    Time at;
    std::uint64_t order;
    End* end;
    std::uint64_t id;  // the virtual channel of a packet, the number of a transfer
    EventKind kind;
};

}  // namespace detail

// One process's interface to the world.
class Interface final : public transport::Interface {
  public:
    ~Interface() override;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;

    std::size_t index() const { return index_; }  // from 0, in the order of World::create()
    bool alive() const { return alive_; }
    // Packets were held at the last poll: polling again is useful once something has changed.
    bool holding() const { return !ready_.empty(); }

    std::vector<std::byte> address() const override;
    transport::Channel& connect(ConstBytes peer_address, const ChannelOptions& options) override;
    int poll(Sink& sink) override;
    void deregister_memory(const RemoteMemory& memory) override;
    RemoteMemory register_memory(Bytes memory, const Channel* channel) override;
    Bytes registered(const RemoteMemory& memory, std::size_t offset, std::size_t bytes) override;
    Bytes place(const RemoteAddress& target, std::uint32_t port, std::size_t bytes) override;
    double copy_rate() override;
    bool is_mapped(const RemoteMemory& memory) const override;
    void* allocate(std::size_t bytes, std::size_t alignment) override;
    std::size_t allocated() const { return allocated_; }  // bytes
    void free(void* memory) override;
    // Does not sleep: the world moves to the next event.
    void sleep(Clock::time_point deadline) override;

  private:
    friend class World;
    friend class detail::Channel;

    struct Ready {
        detail::End* end;
        detail::EventKind kind;
        std::uint64_t id;
        bool ok;
    };

    Interface(World& world, std::size_t index, InterfaceOptions options);
    PortOptions slots_of(std::uint32_t port) const;
    bool has_port(std::uint32_t port) const;
    int deliver(Sink& sink, detail::End& end, int vc, int budget);
    void take_notice(Sink& sink, detail::End& end, std::uint64_t notice);
    void deliver_down(Sink& sink, detail::End& end);

    World& world_;
    std::size_t index_;
    InterfaceOptions options_;
    bool alive_ = true;
    bool swallows_ = false;
    bool polling_ = false;
    std::vector<std::unique_ptr<detail::Channel>> channels_;
    std::vector<detail::End*> ends_;
    std::vector<Ready> ready_;    // what has arrived and waits for poll()
    std::vector<Ready> working_;  // the entries that the current poll() handles
    struct Exposure {
        std::uint64_t address;
        std::uint64_t length;
        int times;
    };
    std::map<std::uint64_t, Exposure> exposed_;                                  // by seal
    std::map<std::uintptr_t, std::pair<std::size_t, std::size_t>> allocations_;  // size, alignment
    std::size_t allocated_ = 0;
};

class World {
  public:
    explicit World(const WorldOptions& options);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    std::unique_ptr<Interface> create(InterfaceOptions options);

    Time now() const { return now_; }
    bool idle() const { return events_.empty(); }  // nothing is in flight anywhere
    // Moves the clock to the next event and returns the index of the interface that should poll
    // now; nullopt if the world is idle. Events of dead processes are skipped.
    std::optional<std::size_t> step();
    // When the next event is due.
    std::optional<Time> next_event() const {
        return events_.empty() ? std::nullopt : std::optional(events_.front().at);
    }
    // Advances the clock; events that become due can then be polled.
    void advance(Time by);

    // The next three need a world with a model, whose interfaces each stand for a rank.
    //
    // The rank's program computes, until program_at().
    void compute(Interface& interface, double nanoseconds) {
        clocks_->compute(interface.index_, now_, nanoseconds);
    }
    // When the rank's program can continue.
    Time program_at(const Interface& interface) const {
        return clocks_->resumes(interface.index_, now_);
    }
    // step() will name the interface at that time, or as soon as its processor is free.
    // Precondition: it has a link.
    void call(Interface& interface, Time at);

    // Kills a link: packets in flight on it are lost, and both ends get Sink::on_down() within
    // options.down_within. The link is named by the interface and port of one of its ends.
    void kill_link(Interface& interface, std::uint32_t port);
    bool is_up(const Interface& interface, std::uint32_t port) const;
    // Marks a cable as missing from the start: the link over it dies immediately.
    void cut(Interface& interface, std::uint32_t port, std::size_t peer, std::uint32_t peer_port);
    // Restores the cable. A reconnected link waits for this: for options.cable_within if it is the
    // first since the last death or connected afresh, otherwise without limit.
    void revive_link(Interface& interface, std::uint32_t port);
    // Kills a process, and its links with it. It must not be polled again.
    void kill(Interface& interface);

    // Takes a process over: packets sent to it vanish, whether it has slots or not, and it never
    // answers. Tests act for it with inject().
    void swallow(Interface& interface) { interface.swallows_ = true; }

    // Changes the delay of one link.
    void set_delay(Interface& interface, std::uint32_t port, const Delay& delay);

    // Injects a forged packet: it arrives at that port like any other, but has no sender and takes
    // no slot, and its header may hold anything; only `length` is set to the payload's.
    void inject(Interface& interface, std::uint32_t port, PacketHeader header, ConstBytes payload);
    // Injects forged credits: they arrive at that port like those of a grant.
    void inject_grant(Interface& interface, std::uint32_t port, CreditWord credits);
    // Sees each packet that a channel sends, and may change its header and payload (`length`
    // follows the payload). May be empty.
    using Interposer = std::function<void(std::size_t from, PacketHeader& header,
                                          std::vector<std::byte>& payload)>;
    void set_interposer(Interposer interposer) { interposer_ = std::move(interposer); }

    // Packets in flight, unpolled or held, over all live links.
    std::size_t in_flight() const;
    // Credits that receivers have not returned, over all live links, and those being returned.
    std::size_t credits_away() const;
    const Counters& counters() const { return counters_; }
    // One line for each live link that has packets on it.
    std::string describe() const;

  private:
    friend class Interface;
    friend class detail::Channel;

    detail::End& join(Interface& from, std::size_t to, const ChannelOptions& options);
    detail::End& end_at(Interface& interface, std::uint32_t port, const char* call);
    void launch(detail::End& into, PacketHeader header, std::unique_ptr<std::byte[]> payload,
                bool slotted, detail::Placed placed);
    void carry(detail::End& from, const PacketHeader& header, std::unique_ptr<std::byte[]> payload,
               detail::Placed placed = {});
    void put_in_place(const detail::End& end, const detail::Placed& placed, std::size_t most);
    void settle_grants(detail::End& end, CreditWord word);
    void send_grant(detail::End& from, CreditWord word);
    Transfer begin(detail::End& end, const RemoteMemory& remote, std::size_t offset,
                   std::vector<Bytes> local, std::uint64_t cookie, bool write,
                   std::optional<std::uint64_t> notice = std::nullopt);
    bool reachable(const detail::End& end, const RemoteMemory& remote) const;
    bool is_exposed(const detail::End& end, const detail::Motion& motion) const;
    bool mapped(const detail::End& end, const RemoteMemory& remote) const;
    bool allowed(const detail::End& end, const RemoteMemory& remote, Remote way) const;
    std::uint64_t seal(std::size_t interface, std::uint64_t address, std::uint64_t length) const;
    std::uint32_t port_seal(std::uint64_t seal, std::uint32_t port) const;
    std::uint64_t seal_of(const detail::End& end, const RemoteMemory& remote) const;
    void close(detail::End& end, std::string_view why);
    bool is_cut(const detail::Link& link) const;
    int tries_over(const detail::Link& link) const;
    bool paused(const detail::End& end) const { return now_ < end.link->opens_at; }
    void pause(detail::End& end, Time pause);
    void wait_for_cable(detail::End& end);
    void leave(detail::End& end, const std::string& why);
    void bury(detail::Link& link, const std::string& why, bool tear);
    void bury_all(Interface& interface, const std::string& why, bool tear);
    Time draw(const Delay& delay);
    void schedule(Time at, detail::EventKind kind, detail::End& end, std::uint64_t id);
    bool happen(const detail::Event& event);
    bool has_turn(detail::End& end);
    Time hand_on(detail::End& from, std::size_t bytes, bool passes, bool copied);
    std::optional<std::size_t> next(Time until);
    void finish(detail::End& end, std::uint64_t id);

    WorldOptions options_;
    Random random_;
    std::optional<detail::Clocks> clocks_;  // set with a model
    std::uint64_t secret_;
    Time now_{0};
    std::uint64_t order_ = 0;
    std::uint64_t motions_ = 0;
    std::vector<detail::Event> events_;  // a heap, the earliest at the front
    std::vector<Interface*> interfaces_;
    // Allocations of interfaces that have ended, with their alignment: peers that have mapped them
    // may still use them.
    std::vector<std::pair<void*, std::size_t>> left_behind_;
    std::vector<std::unique_ptr<detail::Link>> links_;
    // Cables, by interface and port of their ends.
    std::set<std::pair<std::size_t, std::uint32_t>> cut_;
    Interposer interposer_;
    Counters counters_;
};

}  // namespace torusmp::transport::sim
