// SPDX-License-Identifier: BSD-3-Clause
// Core's interface to one link: packets, remote writes and reads; and a transport's reports to
// core. A transport does not know ranks, tags, tori or front ends.
//
// One thread at a time may call (the Runtime holds its lock).
//
// Core owns the credits: it calls send() only while it holds a credit of the packet's virtual
// channel, and returns a credit for each packet that it has taken. So a transport provides, for
// each virtual channel of each channel, `credits[virtual_channel]` receive slots, and a packet that
// finds no slot is a bug to assert.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/transport/api/capabilities.h"
#include "core/transport/api/memory.h"
#include "core/transport/api/packet.h"

namespace torusmp::transport {

class Channel;

enum class Verdict {
    taken,  // the packet's slot is free again
    // Keep the packet: deliver it again at the next poll, and nothing after it in its virtual
    // channel.
    held
};

enum class Transfer {
    done,     // finished; the local buffer may be reused
    pending,  // Sink::on_transfer() reports the end
    refused   // cannot be done remotely (permission, bad key): send packets instead
};

// A transport's reports to core. Called only from inside Interface::poll().
class Sink {
  public:
    // A packet has arrived in its slot. The payload is at [payload, payload + header.length).
    // Packets of one virtual channel of one channel arrive in the order in which they were sent.
    virtual Verdict on_packet(Channel& channel, const PacketHeader& header,
                              const std::byte* payload) = 0;
    // A peer's write with a notice is complete: every byte is in place.
    virtual void on_notice(Channel& channel, std::uint64_t notice) = 0;
    // A pending transfer is complete, or has failed with its link.
    virtual void on_transfer(Channel& channel, std::uint64_t cookie, bool ok) = 0;
    // A peer has opened a channel to `port`, which is not yet connected here. Core connects it.
    virtual void on_connect(std::uint32_t port) = 0;
    // The link is permanently down; nothing more arrives from this channel.
    virtual void on_down(Channel& channel, std::string_view why) = 0;

  protected:
    ~Sink() = default;
};

// A transport overrides the functions of its capabilities; the defaults serve for the others.
class Channel {
  public:
    explicit Channel(const Capabilities& capabilities) : capabilities_(capabilities) {}
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    const Capabilities& can() const { return capabilities_; }

    // True while the two ends have not met but still may. Core may send in that time: packets wait
    // here. How long the other end's process computes before it answers is never an error; if the
    // other end is unreachable, on_down() reports it.
    virtual bool connecting() const { return false; }

    // Whether the two ends had met, for a channel that went down.
    virtual bool has_met() const { return true; }

    // ---- packets ----
    // Sends one packet; the payload may be reused on return. Never blocks and never fails:
    // Sink::on_down() reports a dead link, which drops packets. A whole payload in the slot that
    // on_packet() is delivering may be sent from there, because the slot belongs to the transport.
    virtual void send(const PacketHeader& header, ConstBytes payload) = 0;
    // Sends a payload in two pieces: the part in front of a piece of a large message, and that
    // piece, which is sent from where it is.
    virtual void send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
        std::byte* const slot = reserve(header.virtual_channel, front.size() + payload.size());
        std::copy(payload.begin(), payload.end(), std::copy(front.begin(), front.end(), slot));
        commit(header);
    }
    // Sends in two steps a payload that is packed on the way. reserve() returns room for `bytes` in
    // the next slot of a virtual channel, and commit() sends it with header.length == bytes and the
    // same virtual channel.
    virtual std::byte* reserve(int virtual_channel, std::size_t bytes) = 0;
    virtual void commit(const PacketHeader& header) = 0;
    // Only if the transport places packets: sends `front` as send() would, but writes `payload` to
    // `target` first. The packet that arrives after it has header.length == front.size(). A payload
    // in the slot that on_packet() is delivering is sent from there, as with send().
    virtual void send_placed(const PacketHeader& /*header*/, ConstBytes /*front*/,
                             ConstBytes /*payload*/, const RemoteAddress& /*target*/) {}
    // Allows the next packet to wait, and leave with what is sent after it or, at the latest, with
    // the next poll.
    virtual void cork() {}

