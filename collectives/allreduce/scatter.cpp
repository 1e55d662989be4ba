// SPDX-License-Identifier: BSD-3-Clause
// Each member adds one part of the vector, then the parts are gathered: fewest bytes.
#include "collectives/algorithm/part_sums.h"
#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {
namespace {

class Scatter final : public AlgorithmOf<Arguments, PartSums> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        begin_sums(*call_.grid, call_.operation, call_.values, call_.result, call_.count);
        summed_ = false;
        dimension_ = -1;
    }

  private:
    bool step() override {
        if (!summed_) {
            if (sum_lines()) return true;
            summed_ = true;
        }
        if (++dimension_ == call_.grid->dimensions()) return false;
        collect(dimension_);
        return true;
    }

    bool summed_ = false;
    int dimension_ = 0;  // the dimension along which parts are gathered
};

}  // namespace

extern AlgorithmMaker<Arguments> scatter = make_algorithm<Scatter>;

}  // namespace torusmp::collectives::allreduce
