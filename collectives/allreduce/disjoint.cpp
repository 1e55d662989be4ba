// A stripe along each disjoint tree, up and down in segments: all links busy.
#include "collectives/algorithm/pipeline.h"
#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {
namespace {

class Disjoint final : public Pipeline {
  public:
    Disjoint(Messages& messages, const Arguments& call) : Pipeline(messages), call_(call) {}

    void start() override {
        Plan plan;
        plan.flow = Flow::up_and_down;
        plan.trees = Group::Trees::disjoint;
        plan.root_place = group().middle();
        plan.buffer = call_.buffer;
        plan.values = call_.buffer;
        plan.count = call_.count;
        plan.operation = call_.operation;
        lay_pipeline(plan);
    }

  private:
    const Arguments& call_;
};

}  // namespace

std::unique_ptr<Algorithm> disjoint(Messages& messages, const Arguments& call) {
    return std::make_unique<Disjoint>(messages, call);
}

}  // namespace torusmp::collectives::allreduce
