// SPDX-License-Identifier: BSD-3-Clause
// Every member leaves its blocks for the others, one after the other, and takes its own from
// theirs.
#include "collectives/algorithm/through_area.h"
#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives::alltoall {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::alltoall);
        block_ = call_.out_blocks.size(0);
        all_ = block_ * std::size_t(size() - 1);
        if (block_ != 0)
            std::memcpy(call_.in + call_.in_blocks.offset(member()),
                        call_.out + call_.out_blocks.offset(member()), block_);
    }

  private:
    bool move() override {
        return (has_left() || leave_blocks()) &&
               take_all(all_, [this](int from, const std::byte* blocks) {
                   if (block_ != 0)
                       std::memcpy(call_.in + call_.in_blocks.offset(from),
                                   blocks + block_ * index_of(member(), from), block_);
               });
    }
    bool leave_blocks() {
        std::byte* const room = claim(all_);
        if (room == nullptr) return false;
        const std::size_t before = block_ * std::size_t(member());
        if (before != 0) std::memcpy(room, call_.out, before);
        if (all_ != before) std::memcpy(room + before, call_.out + before + block_, all_ - before);
        leave_for_all(all_);
        return true;
    }
    // Of the block for `to` among those that `from` leaves: it has none for itself.
    static std::size_t index_of(int to, int from) { return std::size_t(to < from ? to : to - 1); }

    std::size_t block_ = 0;
    std::size_t all_ = 0;
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::alltoall
