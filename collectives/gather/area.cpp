// SPDX-License-Identifier: BSD-3-Clause
// A member with a small block leaves it in the area, where the root reads it. A member with a
// larger block, or one that is sooner read from a message, sends it, and notes this in the area,
// since the root does not know its length.
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
        if (member() == call_.root && !call_.keep_own_block()) cut_short_ = member();
    }

  private:
    bool move() override {
        if (!(member() == call_.root ? take() : give()) || failed()) return false;
        if (cut_short_ >= 0) fail(core::Error::truncated, group().rank_of(cut_short_));
        return !failed();
    }

    bool give() {
        if (has_left()) return messages_ended();
        const std::size_t bytes = call_.out_bytes;
        if (bytes <= largest() && !messages_pay(call_.root, bytes, size() - 1, bytes, true))
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
    int cut_short_ = -1;       // the first member whose block is longer than the room for it
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::gather
