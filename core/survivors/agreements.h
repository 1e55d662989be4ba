// SPDX-License-Identifier: BSD-3-Clause
// Agreements among the members of groups, some of which may die at any time: all members that
// decide, also those that die afterwards, decide the same value.
//
// The agreements of a group are decided one after the other, in the order in which each member
// begins them. The last decided one is kept, because a member whose leader has died may ask for it;
// one is forgotten when the next is decided, to which all living members have contributed by then.
// Packets that arrive before this member's first agreement of a group wait for it.
//
// Members that share a host agree through a board (agreement_board.h) after their first agreements:
// the lowest living member makes it and sends its name to the others, and each says in its next
// contributions that it has it. The decision that finds that all have it is the last one by
// packets.
//
// A lost member may be dead or cut off. This member does not begin an agreement while it does not
// know which. If one is cut off, no agreement of the group can end any more: all fail from then on,
// here and on each member that hears of it, which passes the news on to all that it reaches.
//
// Handles agreement.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/connection/packet_sender.h"
#include "core/progress/progress.h"
#include "core/sharing/shared_memory.h"
#include "core/survivors/agreement_board.h"
#include "core/survivors/agreement_round.h"
#include "core/survivors/closed_groups.h"

namespace torusmp::core {

// Belongs to the caller, who keeps it in place until it is complete.
class Agreement final : public Task {
  public:
    Agreement() = default;
    Agreement(const Agreement&) = delete;
    Agreement& operator=(const Agreement&) = delete;
    // The own contribution, set before it is begun.
    std::uint32_t flags = ~std::uint32_t{0};
    std::uint32_t least = ~std::uint32_t{0};
    std::vector<Rank> acknowledged;  // dead members of which this one knows that they are dead

    bool complete() const { return complete_.load(std::memory_order_acquire); }
    // Two members that live and cannot reach each other, because of which the agreement ends
    // without a value. Valid after completion.
    const std::optional<std::pair<Rank, Rank>>& parted() const { return parted_; }
    // Places are those of the group's members.
    const AgreedValue& value() const { return value_; }

    // For reports of waits; it is advanced by packets, not as a task.
    bool advance() override { return complete(); }
    void report(Waits& waits) const override;

  private:
    friend class Agreements;
    std::atomic<bool> complete_{true};
    AgreedValue value_;
    std::optional<std::pair<Rank, Rank>> parted_;
    Context context_ = 0;
};

class Agreements final : public PeerLossListener {
  public:
    Agreements(Commons& commons, Connections& connections, PacketSender& sender, Progress& progress,
               SharedMemory& shared)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          progress_(progress),
          shared_(shared) {}
    Agreements(const Agreements&) = delete;
    Agreements& operator=(const Agreements&) = delete;

    // `members` are those of the group with that context, including this rank, the same on all of
    // them and in the same order.
    void begin(Agreement& agreement, Context context, const std::vector<Rank>& members);
    // For a member that has no use for the group: it takes part in the next agreement with no
    // flags, so that the others do not wait for it. It need not wait itself.
    void abstain(Context context, const std::vector<Rank>& members);
    // No further agreement of that group begins here. Its last one may still be asked for.
    void close(Context context);

    bool on_agreement(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void peer_lost(Peer& peer, Error error) override;
    void peer_judged(Peer& peer) override;
    void report(Waits& waits) const;
    // The number of rounds and packets that are kept; tests check that it does not grow.
    std::size_t kept() const;

  private:
    struct Early {
        Rank source;
        std::vector<std::byte> bytes;
    };
    struct Board {
        Board(SharedMemory& shared, int place) : block(shared), maker(place) {}
        SharedBlock block;
        int maker;
        std::optional<AgreementBoard> entries;  // empty if it cannot be mapped here
        bool asleep = false;
    };
    struct Record {
        std::vector<Rank> members;  // empty before the first agreement here
        int place = -1;
        MemberSet dead;             // known to be
        MemberSet agreed;           // decided to be
        std::uint32_t decided = 0;  // agreements that are decided here
        std::map<std::uint32_t, std::unique_ptr<AgreementRound>> rounds;  // by number
        std::deque<Agreement*> queue;
        std::vector<Early> early;
        std::optional<std::pair<Rank, Rank>> parted;
        std::vector<std::unique_ptr<Board>> boards;  // until all have one; by maker
        std::unique_ptr<Board> board;                // where the next rounds are decided
        bool contributed = false;                    // to the present round there
        int place_of(Rank rank) const;
        AgreedValue own_value() const;
        std::uint32_t newest_board() const;
    };

    // While one lives, losses wait.
    class Step {
      public:
        explicit Step(Agreements& agreements) : agreements_(agreements) { ++agreements.steps_; }
        ~Step() {
            if (agreements_.steps_ == 1) agreements_.mourn();
            --agreements_.steps_;
        }
        Step(const Step&) = delete;
        Step& operator=(const Step&) = delete;

      private:
        Agreements& agreements_;
    };

    // Looks at the boards while rounds on them are open.
    class Looks final : public Task {
      public:
        explicit Looks(Agreements& agreements) : agreements_(agreements) {}
        bool advance() override { return agreements_.look_at_boards(); }
        void report(Waits& /*waits*/) const override {}  // Agreements::report() does
        bool looks() const override { return true; }
        void set_asleep(bool asleep) override { agreements_.set_asleep(asleep); }

      private:
        Agreements& agreements_;
    };

    bool abstains(const Agreement& agreement) const;
    bool look_at_boards();
    void set_asleep(bool asleep);
    void mourn();
    void lose(Context context, Record& record, int place);
    void part(Context context, Record& record, std::pair<Rank, Rank> parted);
    bool doubts(const Record& record) const;
    void end(Agreement& agreement);
    void open(Record& record, const std::vector<Rank>& members);
    void begin_next(Context context, Record& record);
    AgreementRound& round_of(Record& record, std::uint32_t number);
    bool take(Context context, Record& record, Rank source, transport::ConstBytes bytes);
    void follow_decision(Context context, Record& record);
    void conclude(Context context, Record& record, const AgreedValue& value);
    void use_board(Context context, Record& record, std::uint32_t maker);
    void make_board(Context context, Record& record);
    bool take_board(Record& record, int place, transport::ConstBytes bytes);
    void contribute(Context context, Record& record);
    bool look_at_board(Context context, Record& record);
    void send(Context context, const Record& record, std::uint32_t number, int place,
              const AgreementPacket& packet);
    AgreementRound::Send sender_for(Context context, const Record& record, std::uint32_t number);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Progress& progress_;
    SharedMemory& shared_;
    std::map<Context, Record> records_;
    ClosedGroups closed_;
    std::vector<Rank> judged_;  // and not yet handled
    int steps_ = 0;
    std::list<Agreement> abstained_;
    std::vector<Context> open_, turn_;  // groups with an open round on their board
    Looks looks_{*this};
    bool listed_ = false;  // as a task
};

}  // namespace torusmp::core
