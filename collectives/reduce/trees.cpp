// SPDX-License-Identifier: BSD-3-Clause
// Up trees in segments, which are added on the way. tree: from neighbour to neighbour, dimension by
// dimension. disjoint: one stripe up each disjoint tree, all links busy.
#include "collectives/algorithm/pipeline.h"
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

template <Routes::Trees trees>
class Up final : public AlgorithmOf<Arguments, Pipeline> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        lay_pipeline({.flow = Flow::up,
                      .trees = trees,
                      .root_place = group().place_of(call_.root),
                      .buffer = call_.result,
                      .values = call_.values,
                      .count = call_.count,
                      .operation = call_.operation});
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> tree = make_algorithm<Up<Routes::Trees::dimension_ordered>>;
extern AlgorithmMaker<Arguments> disjoint = make_algorithm<Up<Routes::Trees::disjoint>>;

}  // namespace torusmp::collectives::reduce
