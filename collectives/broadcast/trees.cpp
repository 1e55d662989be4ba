// SPDX-License-Identifier: BSD-3-Clause
// Down trees in segments. tree: from neighbour to neighbour, dimension by dimension; each link
// carries the vector once. disjoint: one stripe along each disjoint tree, all links busy.
#include "collectives/algorithm/pipeline.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {
namespace {

template <Routes::Trees trees>
class Down final : public AlgorithmOf<Arguments, Pipeline> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        lay_pipeline({.flow = Flow::down,
                      .trees = trees,
                      .root_place = group().place_of(call_.root),
                      .buffer = call_.buffer,
                      .count = call_.bytes});
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> tree = make_algorithm<Down<Routes::Trees::dimension_ordered>>;
extern AlgorithmMaker<Arguments> disjoint = make_algorithm<Down<Routes::Trees::disjoint>>;

}  // namespace torusmp::collectives::broadcast
