// SPDX-License-Identifier: BSD-3-Clause
// One end of a link that may lose its cable. To core it is the link's channel, dead cable or not:
// packets that are sent are kept until the far end has confirmed them, and remote writes are
// complete when the far end says so. So when a cable dies both ends know what is missing, and send
// it again by whatever carries the link then.
//
//   on the cable  what is sent goes to the transport's channel; the copy is all that this costs
//   apart         nothing leaves: the cable is dead, and the ends have not agreed on the way yet
//   on a detour   frames go through other ranks (LinkManager), from the copies
//
// The confirmation is nothing new on the link transport. Credits of packets come home in the order
// in which the packets were taken, so a credit that comes home confirms the oldest packet of its
// virtual channel, and when the ends agree anew each says how many it has taken. Remote writes are
// counted by their notices, which come in order.
//
// Owned by the LinkManager, used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/connection/connection.h"
#include "core/link/frames.h"
#include "core/link/link_holdings.h"
#include "core/link/retained.h"
#include "core/link/retained_writes.h"
#include "routing/detours.h"

namespace torusmp::core {

class LinkManager;

class LinkEnd final : public transport::Channel {
  public:
    // The connection has its cable and its credits.
    LinkEnd(LinkManager& manager, Connection& connection, const routing::Link& link,
            std::size_t slot_bytes);
    LinkEnd(const LinkEnd&) = delete;
    LinkEnd& operator=(const LinkEnd&) = delete;

    Connection& connection() const { return connection_; }
    const routing::Link& link() const { return link_; }
    // Of the two ends this one says that the cable is back.
    bool first() const { return connection_.link->sign > 0; }

    // --- transport::Channel ---
    bool connecting() const override;
    void send(const transport::PacketHeader& header, transport::ConstBytes payload) override {
        retained_.keep(header, payload);
        way_->send(header, payload);
    }
    std::byte* reserve(int virtual_channel, std::size_t /*bytes*/) override {
        return retained_.room(virtual_channel);
    }
    void commit(const transport::PacketHeader& header) override {
        way_->send(header, retained_.keep_packed(header));
    }
    void send_placed(const transport::PacketHeader& header, transport::ConstBytes front,
                     transport::ConstBytes payload,
                     const transport::RemoteAddress& target) override {
        retained_.keep_placed(header, front, payload, target);
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

  private:
    friend class LinkManager;

    // What stands for the channel while there is no cable: all that is sent is kept anyway.
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
    // A packet that came by the detour and that core holds, in the slot that its credit stood for.
    struct Held {
        transport::PacketHeader header;
        std::vector<std::byte> payload;
    };

    bool on_cable() const { return way_ == cable_; }
    void stir();
    transport::CreditWord collect_apart();
    transport::Transfer start(std::size_t write);
    // The cable says that a write is complete.
    void on_transfer(std::uint64_t number);
    // Whether the far end counts it when it is complete: by its notice, or each that came by a
    // detour, where the cable tells that of its own.
    bool counts(const RetainedWrite& write) const {
        return !write.done && (!can().notifies || write.notice);
    }
    // What the far end has taken so far, all of its credits at home with that.
    LaneCounts settle_taken();
    // Nothing goes by the old way any more, or is taken that comes by it.
    void part();
    // The far end has told what it has got. False: that cannot be.
    bool take_setup(const SetupBody& body);
    bool take_granted(LaneCounts granted);
    // Sends all that is not confirmed, and goes on, over the cable.
    void resume_on_cable();
    unsigned unsent(int virtual_channel) const {
        return transport::credits_in(subtract_lanes(retained_.sent(), emitted_), virtual_channel);
    }
    void drop_cable(std::string_view why);
    void give_candidate_up(std::string_view why);
    void add_to(LinkHoldings& sum) const;
    // How long the next cable has to wait. The first that is lost may come back at once.
    std::chrono::nanoseconds hold_down() const;

    LinkManager& manager_;
    Connection& connection_;
    const routing::Link link_;
    const LaneCounts lanes_;  // those of messages
    const transport::Capabilities capabilities_;
    Apart apart_;
    Retained retained_;

    transport::Channel* way_;          // by which frames leave
    transport::Channel* cable_;        // the cable in use; null while the link is dead
    transport::Channel* candidate_;    // a cable that may be back
    std::uint32_t cable_version_ = 0;  // of the link, for which cable_ is good
    std::string why_;                  // the cable went down; empty: others have said it
    std::vector<routing::Hop> told_;   // the detour that was told last
    bool heard_ = false;               // the far end, by the candidate
    std::uint32_t greeted_ = 0;        // hellos sent by it: 1, and 2 since that end was heard

    bool held_down_ = false;  // the candidate has a pause
    unsigned lost_ = 0;       // cables so far

    LaneCounts granted_ = 0;         // credits given back so far
    LaneCounts home_ = 0;            // and that have come home here
    LaneCounts stashed_ = 0;         // that came by a cable which is not in use yet
    std::uint32_t notices_ = 0;      // of the far end's remote writes, that arrived
    std::uint32_t unconfirmed_ = 0;  // of these, since it was told last over the cable
    std::uint32_t confirmed_ = 0;    // of ours
    RetainedWrites writes_;

    // On a detour.
    std::uint64_t session_ = 0;   // the state under which frames are taken; 0: none are
    bool agreed_ = false;         // the far end's setup has come: frames leave
    std::uint32_t number_ = 0;    // frames sent
    std::uint32_t expected_ = 0;  // and taken
    LaneCounts emitted_ = 0;      // packets that have left
    std::size_t write_ = 0;       // the one that is leaving, among writes_
    std::size_t written_ = 0;     // bytes of it that have left
    bool tell_ = false;           // credits or notices of which the far end has not heard
    std::array<std::deque<Held>, transport::max_virtual_channels> held_;
    bool closed_ = false;       // for good
    bool fail_writes_ = false;  // what was open then ends at the next poll
};

}  // namespace torusmp::core
