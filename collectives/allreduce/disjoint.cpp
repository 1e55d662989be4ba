// SPDX-License-Identifier: BSD-3-Clause
// One stripe along each disjoint tree, up and down in segments: all links are busy.
#include "collectives/algorithm/pipeline.h"
#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {
namespace {

class Disjoint final : public AlgorithmOf<Arguments, Pipeline> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        lay_pipeline({.flow = Flow::up_and_down,
                      .trees = Routes::Trees::disjoint,
                      .root_place = group().routes().middle(),
                      .buffer = call_.result,
                      .values = call_.values,
                      .count = call_.count,
                      .operation = call_.operation});
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> disjoint = make_algorithm<Disjoint>;

}  // namespace torusmp::collectives::allreduce
