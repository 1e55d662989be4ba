// What core asks of a transport: interfaces that open channels, channels that move packets and
// remote writes over one link. A transport knows no rank, tag, torus or front end.
//
// Ownership: a Runtime owns its Interface, an Interface its Channels. One thread at a time may call
// (the Runtime holds its lock); only Interface::wake() may be called from anywhere.
//
// Tokens are core's: it calls send() only while it holds a token of the packet's slot class, and it
// gives a token back for each packet it has taken. So a transport provides, for each class of each
// channel, `tokens[class]` receive slots, and a packet that finds none is a bug to assert.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/packet.h"

namespace torusmp::transport {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;
using Clock = std::chrono::steady_clock;

class Channel;

// A stretch of a process's memory, as its peers name it. Made by Interface::expose(), sent in
// packets, understood by the channel's other end, which checks it before use.
struct RemoteMemory {
    std::uint64_t address;
    std::uint64_t length;  // bytes
    std::uint64_t handle;  // the owner's own name for it, which peers leave alone
    std::uint64_t key[6];  // as the transport likes, or of 32 bits for each link port: port_key()

    // The key under which the owner's link port `port` reaches the memory, where a transport has
    // one for each (Channel::places()); 0: none.
    std::uint32_t port_key(std::uint32_t port) const {
        return std::uint32_t(key[port / 2] >> (32 * (port % 2)));
    }
    void set_port_key(std::uint32_t port, std::uint32_t value) {
        key[port / 2] |= std::uint64_t(value) << (32 * (port % 2));
    }
};
static_assert(sizeof(RemoteMemory) == 72);
inline constexpr std::uint32_t most_link_ports = 12;  // of which RemoteMemory holds keys

// A place in the memory of whoever is at a channel's other end, good on that channel alone.
struct Place {
    std::uint64_t address;
    std::uint32_t key;  // RemoteMemory::port_key() of the owner's end of that link
};

enum class Verdict {
    taken,  // the packet's slot is free again
    held    // keep it; deliver it again at the next poll, and nothing behind it in its class
};

enum class Transfer {
    done,     // finished, the local buffer may be reused
    pending,  // Sink::on_transfer() will tell
    refused   // cannot be done this way (permission, bad key): send packets instead
};

// What a transport tells core. Called only from inside Interface::poll().
class Sink {
  public:
    // A packet in its slot. The payload lies in [payload, payload + header.length).
    // Packets of one class of one channel come in the order they were sent.
    virtual Verdict on_packet(Channel& channel, const PacketHeader& header,
                              const std::byte* payload) = 0;
    // A peer's write with a notice is complete: every byte of it is in place.
    virtual void on_notice(Channel& channel, std::uint64_t notice) = 0;
    // A transfer that was pending is finished, or failed with its link.
    virtual void on_transfer(Channel& channel, std::uint64_t cookie, bool ok) = 0;
    // A peer opened a channel to `port`, which nobody here has connected yet. Core connects it.
    virtual void on_connect(std::uint32_t port) = 0;
    // The link is gone for good; nothing more comes from this channel.
    virtual void on_down(Channel& channel, std::string_view why) = 0;

  protected:
    ~Sink() = default;
};

struct ChannelOptions {
    std::uint32_t local_port = 0;   // where packets of this channel arrive here
    std::uint32_t remote_port = 0;  // and at the peer
    bool mutual = false;            // both ends connect this channel at start, unasked
};

class Channel {
  public:
    virtual ~Channel() = default;

    // True while the two ends have not met yet and still may. Core may send all the same: it waits
    // here. How long the other end's process computes before it answers is its own affair and never
    // an error; where the other end cannot be reached, on_down() tells.
    virtual bool connecting() const { return false; }

    // Sends one packet; the payload may be reused on return. Never blocks, never fails: what a
    // dead link swallows is reported by Sink::on_down(). A whole payload that lies in the slot
    // being delivered by on_packet() may be sent from there: the slot is the transport's.
    virtual void send(const PacketHeader& header, ConstBytes payload) = 0;
    // The same in two steps, for payload that is packed on the way: room for `bytes` in the next
    // slot of a class, then commit() with header.length == bytes and the same class.
    virtual std::byte* reserve(int slot_class, std::size_t bytes) = 0;
    virtual void commit(const PacketHeader& header) = 0;

    // Gives tokens back without a packet of core's, and takes those that came that way.
    virtual void grant(TokenWord tokens) = 0;
    virtual TokenWord collect_grants() = 0;