    // Returns credits to the peer without a packet of core's; the second function takes credits
    // that arrived in this way.
    virtual void grant(CreditWord credits) = 0;
    virtual CreditWord collect_grants() = 0;

    // ---- remote memory ----
    // Moves bytes between local memory and exposed memory of the peer, once connected. `offset` is
    // relative to `remote`. Refuses accesses beyond remote.length, and all accesses if the
    // transport cannot make them. can_write() and can_read() report in advance whether they are
    // possible now, and faster than packets.
    virtual bool can_write(const RemoteMemory& /*remote*/) const { return false; }
    // Whether accesses are possible at all, regardless of the channel's present state, as long as
    // the channel lives: a write that core has started over a link continues when its cable is
    // back.
    virtual bool can_ever_write(const RemoteMemory& remote) const { return can_write(remote); }
    virtual bool can_read(const RemoteMemory& /*remote*/) const { return false; }
    // Local memory consists of up to can().most_pieces pieces, whose array need not outlive the
    // call; a read may have several only if reads complete on return. If a write in pieces was not
    // refused, later ones for the same message are not refused either, unless the link fails.
    // `notice`, only if writes notify: Sink::on_notice() reports it at the other end when
    // everything is in place.
    virtual Transfer write(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::span<const ConstBytes> /*local*/, std::uint64_t /*cookie*/,
                           std::optional<std::uint64_t> /*notice*/) {
        return Transfer::refused;
    }
    virtual Transfer read(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                          std::span<const Bytes> /*local*/, std::uint64_t /*cookie*/) {
        return Transfer::refused;
    }
    // Whether part of a further write of the peer has arrived, whose notice therefore follows soon.
    virtual bool write_arriving() const { return false; }
    // The peer's exposed memory as local memory, if it is mapped here: copying to it needs no
    // write. Null if it is not mapped, or if offset and bytes exceed it.
    virtual std::byte* map(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::size_t /*bytes*/) {
        return nullptr;
    }

    // Closes the link permanently and reports the reason to the other end, if the transport can do
    // so. Nothing arrives from this channel afterwards, and on_down() is not called. The transport
    // may destroy a channel of links that reconnect at the next poll, once it was closed or
    // on_down() was called.
    virtual void close(std::string_view /*why*/) {}

    // The process at the other end has ended: returns to the system what only that process used.
    virtual void free_peer_memory() {}
    // False once any process has done so: what was read from the peer's memory may be wrong.
    virtual bool has_peer_memory() const { return true; }

    // Data sent but not confirmed by the other end's kernel or device. For reports; may query the
    // kernel.
    struct Unanswered {
        std::uint64_t bytes = 0;
        // How long that end has not answered although it was asked again; zero if it answers, as
        // far as is known.
        std::chrono::nanoseconds silence{0};
        bool apart = false;  // there is currently no path to it
    };
    virtual Unanswered unanswered() const { return {}; }

    // The counters at this end of a transport that makes up for losses itself; where the kernel
    // does it, nothing.
    struct Arrivals {
        unsigned device = 0;        // index of the network device; 0 if nothing is counted
        std::uint32_t session = 0;  // counts of another session begin anew
        std::uint64_t packets = 0;  // of the device, each counted once
        std::uint64_t lost = 0;     // of these, the number that came only when sent again
    };
    virtual Arrivals arrivals() const { return {}; }

    // Wakes the peer even if no packet was sent, in case it sleeps.
    virtual void wake_peer() {}

    void* owner = nullptr;  // core's Connection

  private:
    const Capabilities& capabilities_;  // of its interface
};

}  // namespace torusmp::transport
