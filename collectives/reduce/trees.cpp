// Up trees in segments, adding on the way. tree: from neighbour to neighbour, dimension by
// dimension. disjoint: a stripe up each disjoint tree, all links busy.
#include "collectives/algorithm/pipeline.h"
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

class Up final : public Pipeline {
  public:
    Up(Messages& messages, const Arguments& call, Group::Trees trees)
        : Pipeline(messages), call_(call), trees_(trees) {}

    void start() override {
        Plan plan;
        plan.flow = Flow::up;
        plan.trees = trees_;
        plan.root_place = group().place_of(call_.root);
        plan.buffer = call_.result;
        plan.values = call_.values;
        plan.count = call_.count;
        plan.operation = call_.operation;
        lay_pipeline(plan);
    }

  private:
    const Arguments& call_;
    const Group::Trees trees_;
};

}  // namespace

std::unique_ptr<Algorithm> tree(Messages& messages, const Arguments& call) {
    return std::make_unique<Up>(messages, call, Group::Trees::dimension_ordered);
}

std::unique_ptr<Algorithm> disjoint(Messages& messages, const Arguments& call) {
    return std::make_unique<Up>(messages, call, Group::Trees::disjoint);
}

}  // namespace torusmp::collectives::reduce
