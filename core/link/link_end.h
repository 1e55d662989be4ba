// SPDX-License-Identifier: BSD-3-Clause
// One end of a link that may lose its cable. Core uses it as the link's channel, whether the cable
// is dead or not: sent packets are kept until the far end has confirmed them, and remote writes are
// complete when the far end confirms them. So when a cable dies, both ends know what is missing,
// and send it again over whatever path the link takes next.
//
// State says by which path packets leave, and become() is the one place where it changes.
//
// Confirmations need no packets of their own while the cable is up. Credits return in the order in
// which the packets were taken, so a returned credit confirms the oldest packet of its virtual
// channel; when the ends agree again, each states how many packets it has taken. Remote writes are
// counted by their notices, which arrive in order.
//
// Owned by LinkManager and used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "core/connection/connection.h"
#include "core/link/arrived_packets.h"
#include "core/link/frames.h"
#include "core/link/link_end_state.h"
#include "core/link/link_holdings.h"
#include "core/link/retained.h"
#include "core/link/retained_writes.h"
#include "routing/detours.h"

namespace torusmp::core {

class LinkManager;

class LinkEnd final : public transport::Channel {
  public:
    // Precondition: the connection has its cable and its credits.
    LinkEnd(LinkManager& manager, Connection& connection, const routing::Link& link,
            std::size_t slot_bytes);
    LinkEnd(const LinkEnd&) = delete;
    LinkEnd& operator=(const LinkEnd&) = delete;

    Connection& connection() const { return connection_; }
    const routing::Link& link() const { return link_; }
    // Whether this is the end that announces the return of the cable.
    bool first() const { return connection_.link->sign > 0; }

    using State = LinkEndState;
    bool on_cable() const { return state_ == State::on_cable; }
    bool closed() const { return state_ == State::closed; }
    transport::Channel* cable() const { return cable_; }  // in use or returning; null if dead
    transport::Channel* candidate() const { return candidate_; }  // a cable that may have returned
    std::uint32_t cable_version() const { return cable_version_; }

    // --- changes of path; from LinkManager ---
    // The cable is dead as of this version of the link.
    void lose_cable(std::uint32_t version, std::string_view why);
    // Leaves the path, if there is one; the ends have to agree on the next.
    void leave_path();
    // Asks for a detour in the state of that digest. Returns the message to the far end.
    SetupBody ask(std::uint64_t session);
    // The candidate becomes the cable, as of this version of the link. Returns the message to the
    // far end.
    SetupBody take_cable_back(std::uint32_t version);
    // Whether the far end's setup for a path of that session, or by the cable, is awaited.
    bool awaits_detour(std::uint64_t session) const {
        return state_ == State::asking && session_ == session;
    }
    bool awaits_cable(const transport::Channel& channel, std::uint64_t version) const {
        return state_ == State::returning && &channel == cable_ && version == cable_version_;
    }
    // Handles the far end's setup: what it has received. A detour may then be used; for the cable,
    // resume_on_cable() has to follow. Returns false if the setup is impossible.
    bool take_setup(const SetupBody& body);
    // Sends everything unconfirmed again over the cable, and resumes normal operation on it.
    void resume_on_cable();

    // --- a cable that may have returned ---
    // channel: null if there is none.
    void try_cable(transport::Channel* channel);
    void lose_candidate();
    void give_candidate_up(std::string_view why);
    // The candidate was up, and died or leads elsewhere.
    void count_loss() { ++lost_; }
    // The far end has been heard over the candidate.
    void hear() { heard_ = true; }
    bool heard() const { return heard_; }
    // Each end sends a hello, and a second one when it has heard the other: the cable then works in
    // both directions.
    bool owes_hello() const { return greeted_ < (heard_ ? 2u : 1u); }
    void greet() { greeted_ = heard_ ? 2 : 1; }
    // A closed end owes the far end one farewell over each candidate.
    bool owes_farewell() const { return greeted_ == 0; }
    // How long the next cable must wait. After the first loss a cable may return immediately.
    std::chrono::nanoseconds hold_down() const;
    // Whether dead links part the ends. Returns what was noted before.
    bool note_apart(bool apart) { return std::exchange(parted_, apart); }

