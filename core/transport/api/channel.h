// SPDX-License-Identifier: BSD-3-Clause
// What core asks of one link: packets, remote writes and reads; and what a transport reports to
// core. A transport knows no ranks, tags, tori or front ends.
//
// One thread at a time may call (the Runtime holds its lock).
//
// Credits are core's: it calls send() only while it holds a credit of the packet's virtual channel,
// and gives a credit back for each packet that it has taken. So a transport provides, for each
// virtual channel of each channel, `credits[virtual_channel]` receive slots, and a packet that
// finds no slot is a bug to assert.
#pragma once

#include <algorithm>
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
    // Keep it: deliver it again at the next poll, and nothing behind it in its virtual channel.
    held
};

enum class Transfer {
    done,     // finished, the local buffer may be reused
    pending,  // Sink::on_transfer() reports the end
    refused   // cannot be done this way (permission, bad key): send packets instead
};

// What a transport reports to core. Called only from inside Interface::poll().
class Sink {
  public:
    // A packet has arrived in its slot. The payload lies in [payload, payload + header.length).
    // Packets of one virtual channel of one channel come in the order in which they were sent.
    virtual Verdict on_packet(Channel& channel, const PacketHeader& header,
                              const std::byte* payload) = 0;
    // A peer's write with a notice is complete: every byte of it is in place.
    virtual void on_notice(Channel& channel, std::uint64_t notice) = 0;
    // A pending transfer is complete, or has failed with its link.
    virtual void on_transfer(Channel& channel, std::uint64_t cookie, bool ok) = 0;
    // A peer has opened a channel to `port`, which nobody here has connected yet. Core connects it.
    virtual void on_connect(std::uint32_t port) = 0;
    // The link is gone for good; nothing more comes from this channel.
    virtual void on_down(Channel& channel, std::string_view why) = 0;

  protected:
    ~Sink() = default;
};

// A transport overrides what its capabilities name; the defaults here serve for the rest.
class Channel {
  public:
    explicit Channel(const Capabilities& capabilities) : capabilities_(capabilities) {}
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    const Capabilities& can() const { return capabilities_; }

    // True while the two ends have not met yet and still may. Core may send all the same: packets
    // wait here. How long the other end's process computes before it answers is never an error; if
    // the other end cannot be reached, on_down() reports it.
    virtual bool connecting() const { return false; }

    // Of a channel that went down: whether the two ends had met.
    virtual bool has_met() const { return true; }

    // ---- packets ----
    // Sends one packet; the payload may be reused on return. Never blocks and never fails: that a
    // dead link swallows packets is reported by Sink::on_down(). A whole payload that lies in the
    // slot being delivered by on_packet() may be sent from there: the slot is the transport's.
    virtual void send(const PacketHeader& header, ConstBytes payload) = 0;
    // The same with a payload in two pieces: what stands in front of a part of a large message, and
    // that part, sent from where it lies.
    virtual void send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
        std::byte* const slot = reserve(header.virtual_channel, front.size() + payload.size());
        std::copy(payload.begin(), payload.end(), std::copy(front.begin(), front.end(), slot));
        commit(header);
    }
    // The same in two steps, for payload that is packed on the way: reserve() gives room for
    // `bytes` in the next slot of a virtual channel, commit() sends it with header.length == bytes
    // and the same virtual channel.
    virtual std::byte* reserve(int virtual_channel, std::size_t bytes) = 0;
    virtual void commit(const PacketHeader& header) = 0;
    // Only if packets are placed: sends `front` as send() would, but writes `payload` to `target`
    // first. The packet that arrives after it has header.length == front.size(). A payload in the
    // slot that is being delivered by on_packet() is sent from there, as with send().
    virtual void send_placed(const PacketHeader& /*header*/, ConstBytes /*front*/,
                             ConstBytes /*payload*/, const RemoteAddress& /*target*/) {}
    // The next packet may wait, to leave with what is sent behind it or, at the latest, with the
    // next poll.
    virtual void cork() {}

    // Gives credits back without a packet of core's, and takes those that came in this way.
    virtual void grant(CreditWord credits) = 0;
    virtual CreditWord collect_grants() = 0;

    // ---- remote memory ----
    // Moves bytes between local memory and exposed memory of the peer, once connected. `offset` is
    // into `remote`. Anything beyond remote.length is refused, and everything if the transport
    // cannot do it; can_write() and can_read() tell beforehand.
    virtual bool can_write(const RemoteMemory& /*remote*/) const { return false; }
    // The same while the channel lives, whatever has become of it meanwhile: what core began to
    // write over a link goes on when its cable is back.
    virtual bool could_write(const RemoteMemory& remote) const { return can_write(remote); }
    virtual bool can_read(const RemoteMemory& /*remote*/) const { return false; }
    // Local memory comes in up to can().most_pieces pieces, whose array need not outlive the call;
    // a read may have several only if reads are done at once. Once a write in pieces was not
    // refused, those that follow for the same message are not refused either, unless the link
    // fails. `notice`, only if writes notify: Sink::on_notice() tells the other end when all of it
    // is in place.
    virtual Transfer write(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::span<const ConstBytes> /*local*/, std::uint64_t /*cookie*/,
                           std::optional<std::uint64_t> /*notice*/) {
        return Transfer::refused;
    }
    virtual Transfer read(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                          std::span<const Bytes> /*local*/, std::uint64_t /*cookie*/) {
        return Transfer::refused;
    }
    // Whether part of a further write of the peer's has arrived, whose notice therefore follows
    // soon.
    virtual bool write_arriving() const { return false; }
    // Exposed memory of the peer as memory of ours, if it is mapped here: copying there needs no
    // write. Null if it is not, or if offset and bytes go beyond it.
    virtual std::byte* map(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::size_t /*bytes*/) {
        return nullptr;
    }

    // Gives the link up for good and tells the other end why, if the transport can. Nothing comes
    // from this channel afterwards, and on_down() is not called. The transport may destroy a
    // channel of links that reconnect at the next poll, once it was closed or on_down() was called.
    virtual void close(std::string_view /*why*/) {}

    // Wakes the peer even though no packet was sent, if it might sleep otherwise.
    virtual void wake_peer() {}

    void* owner = nullptr;  // core's Connection

  private:
    const Capabilities& capabilities_;  // of its interface
};

}  // namespace torusmp::transport
