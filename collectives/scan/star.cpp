// Everybody sends to node 0, which works it all out and sends back: two steps.
#include "collectives/scan/totals.h"

namespace torusmp::collectives::scan {
namespace {

class Star final : public Totals {
  public:
    using Totals::Totals;

    void start() override {
        lay(group().node() == 0 ? group().size() : 0);
        start_total();
        posted_ = answered_ = false;
    }

  private:
    bool next() override {
        if (answered_) return false;
        if (group().node() != 0) {
            answered_ = true;
            // The answer comes only after our value was taken, so it may use its place.
            receive(vector(call_.buffer), group().rank_of(0));
            send(vector(call_.buffer), group().rank_of(0));
        } else if (!posted_) {
            posted_ = true;
            for (int node = 1; node < group().size(); ++node)
                receive(vector(slot(node)), group().rank_of(node));
        } else {
            answered_ = true;
            answer_all();
        }
        return true;
    }

    void answer_all() {
        for (int node = 1; node < group().size(); ++node) {
            if (inclusive()) {
                combine(total_, slot(node));
                copy(slot(node), total_);
            } else {
                copy(spare_, total_);
                combine(total_, slot(node));
                copy(slot(node), spare_);
            }
            send(vector(slot(node)), group().rank_of(node));
        }
    }

    bool posted_ = false;    // node 0: the receives
    bool answered_ = false;  // the results are on their way
};

}  // namespace

extern AlgorithmMaker<Arguments> star = make_algorithm<Star>;

}  // namespace torusmp::collectives::scan
