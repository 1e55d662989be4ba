// SPDX-License-Identifier: BSD-3-Clause
// Along each line, every member receives and adds all contributions: fewest steps.
#include "collectives/allreduce/line_sums.h"

namespace torusmp::collectives::allreduce {
namespace {

class Exchange final : public LineSums {
  public:
    using LineSums::LineSums;

    void start() override {
        lay(call_.bytes(), grid().longest());
        line_step_ = 0;
        gathered_ = false;
    }

  private:
    bool step() override {
        if (gathered_) {
            fold(call_.result, call_.count);
            --dimension_;
            line_step_ = 0;
        }
        gathered_ = false;
        if (dimension_ < 0) return false;
        if (grid().direct() || grid().extent(dimension_) == 2) {
            exchange_line(grid(), dimension_, {call_.result, bytes_}, [this](int coordinate) {
                return core::Buffer{slot(coordinate), bytes_};
            });
            gathered_ = true;
        } else {
            post_line_step();
            const int extent = grid().extent(dimension_);
            const int last = grid().torus().periodic(dimension_) ? extent / 2 : extent - 1;
            gathered_ = line_step_ == last;
        }
        return true;
    }

    // Step k sends to each side the contributions that came from the other side in step k - 1. So
    // everything has arrived by the shorter way round a ring after floor(extent / 2) steps, and
    // along an open line after extent - 1.
    void post_line_step() {
        const int extent = grid().extent(dimension_);
        const int here = grid().coordinate(dimension_);
        const bool ring = grid().torus().periodic(dimension_);
        const auto at = [&](int offset) { return (here + offset + 2 * extent) % extent; };
        const auto there = [&](int offset) {
            return ring || (here + offset >= 0 && here + offset < extent);
        };
        const auto contribution = [&](int c) { return c == here ? call_.result : slot(c); };
        const auto up = [&] { return grid().line_rank(dimension_, at(+1)); };
        const auto down = [&] { return grid().line_rank(dimension_, at(-1)); };

        const int k = ++line_step_;
        const bool both_ways = !ring || 2 * k != extent;
        if (there(-k)) receive({slot(at(-k)), bytes_}, down());
        if (both_ways && there(+k)) receive({slot(at(+k)), bytes_}, up());
        if (there(+1) && there(1 - k)) send({contribution(at(1 - k)), bytes_}, up());
        if (both_ways && there(-1) && there(k - 1)) send({contribution(at(k - 1)), bytes_}, down());
    }

    int line_step_ = 0;      // without direct paths: steps done along the line
    bool gathered_ = false;  // contributions of the line are complete
};

}  // namespace

extern AlgorithmMaker<Arguments> exchange = make_algorithm<Exchange>;

}  // namespace torusmp::collectives::allreduce
