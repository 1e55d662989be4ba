// SPDX-License-Identifier: BSD-3-Clause
// One message to each member, in member order; messages to members that are not neighbours are
// relayed, shortest direction first.
#include "collectives/algorithm/apart_blocks.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {
namespace {

class Apart final : public AlgorithmOf<Arguments, ApartBlocks> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        lay_all_apart(call_.root, true, apart_window);
        if (at_root() && !call_.keep_own_block()) cut_short(call_.root);
    }

  private:
    bool move() override {
        if (at_root())
            send_apart([this](int member) { return call_.block_of(member); });
        else
            receive_apart([this](int) { return core::Buffer{call_.in, call_.in_bytes}; });
        return !failed() && apart_.complete() && end_well();
    }
    bool at_root() const { return group().member() == call_.root; }
};

}  // namespace

extern AlgorithmMaker<Arguments> apart = make_algorithm<Apart>;

}  // namespace torusmp::collectives::scatter
