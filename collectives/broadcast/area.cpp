// SPDX-License-Identifier: BSD-3-Clause
// The root leaves the vector where all others read it.
#include "collectives/algorithm/through_area.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override { begin_call(Kind::broadcast, call_.root); }

  private:
    bool move() override {
        if (member() == call_.root)
            return leave_copy_for_all(call_.buffer, call_.bytes) && is_only_root(call_.bytes);
        const std::byte* const vector = left_by(call_.root, call_.bytes);
        if (vector == nullptr) return false;
        if (call_.bytes != 0) std::memcpy(call_.buffer, vector, call_.bytes);
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::broadcast
