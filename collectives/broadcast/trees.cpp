// Down trees in segments. tree: from neighbour to neighbour, dimension by dimension, each link
// carries it once. disjoint: a stripe along each disjoint tree, all links busy.
#include "collectives/algorithm/pipeline.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

class Down final : public Pipeline {
  public:
    Down(Messages& messages, const Arguments& call, Group::Trees trees)
        : Pipeline(messages), call_(call), trees_(trees) {}

    void start() override {
        Plan plan;
        plan.flow = Flow::down;
        plan.trees = trees_;
        plan.root_place = call_.root_place;
        plan.buffer = call_.buffer;
        plan.count = call_.bytes;
        lay_pipeline(plan);
    }

  private:
    const Arguments& call_;
    const Group::Trees trees_;
};

}  // namespace

std::unique_ptr<Algorithm> tree(Messages& messages, const Arguments& call) {
    return std::make_unique<Down>(messages, call, Group::Trees::dimension_ordered);
}

std::unique_ptr<Algorithm> disjoint(Messages& messages, const Arguments& call) {
    return std::make_unique<Down>(messages, call, Group::Trees::disjoint);
}

}  // namespace torusmp::collectives::broadcast
