// SPDX-License-Identifier: BSD-3-Clause
// One end of a link whose packets go in Ethernet frames, next to a reliable connection.
//
// Every packet has a number, whichever path it takes, and the other end takes packets in the order
// of their numbers. So a packet may take either path: short ones go in frames; packets that are too
// long for a frame, find the window full, or are sent while frames do not get through, go over the
// connection. Packets lost with a frame may be resent in another frame or over the connection.
//
// Frames are not trusted until one has got through. After begin() this end sends probes as long as
// the longest frame, and sends packets in frames after the first answer. If frames were resent
// `most_resends` times without a confirmation, everything goes over the connection, and probes test
// whether frames get through again: the other end may only be computing.
//
// Lost frames are resent when the other end reports a gap, and by a timer if it reports nothing.
// The connection decides whether the other end is alive.
//
// A session has no socket and reads no clock. Owned by an EthernetChannel (or by a test) and used
// under the Runtime's lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/transport/api/interface.h"
#include "core/transport/ethernet/frame.h"
#include "core/transport/ethernet/inbox.h"
#include "core/transport/ethernet/outbox.h"

namespace torusmp::transport::ethernet {

// The services that a session needs.
class Carrier {
  public:
    // `frame` has Outbox::head_room writable bytes in front of it. Returns false if the device did
    // not accept it.
    virtual bool send_frame(std::byte* frame, std::size_t bytes) = 0;
    // Sends over the connection; the other end passes it to Session::take_records().
    virtual void send_records(std::uint64_t number, CreditWord grants, ConstBytes records) = 0;

    // Delivers what has arrived, in order. Returns how many packets were taken.
    virtual int on_record(const PacketHeader& header, const std::byte* payload) = 0;
    virtual void on_grants(CreditWord grants) = 0;
    // The other end violates the protocol.
    virtual void on_fault(std::string_view why) = 0;

  protected:
    ~Carrier() = default;
};

struct Counters {
    std::uint64_t sent = 0, taken = 0;  // frames with packets
    std::uint64_t resent = 0, repeated = 0, early = 0, handed_over = 0;
    std::uint64_t malformed = 0, damaged = 0, forged = 0;
    std::uint64_t lost = 0;  // frames of the other end that came only when they were sent again

    Counters& operator+=(const Counters& other);
};

class Session {
  public:
    // The number of frames kept until they are confirmed: for a link, whose ring has room for more,
    // and for a far rank, whose ring is shared.
    static constexpr unsigned link_window = 128, far_window = 32;
    // The most frames lost in a row that are counted as lost. If more are lost, the cable was
    // silent for a moment, which is another fault.
    static constexpr unsigned most_lost_in_a_row = 8;
    // How often the timer resends before everything goes over the connection.
    static constexpr int most_resends = 7;
    static constexpr std::chrono::microseconds first_wait{2000};
    static constexpr std::chrono::seconds longest_wait{1};

    explicit Session(Carrier& carrier, unsigned window = link_window)
        : carrier_(carrier), window_(window), outbox_(window) {}

    // Both ends have greeted each other, so frames may be tried.
    void begin(const Secret& secret, const Greeting& own, const Greeting& theirs);
    // The connection has ended: nothing more is sent or taken.
    void end() { path_ = Path::none; }

    // ---- out ----
    // Sends a packet in a frame: now, or at the next flush() if it may wait to share a frame.
    // Returns false if it must go over the connection, with take_number().
    bool send(const PacketHeader& header, ConstBytes front, ConstBytes payload, bool at_once);
    bool grant(CreditWord credits, bool at_once);
    std::uint64_t take_number();
    // The number below which everything has arrived. Packets over the connection carry it, and the
    // other end passes it to take_confirmed().
    std::uint64_t tell_confirmed();
    // Whether the other end has confirmed everything below this number.
    bool is_confirmed(std::uint64_t below) const { return outbox_.oldest() >= below; }
    bool waits_for_company() const { return outbox_.is_filling(); }
    void flush();
    // Confirms what has arrived, unless that is already done.
    void confirm();
    // Moves everything unconfirmed to the connection, because this end leaves.
    void hand_over();

    // ---- in ----
    // Takes an unchecked frame. Returns how many packets were taken.
    int take_frame(const std::byte* frame, std::size_t bytes);
    // Takes what came over the connection.
    int take_records(std::uint64_t number, CreditWord grants, ConstBytes records);
    int take_packet(std::uint64_t number, const PacketHeader& header, const std::byte* payload);
    void take_confirmed(std::uint64_t below);
    // Whether enough has arrived, or in such an order, that it should be confirmed soon.
    bool should_confirm() const { return owed_ >= window_ / 4 || urgent_; }
    // Whether the other end waits for a confirmation: it keeps a frame, or one is missing. Data
    // that came over the connection is not kept, and is confirmed with the next frame.
    bool owes() const { return awaited_; }

    // ---- time ----
    // Does the work that is due.
    void tend(Clock::time_point now);
    // When tend() must be called again; max() if nothing is in flight.
    Clock::time_point due(Clock::time_point now) const;

    bool in_frames() const { return path_ == Path::frames; }
    const Counters& counters() const { return counters_; }

  private:
    enum class Path { none, probing, frames };

    void send_now(std::uint64_t number);
    void send_plain(Kind kind, std::uint64_t number);
    void send_probe();
    FrameHeader header_of(Kind kind, std::uint64_t number) const;
    void all_is_said();
    bool seal_and_send(std::byte* frame);
    void hand_over(std::uint64_t number);
    void resend(std::uint64_t number);
    void mind(const FrameHeader& header);
    void count_loss(std::uint64_t number);
    int take(std::uint64_t number, CreditWord grants, ConstBytes records);
    int take_kept();
    int deliver(CreditWord grants, ConstBytes records);
    void fault(std::string_view why);

    Carrier& carrier_;
    const unsigned window_;
    Path path_ = Path::none;
    Seal out_seal_;
    Seal in_seal_;
    std::uint32_t own_session_ = 0;
    std::uint32_t their_session_ = 0;
    std::uint32_t their_port_ = 0;
    Outbox outbox_;
    Inbox inbox_;
    CreditWord granting_ = 0;  // of the frame that is being filled
    unsigned owed_ = 0;        // numbers taken since the last frame was sent
    bool awaited_ = false;     // see owes()
    bool urgent_ = false;
    Counters counters_;
    std::uint64_t last_lost_ = ~std::uint64_t{0};
    unsigned lost_in_a_row_ = 0;
    std::vector<std::byte> kept_;
    alignas(16) std::byte plain_[Outbox::head_room + sizeof(FrameHeader)]{};

    // The timer's state: the oldest unconfirmed number, since when it is the oldest, and what was
    // done.
    std::uint64_t watched_ = ~std::uint64_t{0};
    Clock::time_point since_{};
    Clock::duration wait_ = first_wait;
    int resends_ = 0;
    std::uint64_t probe_ = 0;
    Clock::time_point probe_at_{};
    Clock::duration probe_wait_ = first_wait;
};

}  // namespace torusmp::transport::ethernet
