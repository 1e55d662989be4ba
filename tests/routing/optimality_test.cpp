// SPDX-License-Identifier: BSD-3-Clause
// Compares the embeddings of all small grids with the best embedding, found by a plain search.
#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "routing/embedding.h"

using namespace torusmp::routing;

namespace optimality_test {
namespace {

using Dims = std::vector<int>;

struct Shape {
    Dims extents;
    std::vector<bool> periodic;
};

// Every way to write `size` as extents of 2 or more, largest first, each open or periodic. (Up to
// the order of the dimensions; and an extent of 2 is the same either way.)
std::vector<Shape> shapes_of(int size) {
    std::vector<Shape> shapes;
    Shape shape;
    const std::function<void(int, int)> extend = [&](int rest, int bound) {
        if (rest == 1) shapes.push_back(shape);
        for (int extent = std::min(rest, bound); extent > 1; --extent) {
            if (rest % extent != 0) continue;
            for (bool wraps : {true, false}) {
                if (extent == 2 && !wraps) continue;
                shape.extents.push_back(extent);
                shape.periodic.push_back(wraps);
                extend(rest / extent, extent);
                shape.extents.pop_back();
                shape.periodic.pop_back();
            }
        }
    };
    extend(size, size);
    return shapes;
}

// Tries all maps that keep logical neighbours within `reach`, and says whether there is one.
class Exhaustive {
  public:
    Exhaustive(const Torus& logical, const Torus& physical)
        : logical_(logical), physical_(physical) {
        // Each place after one of its neighbours, so that it is soon clear when it does not fit.
        for (Rank p = 0; p < logical.size(); ++p) order_.push_back(p);
        for (std::size_t k = 1; k < order_.size(); ++k) {
            const auto links = [&](Rank p) {
                int count = 0;
                for (std::size_t j = 0; j < k; ++j) count += logical.distance(order_[j], p) == 1;
                return count;
            };
            const auto best = std::max_element(order_.begin() + int(k), order_.end(),
                                               [&](Rank a, Rank b) { return links(a) < links(b); });
            std::iter_swap(order_.begin() + int(k), best);
        }
    }
    bool possible(int reach) {
        reach_ = reach;
        used_.assign(std::size_t(physical_.size()), false);
        at_.assign(std::size_t(physical_.size()), -1);
        return place(0);
    }

  private:
    bool place(std::size_t k) {
        if (k == order_.size()) return true;
        for (Rank rank = 0; rank < physical_.size(); ++rank) {
            if (used_[std::size_t(rank)] || !fits(k, rank)) continue;
            used_[std::size_t(rank)] = true;
            at_[k] = rank;
            if (place(k + 1)) return true;
            used_[std::size_t(rank)] = false;
        }
        return false;
    }
    bool fits(std::size_t k, Rank rank) const {
        for (std::size_t j = 0; j < k; ++j) {
            if (logical_.distance(order_[j], order_[k]) != 1) continue;
            if (physical_.distance(at_[j], rank) > reach_) return false;
        }
        return true;
    }

    const Torus &logical_, &physical_;
    std::vector<Rank> order_, at_;
    std::vector<bool> used_;
    int reach_ = 0;
};

}  // namespace

TEST_CASE("small grids are laid out with the least possible dilation") {
    const int size = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    for (const Shape& physical : shapes_of(size)) {
        const Torus torus(physical.extents, physical.periodic);
        for (const Shape& grid : shapes_of(size)) {
            const Torus logical(grid.extents, grid.periodic);
            const Embedding e(grid.extents, grid.periodic, torus);
            CAPTURE(e.describe());
            REQUIRE(Exhaustive(logical, torus).possible(e.dilation().maximum));
            CHECK_FALSE(Exhaustive(logical, torus).possible(e.dilation().maximum - 1));
        }
    }
}

TEST_CASE("grids of up to 16 keep all neighbours whenever any map does") {
    const int size = GENERATE(13, 14, 15, 16);
    for (const Shape& physical : shapes_of(size)) {
        const Torus torus(physical.extents, physical.periodic);
        for (const Shape& grid : shapes_of(size)) {
            const Torus logical(grid.extents, grid.periodic);
            const Embedding e(grid.extents, grid.periodic, torus);
            CAPTURE(e.describe());
            CHECK((e.dilation().maximum == 1) == Exhaustive(logical, torus).possible(1));
        }
    }
}

}  // namespace optimality_test
