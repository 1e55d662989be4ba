// SPDX-License-Identifier: BSD-3-Clause
// Each block is a message of its own; all members work on the same offset at the same time.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives::alltoall {
namespace {

// Messages in flight per direction if other ranks relay them.
constexpr int offset_window = 8;

class Pairs final : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        const int size = group().size();
        const int member = group().member();
        if (const std::size_t own = call_.out_blocks.size(member); own > 0)
            std::memcpy(call_.in + call_.in_blocks.offset(member),
                        call_.out + call_.out_blocks.offset(member), own);
        // Consecutive offsets lie in different directions.
        stride_ = std::max(1, int(0.618 * size));
        while (std::gcd(stride_, size) != 1) ++stride_;
        const auto slots = std::size_t(group().direct() ? size : std::min(size, offset_window));
        use_requests(slots, slots);
        for (Way& way : ways_) {
            way.next = 1;
            way.busy.assign(slots, false);
        }
    }

  private:
    struct Way {
        int next = 0;  // offsets up to here are posted
        std::vector<bool> busy{};
    };

    // A circular wait is impossible: the first offset that is not done everywhere is in every
    // member's window.
    bool move() override {
        bool done = true;
        for (const bool sending : {false, true}) {
            Way& way = ways_[sending ? 0 : 1];
            for (std::size_t slot = 0; slot < way.busy.size(); ++slot) {
                // A request that is complete as soon as it is posted brings no further event, so
                // the loop checks again immediately.
                do {
                    if (way.busy[slot] && !(sending ? sent(slot) : received(slot))) break;
                    if (failed()) return false;
                    way.busy[slot] = post_next(way, slot, sending);
                } while (way.busy[slot]);
                done = done && !way.busy[slot];
            }
        }
        return done;
    }

    // Returns false if all offsets are posted.
    bool post_next(Way& way, std::size_t slot, bool sending) {
        const Blocks& blocks = sending ? call_.out_blocks : call_.in_blocks;
        while (way.next < group().size()) {
            const int member = at_offset(way.next++, sending ? +1 : -1);
            const std::size_t bytes = blocks.size(member);
            if (bytes == 0) continue;
            if (sending)
                send(slot, {call_.out + blocks.offset(member), bytes}, group().rank_of(member));
            else
                receive(slot, {call_.in + blocks.offset(member), bytes}, group().rank_of(member));
            return true;
        }
        return false;
    }

    // The member at the k-th offset ahead, or behind: a different one for each member.
    int at_offset(int index, int sign) const {
        const int offset = int(std::int64_t(index) * stride_ % group().size());
        int place = 0;
        for (int d = 0; d < group().dimensions(); ++d) {
            const int extent = group().extent(d);
            const int steps = sign * group().coordinate(offset, d);
            place += (group().coordinate(d) + steps + extent) % extent * group().stride(d);
        }
        return group().member_at(place);
    }

    int stride_ = 1;             // the k-th offset is k times this
    std::array<Way, 2> ways_{};  // sends, receives
};

}  // namespace

extern AlgorithmMaker<Arguments> pairs = make_algorithm<Pairs>;

}  // namespace torusmp::collectives::alltoall
