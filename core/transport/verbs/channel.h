// SPDX-License-Identifier: BSD-3-Clause
// One reliable-connected queue pair to one peer over one link: packets by send and receive, large
// messages by RDMA write straight into the peer's memory with a notice behind them.
//
// Life of the queue pair, as both ends see it:
//
// - waiting: INIT, slots posted; hellos are sent. Packets from core are kept in order.
// - meeting: RTS; the peer's hello has arrived, so its packets can be received, but it may not
//   receive yet.
// - open: the peer has announced that it is ready, or a packet of it has arrived: everything is
//   sent.
// - finished: the peer has said goodbye: it sends nothing more, and packets to it are dropped.
// - down: ERR; pending work is flushed and reported as failed; Sink::on_down() gives the reason.
//
// It goes from each state to the next, and to down from all but finished.
//
// A link that has died is connected again: another channel takes its port, and makes its queue pair
// when the device has returned everything that the former one posted (returning.cpp).
//
// Sends become work requests in a send queue. Small frames go inline. Larger ones are copied into a
// slot, unless they are in the slot that is being delivered: then that slot is sent, and another
// one is posted in its place. One request in a few is signalled. During a poll, requests are
// collected and posted together.
//
// Owned by its VerbsInterface and used under the Runtime's lock.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/transport/common/fifo.h"
#include "core/transport/common/knock.h"
#include "core/transport/common/network.h"
#include "core/transport/common/patience.h"
#include "core/transport/verbs/frame.h"
#include "core/transport/verbs/registrations.h"
#include "core/transport/verbs/slots.h"

namespace torusmp::transport::verbs {

class VerbsInterface;

struct ChannelStatistics {
    std::uint64_t copied = 0;     // packets copied into a slot
    std::uint64_t forwarded = 0;  // packets sent from the slot in which they arrived
    std::uint64_t written = 0;    // bytes by RDMA write from registered memory
    std::uint64_t bounced = 0;    // bytes by RDMA write through slots
    std::uint64_t kept = 0;  // frames kept because the send queue was full or the channel not open
};

inline constexpr Capabilities capabilities{
    .notifies = true, .places = true, .separate_links = true, .reconnects = true};

class VerbsChannel final : public NetworkChannel {
  public:
    VerbsChannel(VerbsInterface& interface, std::uint32_t index, Device& device,
                 const PortOptions& port);
    ~VerbsChannel() override;

    bool has_met() const override { return patience_.met; }
    void send(const PacketHeader& header, ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const PacketHeader& header) override;
    void send_placed(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                     const RemoteAddress& target) override;
    void grant(CreditWord credits) override;
    bool can_write(const RemoteMemory& remote) const override;
    bool can_ever_write(const RemoteMemory& remote) const override { return key_of(remote) != 0; }
    Transfer write(const RemoteMemory& remote, std::size_t offset,
                   std::span<const ConstBytes> local, std::uint64_t cookie,
                   std::optional<std::uint64_t> notice) override;
    void close(std::string_view why) override;
    void fail(std::string why) override;
    int offer_held(Sink& sink) override;

    const ChannelStatistics& statistics() const { return statistics_; }

  private:
    friend class VerbsInterface;

    // The link port whose key this end uses for a peer's memory: direct peers have only one.
    static std::uint32_t key_port(std::uint32_t port) { return port < most_link_ports ? port : 0; }
    // The key of the peer's memory for this end; 0 if there is none.
    std::uint32_t key_of(const RemoteMemory& remote) const {
        return remote.as<PortKeys>().by_port[key_port(remote_port_)];
    }

    static constexpr std::size_t most_staged = 8;
    static constexpr std::size_t most_inline = 256;  // bytes that a staged request can carry

    // A work request that is waiting to be posted.
    struct Staged {
        ibv_send_wr request;
        ibv_sge part;
        std::array<std::byte, most_inline> bytes;
    };
    // The resources that a request in the send queue holds until it has been sent.
    struct Out {
        Slot* slot = nullptr;
        Registration* registration = nullptr;
        std::uint64_t cookie = 0;
        bool notifies = false;  // core is notified when it ends
        bool piece = false;     // it is part of a write
        bool sign_of_life = false;
    };
    // A remote write that has not been posted completely.
    struct Write {
        std::uint64_t to;
        std::uint32_t key;
        ConstBytes left;
        std::uint64_t cookie;
        std::optional<std::uint64_t> notice;
        Registration* registration;  // null if it goes through slots
        bool posted = false;         // posted completely
    };
    // A frame that could not be posted yet. If it places payload, that follows `front` bytes.
    struct Kept {
        PacketHeader header;
        std::vector<std::byte> bytes;
        std::size_t front;
        RemoteAddress target;
        bool placed;
    };
    // Packets of a virtual channel that core has held.
    using Held = Fifo<Slot*>;