    // Moves bytes between local memory and exposed memory of the peer. `offset` is into `remote`;
    // offset + local.size() beyond remote.length is refused. A transport without remote access
    // refuses always; can_write()/can_read() tell beforehand, once connected.
    virtual bool can_write(const RemoteMemory& remote) const = 0;
    virtual bool can_read(const RemoteMemory& remote) const = 0;
    virtual Transfer write(const RemoteMemory& remote, std::size_t offset, ConstBytes local,
                           std::uint64_t cookie) = 0;
    virtual Transfer read(const RemoteMemory& remote, std::size_t offset, Bytes local,
                          std::uint64_t cookie) = 0;
    // Exposed memory of the peer as memory of ours, where it is mapped here: what is copied there
    // needs no write. Null where it is not, or where offset and bytes go beyond it.
    virtual std::byte* map(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::size_t /*bytes*/) {
        return nullptr;
    }
    // How many pieces of local memory one write can gather, or read scatter; 0: none. Writes and
    // reads in pieces are as those above, and the array of pieces need not outlast the call. Once
    // one of them was not refused, those that follow for the same message are not refused either,
    // but where the link fails.
    virtual std::size_t most_pieces() const { return 0; }
    // `notice`: as with write_with_notice(), only where notifies().
    virtual Transfer write_gathered(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                                    std::span<const ConstBytes> /*local*/, std::uint64_t /*cookie*/,
                                    std::optional<std::uint64_t> /*notice*/) {
        return Transfer::refused;
    }
    // Never pending: only for transports that read at once.
    virtual Transfer read_scattered(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                                    std::span<const Bytes> /*local*/) {
        return Transfer::refused;
    }

    // Whether a write can tell the other end when it has arrived; then write_with_notice() is
    // there.
    virtual bool notifies() const { return false; }
    virtual Transfer write_with_notice(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                                       ConstBytes /*local*/, std::uint64_t /*cookie*/,
                                       std::uint64_t /*notice*/) {
        return Transfer::refused;
    }
    // Whether packets can leave their payload in the peer's memory; then send_placed() is there.
    virtual bool places() const { return false; }
    // As send() of `front`, but `payload` is written to `place` beforehand. The packet that arrives
    // behind it has header.length == front.size(). A payload in the slot that is being delivered
    // by on_packet() is sent from there, as with send().
    virtual void send_placed(const PacketHeader& /*header*/, ConstBytes /*front*/,
                             ConstBytes /*payload*/, const Place& /*place*/) {}

    // What is sent from now on may wait for the next write(), or poll, to go with it.
    virtual void cork() {}

    // Gives the link up for good and lets the other end know why, where the transport can. Nothing
    // comes from this channel afterwards, and on_down() is not called.
    virtual void close(std::string_view /*why*/) {}

    // Rings the peer's bell even where no packet was sent.
    virtual void ring() = 0;

    void* owner = nullptr;  // core's Connection
};

// One port of an interface: the slots behind it.
struct PortOptions {
    std::uint32_t port = 0;
    int classes = 1;
    std::array<std::uint8_t, max_slot_classes> tokens{};  // slots by class
    std::size_t slot_bytes = 0;                           // payload that each slot holds
};

class Interface {
  public:
    virtual ~Interface() = default;

    virtual std::string_view name() const = 0;
    // What a peer needs to connect to this interface; goes through the bootstrap's exchange.
    virtual std::vector<std::byte> address() const = 0;
    // Throws std::runtime_error that says which peer and why; nothing is left of the attempt then.
    virtual Channel& connect(ConstBytes peer_address, const ChannelOptions& options) = 0;

    // Tells all peers that nothing more comes from here, so that the end of this process is no
    // fault to them. Only memory may be asked for and given back afterwards. The destructor does
    // the same.
    virtual void say_farewell() {}

    // Delivers what has arrived, at most a bounded number of packets. Returns how many were taken.
    virtual int poll(Sink& sink) = 0;

    // Lets peers reach this memory: the one at the other end of `channel`, by all its links, or
    // those behind every link where that is null. Length 0: they cannot, for want of a resource.
    virtual RemoteMemory expose(Bytes memory, const Channel* channel) = 0;
    // Ends what expose() began: no peer's write reaches this memory any more.
    virtual void conceal(const RemoteMemory& /*memory*/) {}
    // Whether peers may ever read what is exposed; where not, only what they shall write needs to
    // be.
    virtual bool reads() const { return true; }
    // Whether two links to the same peer carry twice as much as one. Then write() never refuses
    // what can_write() has allowed, because a message may be half under way over the other.
    virtual bool separate_links() const { return false; }
    // One line or more of what it has counted, for reports; empty: nothing.
    virtual std::string statistics() const { return {}; }
    // poll() asks the kernel, so it costs more than looking at the clock does.
    virtual bool polls_kernel() const { return false; }
    // True while nothing that was sent still waits here for its link.
    virtual bool idle() const { return true; }
    // Whether peers reach this memory of ours by plain stores, so that even small messages gain.
    virtual bool is_mapped(const RemoteMemory& /*memory*/) const { return false; }
    // Memory that peers reach at the lowest cost; null when there is no more. free() takes nullptr.
    virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
    virtual void free(void* memory) = 0;

    // Sleeping, one thread at a time: prepare_sleep(), one more poll(), then sleep() if it found
    // nothing, else cancel_sleep(). A packet or a wake() after prepare_sleep() ends the sleep at
    // once. Instead of sleep() the caller may wait until descriptor() is readable, where there is
    // one, and then call cancel_sleep().
    virtual void prepare_sleep() = 0;
    virtual void cancel_sleep() = 0;
    virtual void sleep(Clock::time_point deadline) = 0;
    virtual int descriptor() { return -1; }
    // From any thread and from signal handlers.
    virtual void wake() noexcept = 0;
};

}  // namespace torusmp::transport
