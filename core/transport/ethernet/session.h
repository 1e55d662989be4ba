// SPDX-License-Identifier: BSD-3-Clause
// One end of a link whose packets go in Ethernet frames, beside a connection that loses nothing.
//
// Everything that is sent has a number, whichever way it goes, and the other end takes it in the
// order of numbers. So a packet may take either way: short ones go in frames; what is too long for
// a frame, or finds the window full, or is sent while frames do not get through, goes over the
// connection. And what was lost with a frame may be sent again in another, or over the connection.
//
// Frames are not trusted to get through before one has: after begin() this end sends probes, as
// long as the longest frame, and sends packets in frames from the first answer on. If nothing is
// confirmed although it was sent again for `patience`, everything goes over the connection, and
// probes ask whether frames get through again: the other end may only be computing.
//
// What is lost is sent again when the other end reports a gap, and by a timer, while nobody reports
// anything. Whether the other end is alive is the connection's business.
//
// It has no socket and reads no clock. Owned by an EthernetChannel (or by a test), used under the
// Runtime's lock.
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

// What a session needs of its surroundings.
class Carrier {
  public:
    // `frame` has Outbox::head_room writable bytes in front of it. False: the device did not take
    // it.
    virtual bool send_frame(std::byte* frame, std::size_t bytes) = 0;
    // Over the connection; the other end gives it to Session::take_records().
    virtual void send_records(std::uint64_t number, CreditWord grants, ConstBytes records) = 0;

    // What has come, in order. Returns how many packets were taken.
    virtual int on_record(const PacketHeader& header, const std::byte* payload) = 0;
    virtual void on_grants(CreditWord grants) = 0;
    // The other end breaks the protocol.
    virtual void on_fault(std::string_view why) = 0;

  protected:
    ~Carrier() = default;
};

struct Counters {
    std::uint64_t sent = 0, taken = 0;  // frames with packets
    std::uint64_t resent = 0, repeated = 0, early = 0, handed_over = 0;
    std::uint64_t malformed = 0, damaged = 0, forged = 0;

    Counters& operator+=(const Counters& other);
};

class Session {
  public:
    // Frames kept until they are confirmed: of a link, whose ring has room for more; and of a far
    // rank, whose ring is for all.
    static constexpr unsigned link_window = 128, far_window = 32;
    // How often the timer sends again before everything goes over the connection.
    static constexpr int most_resends = 7;
    static constexpr std::chrono::microseconds first_wait{2000};
    static constexpr std::chrono::seconds longest_wait{1};

    explicit Session(Carrier& carrier, unsigned window = link_window)
        : carrier_(carrier), window_(window), outbox_(window) {}

    // Both ends have greeted each other: frames may be tried.
    void begin(const Secret& secret, const Greeting& own, const Greeting& theirs,
               std::size_t most_frame_bytes);
    // The connection has ended: nothing is sent or taken any more.
    void end() { path_ = Path::none; }

    // ---- out ----
    // Sends a packet in a frame, now or, if it may wait for company, at the next flush(). False: it
    // has to go over the connection, with take_number().
    bool send(const PacketHeader& header, ConstBytes front, ConstBytes payload, bool at_once);
    bool grant(CreditWord credits, bool at_once);
    std::uint64_t take_number();
    // Below which number everything has come: what goes over the connection tells the other end,
    // which gives it to take_confirmed().
    std::uint64_t tell_confirmed();
    // Whether the other end has said that everything below this number has come.
    bool is_confirmed(std::uint64_t below) const { return outbox_.oldest() >= below; }
    bool waits_for_company() const { return outbox_.is_filling(); }
    void flush();
    // Confirms what has come, if that has not been said yet.
    void confirm();
    // Gives everything that is not confirmed to the connection, because this end leaves.
    void hand_over();

    // ---- in ----
    // A frame, of which nothing has been checked. Returns how many packets were taken.
    int take_frame(const std::byte* frame, std::size_t bytes);
    // What came over the connection.
    int take_records(std::uint64_t number, CreditWord grants, ConstBytes records);
    int take_packet(std::uint64_t number, const PacketHeader& header, const std::byte* payload);
    void take_confirmed(std::uint64_t below);
    // Whether so much has come, or in such an order, that the other end should hear of it soon.
    bool should_confirm() const { return owed_ >= window_ / 4 || urgent_; }
    // Whether the other end keeps something until it hears of it: a frame, or one that is missing.
    // What came over the connection is kept by nobody, and confirmed with what is sent next.
    bool owes() const { return awaited_; }

    // ---- time ----
    // Does what is due.
    void tend(Clock::time_point now);
    // When it has to be called again; max(): nothing is under way.
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
    CreditWord granting_ = 0;  // in the frame that is being filled
    unsigned owed_ = 0;        // numbers taken since the last frame was sent
    bool awaited_ = false;     // see owes()
    bool urgent_ = false;
    Counters counters_;
    std::vector<std::byte> kept_;
    alignas(16) std::byte plain_[Outbox::head_room + sizeof(FrameHeader)]{};

    // Of the timer: since when the oldest has been the oldest, and what was done about it.
    std::uint64_t watched_ = ~std::uint64_t{0};
    Clock::time_point since_{};
    Clock::duration wait_ = first_wait;
    int resends_ = 0;
    std::uint64_t probe_ = 0;
    Clock::time_point probe_at_{};
    Clock::duration probe_wait_ = first_wait;
};

}  // namespace torusmp::transport::ethernet
