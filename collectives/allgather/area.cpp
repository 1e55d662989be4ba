// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its block where all others read it.
#include "collectives/algorithm/through_area.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::allgather);
        next_ = 0;
    }

  private:
    bool move() override {
        const Blocks& blocks = call_.in_blocks;
        if (!give(Area::all, call_.own, blocks.size(member()), size() - 1)) return false;
        for (; next_ < size(); ++next_) {
            if (next_ == member()) continue;
            const std::size_t bytes = blocks.size(next_);
            if (!take(next_, bytes, 0, {call_.in + blocks.offset(next_), bytes})) return false;
        }
        return transfers_ended();
    }

    int next_ = 0;  // the member whose block comes next
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::allgather