    // --- out ---
    bool can_post(std::size_t requests) const {
        return state_ == State::open && kept_.empty() && room() >= requests;
    }
    std::size_t room() const { return send_queue_.size() - (posted_ - retired_); }
    void keep(const PacketHeader& header, ConstBytes front, ConstBytes payload,
              const RemoteAddress* target);
    void post_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
        post_frame(header, front, payload, Out{});
    }
    void post_frame(PacketHeader header, ConstBytes front, ConstBytes payload, const Out& out);
    void post_slot(PacketHeader header, Slot* slot, std::size_t bytes);
    void post_write(std::uint64_t to, std::uint32_t key, const std::byte* from, std::uint32_t bytes,
                    std::uint32_t local_key, const Out& out, bool signalled);
    Staged& stage(const Out& out);
    void staged(Staged& request, bool signalled);
    void hand_over();
    void post_control(const ControlFrame& frame, const Out& out);
    void post_control(const ControlFrame& frame) { post_control(frame, Out{}); }
    void push_controls();
    bool has_frame_credit() const { return controls_sent_ - controls_home_ < frame_credits; }
    void push_writes();
    bool push_piece(Write& write);
    void push_kept();
    bool wants_push() const { return !kept_.empty() || !writes_.empty() || to_grant_ != 0; }
    // Posts what has become possible: kept frames, grants, writes.
    void push();
    void departed(std::uint32_t until, bool ok);
    Slot* take_delivered(ConstBytes payload);
    void place_frame(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                     const RemoteAddress& target);
    void ask_for_life();

    // --- in ---
    int arrived(Slot* slot, std::size_t bytes, Sink& sink);
    int take_packet(Slot* slot, const PacketHeader& header, Sink& sink);
    int take_control(const ControlFrame& frame, const Slot* slot, Sink& sink);
    int deliver(Slot* slot, const PacketHeader& header, Sink& sink);
    bool take_stamp(const PacketHeader& header);
    void post_again(Slot* slot);
    void post_slots();
    std::string what_is_lost() const;

    // --- life ---
    // Makes room for its requests and their payload. Throws std::runtime_error.
    void make_room();
    std::uint32_t receives() const;
    // Makes the queue pair, and posts slots. Throws std::runtime_error.
    void begin();
    void make_queue_pair();
    // Whether the device has returned everything that was posted. Precondition: the channel is
    // down.
    bool returned();
    // Replaces a channel that has gone down, or that core has closed.
    void follow(VerbsChannel& before, const ChannelOptions& options);
    bool follow_silence(std::chrono::nanoseconds gap, std::chrono::nanoseconds timeout);
    CreditWord all_credits() const;
    void check(const Hello& hello) const;
    bool reach(const Hello& hello);
    void open();
    void give_up_waiting();

    VerbsInterface& interface_;
    const std::uint32_t index_;  // index of its port; part of the numbers of requests
    Device& device_;
    QueuePair queue_pair_;  // null until it is made
    std::uint32_t serial_ = 1;
    // The serial number of the peer's queue pair to which ours is connected.
    std::uint32_t bound_ = 0;
    std::uint32_t outdated_ = 0;  // queue pairs of the peer up to this serial number are obsolete

    // The other end, as given to connect().
    Endpoint theirs_;
    std::optional<Pair> pair_;
    ibv_ah_attr path_{};
    AddressHandle greets_;  // address handle of its datagram queue pair
    std::uint32_t first_packet_ = 0;
    std::optional<Hello> heard_;  // the peer's last hello
    Clock::time_point next_hello_{};
    std::chrono::milliseconds hello_pause_{};
    bool mutual_ = false;  // both ends connect it at start, so both are polling
    // Time spent waiting for the peer while this end was polling.
    std::chrono::nanoseconds waited_{};
    Patience patience_;
    Knock knock_;

    // Out.
    std::vector<Out> send_queue_;
    std::uint32_t posted_ = 0;   // requests so far; indexes the send queue
    std::uint32_t retired_ = 0;  // how many of these have been sent
    std::uint32_t unsignalled_ = 0;
    std::size_t inline_bytes_ = 0;
    std::array<Staged, most_staged> staged_;
    std::size_t staged_count_ = 0;
    std::deque<Kept> kept_;
    std::deque<Write> writes_;
    std::size_t pieces_ = 0;  // pieces of writes, posted and not yet sent
    std::size_t piece_bytes_ = 0;
    CreditWord to_grant_ = 0;
    std::uint32_t controls_sent_ = 0;
    std::uint32_t controls_home_ = 0;  // our control frames that the peer has taken
    Slot* reserved_ = nullptr;
    std::vector<std::byte> reserved_apart_;  // used if no slot is free
    bool recalled_ = false;               // a request whose completion returns the others is posted
    bool alive_asked_ = false;            // a sign of life is in flight
    bool heard_something_ = false;        // since the clock was last read
    std::chrono::nanoseconds silence_{};  // of the peer's device, while this end was polling

    // In.
    std::uint32_t receiving_ = 0;  // slots posted to the device
    std::array<Held, max_virtual_channels> held_;
    std::size_t held_count_ = 0;
    std::uint32_t controls_taken_ = 0;
    std::uint32_t controls_told_ = 0;
    std::array<ibv_recv_wr, posted_together> again_{};
    std::array<ibv_sge, posted_together> again_parts_{};
    std::size_t again_count_ = 0;

    ChannelStatistics statistics_;
};

}  // namespace torusmp::transport::verbs
