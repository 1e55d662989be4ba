// What core asks of one link: packets, remote writes and reads; and what a transport tells core.
// A transport knows no rank, tag, torus or front end.
//
// One thread at a time may call (the Runtime holds its lock).
//
// Credits are core's: it calls send() only while it holds a credit of the packet's virtual channel,
// and it gives a credit back for each packet it has taken. So a transport provides, for each
// virtual channel of each channel, `credits[virtual_channel]` receive slots, and a packet that
// finds none is a bug to assert.
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
    held    // keep it; deliver it again at the next poll, and nothing behind it in its virtual
            // channel
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
    // Packets of one virtual channel of one channel come in the order they were sent.
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

// A transport overrides what its capabilities name; the rest has the answers here.
class Channel {
  public:
    explicit Channel(const Capabilities& capabilities) : capabilities_(capabilities) {}
    virtual ~Channel() = default;
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    const Capabilities& can() const { return capabilities_; }

    // True while the two ends have not met yet and still may. Core may send all the same: it waits
    // here. How long the other end's process computes before it answers is its own affair and never
    // an error; where the other end cannot be reached, on_down() tells.
    virtual bool connecting() const { return false; }

    // ---- packets ----
    // Sends one packet; the payload may be reused on return. Never blocks, never fails: what a
    // dead link swallows is reported by Sink::on_down(). A whole payload that lies in the slot
    // being delivered by on_packet() may be sent from there: the slot is the transport's.
    virtual void send(const PacketHeader& header, ConstBytes payload) = 0;
    // The same with a payload in two pieces: what stands in front of a part of a large message, and
    // that part where it lies.
    virtual void send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
        std::byte* const slot = reserve(header.virtual_channel, front.size() + payload.size());
        std::copy(payload.begin(), payload.end(), std::copy(front.begin(), front.end(), slot));
        commit(header);
    }
    // The same in two steps, for payload that is packed on the way: room for `bytes` in the next
    // slot of a virtual channel, then commit() with header.length == bytes and the same virtual
    // channel.
    virtual std::byte* reserve(int virtual_channel, std::size_t bytes) = 0;
    virtual void commit(const PacketHeader& header) = 0;
    // Where packets are placed: as send() of `front`, but `payload` is written to `target`
    // beforehand. The packet that arrives behind it has header.length == front.size(). A payload in
    // the slot that is being delivered by on_packet() is sent from there, as with send().
    virtual void send_placed(const PacketHeader& /*header*/, ConstBytes /*front*/,
                             ConstBytes /*payload*/, const RemoteAddress& /*target*/) {}
    // What is sent from now on may wait for the next write(), or poll, to go with it.
    virtual void cork() {}

    // Gives credits back without a packet of core's, and takes those that came that way.
    virtual void grant(CreditWord credits) = 0;
    virtual CreditWord collect_grants() = 0;

    // ---- remote memory ----
    // Moves bytes between local memory and exposed memory of the peer, once connected. `offset` is
    // into `remote`; what goes beyond remote.length is refused, and everything where the transport
    // cannot; can_write() and can_read() tell beforehand.
    virtual bool can_write(const RemoteMemory& /*remote*/) const { return false; }
    virtual bool can_read(const RemoteMemory& /*remote*/) const { return false; }
    // Local memory in up to can().most_pieces pieces, whose array need not outlast the call; more
    // than one to read only where reads are done at once. Once a write in pieces was not refused,
    // those that follow for the same message are not refused either, but where the link fails.
    // `notice`, only where writes notify: Sink::on_notice() tells the other end when all of it is
    // in place.
    virtual Transfer write(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::span<const ConstBytes> /*local*/, std::uint64_t /*cookie*/,
                           std::optional<std::uint64_t> /*notice*/) {
        return Transfer::refused;
    }
    virtual Transfer read(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                          std::span<const Bytes> /*local*/, std::uint64_t /*cookie*/) {
        return Transfer::refused;
    }
    // Exposed memory of the peer as memory of ours, where it is mapped here: what is copied there
    // needs no write. Null where it is not, or where offset and bytes go beyond it.
    virtual std::byte* map(const RemoteMemory& /*remote*/, std::size_t /*offset*/,
                           std::size_t /*bytes*/) {
        return nullptr;
    }

    // Gives the link up for good and lets the other end know why, where the transport can. Nothing
    // comes from this channel afterwards, and on_down() is not called.
    virtual void close(std::string_view /*why*/) {}

    // Rings the peer's bell even where no packet was sent, where it may sleep without one.
    virtual void wake_peer() {}

    void* owner = nullptr;  // core's Connection

  private:
    const Capabilities& capabilities_;  // of its interface
};

}  // namespace torusmp::transport