    // --- remote writes ---
    // The cable reports that a write is complete.
    void finish_write(std::uint64_t number);
    // The far end has received this many of our writes. Returns false if that is impossible.
    bool confirm_writes(std::uint32_t notices);
    // Counts a completed write of the far end, which must be confirmed.
    void count_write();
    // Whether a confirmation must leave over the cable, or at some time, and its content.
    bool must_confirm() const;
    bool confirms() const { return confirms_; }
    ConfirmBody confirmation() {
        confirms_ = false;
        unconfirmed_ = 0;
        return {notices_, 0};
    }
    // Reports the writes that were open at close() as failed. Returns false if that was done.
    bool fail_writes();

    // --- frames of a detour ---
    // Whether frames of this session may leave, or are accepted.
    bool sends_frames(std::uint64_t session) const {
        return state_ == State::on_detour && session_ == session;
    }
    bool takes_frames(std::uint64_t session) const {
        return !closed() && session != 0 && session_ == session;
    }
    // Writes the next frame, of at most `most` bytes, into a slot of `cable` and completes its
    // header. Returns false if there is nothing to send.
    bool write_frame(transport::Channel& cable, transport::PacketHeader& header, std::size_t most);
    // Whether the frame's number is the next.
    bool take_number(std::uint32_t number) { return number == expected_++; }
    // Takes credits that have returned: the count of all so far. Returns false if that is
    // impossible.
    bool take_granted(LaneCounts granted);
    // Passes a packet that came by the detour to core, or keeps it in the slot of its credit if
    // core does not take it. Returns false if that slot does not exist.
    bool deliver(transport::Sink& sink, const transport::PacketHeader& header,
                 const std::byte* payload) {
        return held_.deliver(*this, sink, header, payload,
                             connection_.credits.limit(header.virtual_channel));
    }
    // Offers core the kept packets. Returns true if it has taken one.
    bool offer_held(transport::Sink& sink) { return held_.offer(*this, sink); }
    bool holds_packets() const { return !held_.empty(); }

    void add_to(LinkHoldings& sum) const;
    std::string describe() const;  // the state, and what waits, for reports of hangs

    // --- transport::Channel ---
    bool connecting() const override;
    void send(const transport::PacketHeader& header, transport::ConstBytes payload) override {
        retained_.keep(header, payload);
        check_credits();
        way_->send(header, payload);
    }
    std::byte* reserve(int virtual_channel, std::size_t /*bytes*/) override {
        return retained_.room(virtual_channel);
    }
    void commit(const transport::PacketHeader& header) override {
        const transport::ConstBytes payload = retained_.keep_packed(header);
        check_credits();
        way_->send(header, payload);
    }
    void send_placed(const transport::PacketHeader& header, transport::ConstBytes front,
                     transport::ConstBytes payload,
                     const transport::RemoteAddress& target) override {
        retained_.keep_placed(header, front, payload, target);
        check_credits();
        way_->send_placed(header, front, payload, target);
    }
    void grant(transport::CreditWord credits) override;
    transport::CreditWord collect_grants() override {
        const transport::CreditWord word = way_->collect_grants();
        home_ = add_lanes(home_, word & lanes_);
        return word;
    }
    bool can_write(const transport::RemoteMemory& remote) const override;
    transport::Transfer write(const transport::RemoteMemory& remote, std::size_t offset,
                              std::span<const transport::ConstBytes> local, std::uint64_t cookie,
                              std::optional<std::uint64_t> notice) override;
    void cork() override { way_->cork(); }
    void close(std::string_view why) override;
    void wake_peer() override { way_->wake_peer(); }
    Unanswered unanswered() const override;
    Arrivals arrivals() const override { return on_cable() ? cable_->arrivals() : Arrivals(); }

