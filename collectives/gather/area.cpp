// SPDX-License-Identifier: BSD-3-Clause
// A member with a small block leaves it in the area, where the root reads it. A member with a
// larger block, or one that is sooner read from a message, sends it, and notes this in the area,
// since the root does not know its length.
#include <algorithm>

#include "collectives/algorithm/through_area.h"
#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::gather, call_.root);
        expect(Fit::at_most);
        next_ = 0;
        coming_.clear();
        cut_short_ = -1;
        kept_ = false;
        kept_bytes_ = 0;
    }

  private:
    bool move() override {
        if (member() == call_.root) {
            if (!kept_ && call_.out_bytes < halves_from) keep(call_.out_bytes);
            const bool taken = take();
            if (!kept_) keep(taken ? call_.out_bytes : growth);
            if (!taken) return false;
        } else if (!give()) {
            return false;
        }
        if (failed()) return false;
        if (cut_short_ >= 0) fail(core::Error::truncated, group().rank_of(cut_short_));
        return !failed();
    }

    bool give() {
        if (has_left()) return messages_ended();
        const std::size_t bytes = call_.out_bytes;
        const bool sends_it = halves_pay(bytes) && is_within_reach(call_.out, bytes);
        if (bytes <= largest() && !sends_it &&
            !messages_pay(call_.root, bytes, size() - 1, bytes, true))
            return leave_growing_for(call_.root, call_.out, bytes);
        if (claim_for(call_.root, 0) == nullptr) return false;
        post_send(call_.root, call_.own_block());
        leave_for(call_.root, sends);
        return messages_ended();
    }

    bool take() {
        for (; next_ < size(); ++next_) {
            if (next_ == member()) continue;
            const auto said = said_by(next_);
            if (!said) return false;
            const core::Buffer place = call_.place_of(next_);
            if (*said == sends) {
                expect_message(next_, place);
            } else if (*said > place.bytes) {
                cut_short(next_);
            } else if (!take_grown(next_, *said, 0, {place.base, *said})) {
                return false;
            }
        }
        for (std::size_t i = 0; i < coming_.size(); ++i) {
            const core::Status* const status = arrived(i);
            if (status == nullptr) return false;
            if (status->error == core::Error::truncated)
                cut_short(coming_[i]);
            else if (!received(i) || failed())
                return false;
        }
        return true;
    }
    // Copies up to that many bytes of the root's own block. A long block is copied in pieces while
    // the root waits, because it must learn soon that another member sends.
    void keep(std::size_t most) {
        const std::size_t bytes = call_.out_bytes;
        if (call_.out == nullptr || bytes != call_.in_blocks.size(member())) {
            kept_ = true;
            if (!call_.keep_own_block()) cut_short(member());
            return;
        }
        const std::size_t piece = std::min(bytes - kept_bytes_, most);
        const std::size_t to = call_.in_blocks.offset(member()) + kept_bytes_;
        if (piece != 0) std::memcpy(call_.in + to, call_.out + kept_bytes_, piece);
        kept_bytes_ += piece;
        kept_ = kept_bytes_ == bytes;
    }
    void expect_message(int from, core::Buffer place) {
        coming_.push_back(from);
        use_requests(0, coming_.size());
        receive(coming_.size() - 1, place, group().rank_of(from));
    }
    // The error concerns the root alone, which receives all other blocks first.
    void cut_short(int from) {
        if (cut_short_ < 0) cut_short_ = from;
    }

    int next_ = 0;             // at the root: the member whose block comes next
    std::vector<int> coming_;  // members whose blocks come as messages, by request
    bool kept_ = false;        // the root's own block is in place
    std::size_t kept_bytes_ = 0;
    int cut_short_ = -1;  // the first member whose block is longer than the room for it
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::gather
