// SPDX-License-Identifier: BSD-3-Clause
// Every member sends to member 0, which computes all results and sends them back: two steps.
#include "collectives/scan/totals.h"

namespace torusmp::collectives::scan {
namespace {

class Star final : public Totals {
  public:
    using Totals::Totals;

    void start() override {
        lay(group().member() == 0 ? group().size() : 0);
        start_total();
        posted_ = answered_ = false;
    }

  private:
    bool next() override {
        if (answered_) return false;
        if (group().member() != 0) {
            answered_ = true;
            // The answer arrives only after this member's value has been received, so it may
            // overwrite it.
            receive(vector(call_.buffer), group().rank_of(0));
            send(vector(call_.buffer), group().rank_of(0));
        } else if (!posted_) {
            posted_ = true;
            for (int member = 1; member < group().size(); ++member)
                receive(vector(slot(member)), group().rank_of(member));
        } else {
            answered_ = true;
            answer_all();
        }
        return true;
    }

    void answer_all() {
        for (int member = 1; member < group().size(); ++member) {
            if (inclusive()) {
                combine(total_, slot(member));
                copy(slot(member), total_);
            } else {
                copy(spare_, total_);
                combine(total_, slot(member));
                copy(slot(member), spare_);
            }
            send(vector(slot(member)), group().rank_of(member));
        }
    }

    bool posted_ = false;    // member 0: the receives
    bool answered_ = false;  // the results are on their way
};

}  // namespace

extern AlgorithmMaker<Arguments> star = make_algorithm<Star>;

}  // namespace torusmp::collectives::scan
