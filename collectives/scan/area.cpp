// SPDX-License-Identifier: BSD-3-Clause
// Each member leaves the total up to and including itself where the next one reads it.
#include "collectives/algorithm/through_area.h"
#include "collectives/scan/scan.h"

namespace torusmp::collectives::scan {
namespace {

class ByArea final : public AlgorithmOf<Arguments, ThroughArea> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_call(Kind::scan);
        bytes_ = call_.bytes();
    }

  private:
    bool move() override {
        if (bytes_ == 0) return true;
        const bool first = member() == 0;
        const bool last = member() + 1 == size();
        const std::byte* const before = first ? nullptr : left_by(member() - 1, bytes_);
        if (!first && before == nullptr) return false;
        std::byte* total = last ? total_.reserve(bytes_) : claim_for(member() + 1, bytes_);
        if (total == nullptr) return false;
        const bool inclusive = call_.kind == ScanKind::inclusive;
        if (!first && (inclusive || !last))
            call_.operation.combine(total, before, call_.buffer, call_.count,
                                    call_.operation.closure);
        else
            std::memcpy(total, first ? call_.buffer : before, bytes_);
        if (!first) std::memcpy(call_.buffer, inclusive ? total : before, bytes_);
        if (!last) leave_for(member() + 1, bytes_);
        return true;
    }

    std::size_t bytes_ = 0;
    Scratch total_;  // of the last member
};

}  // namespace

extern AlgorithmMaker<Arguments> area = make_algorithm<ByArea>;

}  // namespace torusmp::collectives::scan
