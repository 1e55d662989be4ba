// SPDX-License-Identifier: BSD-3-Clause
// From member to member: fewest messages, and no member waits for those after it, so consecutive
// calls overlap.
#include "collectives/scan/totals.h"

namespace torusmp::collectives::scan {
namespace {

class Chain final : public Totals {
  public:
    using Totals::Totals;

    void start() override {
        lay(0);
        posted_ = passed_on_ = false;
    }

  private:
    bool next() override {
        const int member = group().member();
        if (!posted_ && member > 0) {
            posted_ = true;
            receive(vector(before_), group().rank_of(member - 1));
            return true;
        }
        if (passed_on_ || (member == 0 && group().size() == 1)) return false;
        passed_on_ = true;
        std::byte* const own = call_.buffer;
        if (!inclusive()) {
            // The sum that is passed on is not the result here.
            copy(total_, member == 0 ? own : before_);
            if (member > 0) combine(total_, own);
            if (member > 0) copy(own, before_);
        } else if (member > 0) {
            combine(before_, own);
            copy(own, before_);
        }
        if (member + 1 < group().size())
            send(vector(inclusive() ? own : total_), group().rank_of(member + 1));
        return true;
    }

    bool posted_ = false;     // the receive
    bool passed_on_ = false;  // the total up to and including this member
};

}  // namespace

extern AlgorithmMaker<Arguments> chain = make_algorithm<Chain>;

}  // namespace torusmp::collectives::scan
