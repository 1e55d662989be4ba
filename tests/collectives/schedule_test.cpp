// SPDX-License-Identifier: BSD-3-Clause
// The base of all schedules, tested by schedules made for it.
#include <catch2/catch.hpp>

#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;

namespace {

// Member 0 sends a word to member 1, and looks at the request before it posts it, not after.
class OneWord final : public Schedule {
  public:
    explicit OneWord(Group& group) : Schedule(group) {}
    ~OneWord() = default;

    void start() {
        posted_ = false;
        begin("one word");
    }

  private:
    bool move() override {
        if (posted_) return group().member() == 0 ? sent(0) : received(0);
        use_requests(1, 1);
        posted_ = true;
        if (group().member() == 0)
            send(0, {&word_, sizeof word_}, group().rank_of(1));
        else
            receive(0, {&word_, sizeof word_}, group().rank_of(0));
        return false;
    }

    int word_ = 7;
    bool posted_ = false;
};

}  // namespace

TEST_CASE("A schedule handles requests that complete when they are posted") {
    SimulatedGroup<OneWord> simulated;
    Job job(job_of({2}, true));
    simulated.sign_on(job, all_ranks(job));
    job.settle();
    // An eager message leaves at once, and then nothing more happens on member 0.
    simulated[0].start();
    job.settle();
    CHECK(simulated[0].complete());
    simulated[1].start();
    job.settle();
    CHECK(simulated.complete());
}
