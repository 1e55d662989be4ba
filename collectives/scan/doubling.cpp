// SPDX-License-Identifier: BSD-3-Clause
// From the member 1, 2, 4, ... before, so that after step k each knows the total of the 2^k members
// that end with itself: each step moves the vector once.
#include "collectives/scan/totals.h"

namespace torusmp::collectives::scan {
namespace {

class Doubling final : public Totals {
  public:
    using Totals::Totals;

    void start() override {
        lay(0);
        start_total();
        posted_ = false;
        reach_ = 1;
    }

  private:
    bool next() override {
        if (posted_) take();
        const int member = group().member();
        if (reach_ >= group().size()) {
            if (inclusive())
                copy(call_.buffer, total_);
            else if (any_before_)
                copy(call_.buffer, before_);
            return false;
        }
        if (member >= reach_) receive(vector(come_), group().rank_of(member - reach_));
        if (member + reach_ < group().size())
            send(vector(total_), group().rank_of(member + reach_));
        posted_ = true;
        return true;
    }

    void take() {
        const bool came = group().member() >= reach_;
        reach_ *= 2;
        if (!came) return;
        if (!inclusive()) put_before(come_);
        combine(come_, total_);
        std::swap(come_, total_);
    }

    bool posted_ = false;
    int reach_ = 1;  // how many members before
};

}  // namespace

extern AlgorithmMaker<Arguments> doubling = make_algorithm<Doubling>;

}  // namespace torusmp::collectives::scan
