// SPDX-License-Identifier: BSD-3-Clause
// One message from each member; messages from members that are not neighbours are relayed, shortest
// direction first.
#include "collectives/algorithm/apart_blocks.h"
#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {
namespace {

class Apart final : public AlgorithmOf<Arguments, ApartBlocks> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        lay_all_apart(call_.root, false, std::size_t(group().size()));
        if (at_root() && !call_.keep_own_block()) cut_short(call_.root);
    }

  private:
    bool move() override {
        if (at_root())
            receive_apart([this](int member) { return call_.place_of(member); });
        else
            send_apart([this](int) { return call_.own_block(); });
        return !failed() && apart_.complete() && end_well();
    }
    bool at_root() const { return group().member() == call_.root; }
};

}  // namespace

extern AlgorithmMaker<Arguments> apart = make_algorithm<Apart>;

}  // namespace torusmp::collectives::gather
