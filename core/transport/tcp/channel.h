// SPDX-License-Identifier: BSD-3-Clause
// One end of a TCP connection: sends frames in as few system calls as the load allows, and receives
// frames, with the payload of remote writes straight into its place in memory.
//
// States: waiting (for the peer's call) or meeting (calling) -> open -> finished or down.
//
// Owned by its TcpInterface and used under the Runtime's lock.
#pragma once

#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "core/transport/common/burst.h"
#include "core/transport/common/byte_queue.h"
#include "core/transport/common/network.h"
#include "core/transport/tcp/calling.h"
#include "core/transport/tcp/companion.h"
#include "core/transport/tcp/frame.h"
#include "core/transport/tcp/held_slots.h"
#include "core/transport/tcp/silence.h"
#include "core/transport/tcp/write_queue.h"

namespace torusmp::transport::tcp {

class TcpInterface;

inline constexpr Capabilities capabilities{.notifies = true,
                                           .separate_links = true,
                                           .polls_kernel = true,
                                           .reconnects = true,
                                           .renews = true,
                                           .most_pieces = most_gathered};

class TcpChannel final : public NetworkChannel {
  public:
    struct Ends {
        std::string name;  // both ends, for messages
        Id peer;
        std::uint32_t remote_port;
    };
    TcpChannel(TcpInterface& interface, const PortOptions& port, Ends ends);

    bool has_met() const override { return calling_.patience.met; }
    void send(const PacketHeader& header, ConstBytes payload) override;
    void send_parts(const PacketHeader& header, ConstBytes front, ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const PacketHeader& header) override;
    void grant(CreditWord credits) override;
    bool can_write(const RemoteMemory& remote) const override;
    bool can_ever_write(const RemoteMemory& remote) const override { return remote.length != 0; }
    bool write_arriving() const override { return incoming_left_ != 0; }
    Transfer write(const RemoteMemory& remote, std::size_t offset,
                   std::span<const ConstBytes> local, std::uint64_t cookie,
                   std::optional<std::uint64_t> notice) override;
    Unanswered unanswered() const override;
    void close(std::string_view why) override;
    void fail(std::string why) override;
    int offer_held(Sink& sink) override;

    // For a Companion. Sends it a note, in order with packets; later packets may share its system
    // call.
    void send_note(ConstBytes front, ConstBytes rest);
    // Takes a packet that arrived by another path as if it had arrived by this connection. Returns
    // how many were taken.
    int take(Sink& sink, const PacketHeader& header, const std::byte* payload);
    // Whether packets of this form may arrive by this connection.
    bool admits(const PacketHeader& header) const {
        return header.length <= port_.slot_bytes && header.virtual_channel < port_.virtual_channels;
    }
    bool is_open() const { return state_ == State::open; }
    bool is_over() const { return state_ >= State::finished; }
    // Whether nothing waits to be sent.
    bool is_idle() const { return is_over() || (out_.empty() && writes_.empty()); }

    // --- for its interface and the Connector ---
    State state() const { return state_; }
    // The one place where the state changes. Precondition: the transition is allowed.
    void become(State next);
    Id peer() const { return peer_; }
    std::uint32_t remote_port() const { return remote_port_; }
    Calling& calling() { return calling_; }
    const Calling& calling() const { return calling_; }
    void set_trouble(std::string trouble) { trouble_ = std::move(trouble); }
    // Whether core repairs the loss of the connection: a link by a detour, a shortcut by the relay.
    bool is_made_good() const;
    void open(base::Descriptor socket);
    void say_goodbye();
    // Reads what has arrived. Returns how many packets and writes were taken.
    int receive(Sink& sink);
    // Sends as much as the socket accepts.
    void flush();
    // Sends what waited for the end of the poll.
    void flush_queued();
    // Asks the peer's kernel for an answer if there was none for a while, and fails if there was
    // none for longer than `limit`. Returns when to check again.
    Clock::time_point look_for_silence(Clock::time_point now, std::chrono::nanoseconds limit);
    // Its cable is dead: data that was passed to the kernel need not be sent any more.
    void cut(std::string why);

  private:
    // --- out ---
    std::size_t head_bytes() const;
    FrameHead head_of(const PacketHeader& header, ConstBytes front, ConstBytes payload) const;
    bool sends_at_once(std::size_t bytes);
    void send_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload);
    void queue_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload);
    void send_gathered(const FrameHead& head, ConstBytes front, ConstBytes payload);
    bool flush_some();
    void set_blocked(bool blocked);

    // --- in ---
    bool receive_some(Sink& sink);
    int parse(Sink& sink);
    bool parse_one(Sink& sink, int& taken);
    std::size_t most_noted() const;
    int deliver(Sink& sink, const PacketHeader& header, const std::byte* payload);
    bool keep(const PacketHeader& header, const std::byte* payload);
    Bytes landing_place(std::size_t bytes) const;
    void land(Sink& sink, std::size_t bytes, const std::byte* from);
    void end_of_stream();

    std::string_view silent() const;
    void drop_socket();

    TcpInterface& interface_;
    base::Descriptor socket_;
    Calling calling_;
    SilenceWatch silence_;

    ByteQueue out_;
    WriteQueue writes_;
    bool full_ = false;     // the last call took less than it was given
    bool blocked_ = false;  // so the socket is watched until there is room
    Burst burst_;
    std::unique_ptr<std::byte[]> reserved_;  // where a packet is packed; as large as a slot

    std::unique_ptr<std::byte[]> in_;
    std::size_t in_bytes_ = 0;  // capacity
    std::size_t in_begin_ = 0;
    std::size_t in_end_ = 0;
    WriteFrame incoming_{};          // head of the write that is arriving
    std::size_t incoming_left_ = 0;  // bytes of its payload still to come
    std::uint32_t incoming_sum_ = 0;
    bool expects_write_ = false;  // a write has arrived, and since then only short frames
    std::array<HeldSlots, max_virtual_channels> held_;
    std::size_t held_count_ = 0;
};

}  // namespace torusmp::transport::tcp
