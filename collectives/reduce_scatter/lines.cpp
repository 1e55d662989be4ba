// SPDX-License-Identifier: BSD-3-Clause
// Dimension by dimension, the first dimension first: each member of a line receives the part of its
// coordinate.
#include "collectives/reduce_scatter/sums.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

class Lines final : public Sums {
  public:
    using Sums::Sums;

  private:
    bool post(int d) override {
        if (d == group().dimensions()) return false;
        const int here = group().coordinate(d);
        const int extent = group().extent(d);
        std::size_t bytes = std::size_t(extent) * bytes_of(slab(d, here));
        for (int c = 0; c < extent; ++c) bytes += bytes_of(slab(d, c));
        begin_batch(bytes);
        for (int c = 0; c < extent; ++c)
            if (c != here) receive_apart(slab(d, here), {group().line_rank(d, c)});
        for (int k = 1; k < extent; ++k) {
            const int c = (here + k) % extent;
            send_blocks(slab(d, c), {group().line_rank(d, c)});
        }
        if (d == 0) begin_sums(slab(d, here));
        return true;
    }
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::reduce_scatter