  private:
    // Replaces the channel while the cable is dead: everything sent is kept by Retained.
    class Apart final : public transport::Channel {
      public:
        explicit Apart(LinkEnd& end) : Channel(end.can()), end_(end) {}
        void send(const transport::PacketHeader& /*header*/,
                  transport::ConstBytes /*payload*/) override {
            end_.stir();
        }
        std::byte* reserve(int /*virtual_channel*/, std::size_t /*bytes*/) override {
            return nullptr;
        }
        void commit(const transport::PacketHeader& /*header*/) override {}
        void send_placed(const transport::PacketHeader& /*header*/, transport::ConstBytes /*front*/,
                         transport::ConstBytes /*payload*/,
                         const transport::RemoteAddress& /*target*/) override {
            end_.stir();
        }
        void grant(transport::CreditWord /*credits*/) override {}
        transport::CreditWord collect_grants() override { return end_.collect_apart(); }

      private:
        LinkEnd& end_;
    };

    // The packets that have a copy here are those whose credits have not returned.
    void check_credits() const {
        TORUSMP_ASSERT(
            (subtract_lanes(retained_.sent(), home_) & lanes_) ==
                (subtract_lanes(connection_.credits.limit(), connection_.credits.granted()) &
                 lanes_),
            connection_.peer, retained_.sent(), home_, connection_.credits.granted(),
            connection_.credits.limit(), lost_, session_, state_);
    }
    // The one place where the state changes. Precondition: the transition is allowed.
    void become(State next);
    void stir();
    transport::CreditWord collect_apart();
    transport::Transfer start(std::size_t write);
    // Whether the far end counts this write when it is complete. If the transport notifies, it
    // counts the writes with a notice; otherwise it counts every write that came by a detour, and
    // the cable itself confirms its own.
    bool counts(const RetainedWrite& write) const {
        return !write.done && (!can().notifies || write.notice);
    }
    // Returns the counts of what the far end has taken so far; all credits of it count as returned.
    LaneCounts return_taken();
    // Forgets the old path, in both directions.
    void forget_path();
    std::byte* begin_frame(transport::Channel& cable, transport::PacketHeader& header,
                           Detoured content, std::size_t bytes);
    void write_packet(transport::Channel& cable, transport::PacketHeader& header, int k);
    void write_piece(transport::Channel& cable, transport::PacketHeader& header, std::size_t most);
    unsigned unsent(int virtual_channel) const {
        return transport::credits_in(subtract_lanes(retained_.sent(), emitted_), virtual_channel);
    }
    void drop_cable(std::string_view why);

    LinkManager& manager_;
    Connection& connection_;
    const routing::Link link_;
    const LaneCounts lanes_;  // the lanes of messages
    const transport::Capabilities capabilities_;
    Apart apart_;
    Retained retained_;

    State state_ = State::on_cable;
    transport::Channel* way_;          // the channel that packets leave by: the cable, or apart_
    transport::Channel* cable_;        // the cable in use; null while the link is dead
    transport::Channel* candidate_;    // a cable that may have returned
    std::uint32_t cable_version_ = 0;  // the link version for which cable_ is valid
    bool heard_ = false;               // the far end has been heard over the candidate
    std::uint32_t greeted_ = 0;        // hellos sent over it, 1, or 2 after the far end was heard

    bool parted_ = false;  // dead links part this end from the far one
    unsigned lost_ = 0;    // cables lost so far

    LaneCounts granted_ = 0;         // credits returned so far
    LaneCounts home_ = 0;            // credits that have returned here
    LaneCounts stashed_ = 0;         // credits that arrived over a cable that is not yet in use
    std::uint32_t notices_ = 0;      // notices received of the far end's remote writes
    std::uint32_t unconfirmed_ = 0;  // of these, those not yet confirmed over the cable
    bool confirms_ = false;          // there are such
    std::uint32_t confirmed_ = 0;    // of our remote writes
    std::vector<std::uint64_t> complete_;  // buffer for confirm_writes()
    RetainedWrites writes_;

    // State on a detour.
    std::uint64_t session_ = 0;   // the state under which frames are accepted; 0 if none are
    std::uint32_t number_ = 0;    // frames sent
    std::uint32_t expected_ = 0;  // frames taken
    LaneCounts emitted_ = 0;      // packets that have left
    std::size_t write_ = 0;       // the write that is leaving, index in writes_
    std::size_t written_ = 0;     // bytes of that write that have left
    bool tell_ = false;           // there are credits or notices that the far end does not know of
    ArrivedPackets held_;
    bool fail_writes_ = false;  // after close(), open writes end at the next poll
};

}  // namespace torusmp::core
