// SPDX-License-Identifier: BSD-3-Clause
// The root leaves the vector where all others read it.
#include "collectives/algorithm/through_area.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::broadcast, call_.root);
        taken_ = false;
    }

  private:
    bool move() override {
        if (member() == call_.root)
            return give(Area::all, call_.buffer, call_.bytes, 1) && is_only_root(call_.bytes) &&
                   transfers_ended();
        if (!taken_) taken_ = take(call_.root, call_.bytes, 0, {call_.buffer, call_.bytes});
        return taken_ && transfers_ended();
    }

    bool taken_ = false;
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::broadcast
