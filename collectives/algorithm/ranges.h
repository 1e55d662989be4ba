// SPDX-License-Identifier: BSD-3-Clause
// The parts of a vector that members own while a collective has it scattered over them.
//
// Dimension by dimension, starting with the last, the range that a member owns is cut into one part
// for each member of its line; in the end each member owns one part of the whole. Used by the
// algorithm `scatter` of allreduce and reduce (reduce-scatter, then gather) and of broadcast.
#pragma once

#include <array>
#include <cstddef>

#include "collectives/group/group.h"

namespace torusmp::collectives {

struct Range {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t size() const { return to - from; }
    // Part j of n; sizes differ by at most one.
    Range part(int j, int n) const {
        return {from + size() * std::size_t(j) / std::size_t(n),
                from + size() * std::size_t(j + 1) / std::size_t(n)};
    }
};

class Ranges {
  public:
    void cut(const Group& group, std::size_t elements) {
        Range range{0, elements};
        for (int d = group.dimensions(); d-- > 0;) {
            before_[std::size_t(d)] = range;
            range = range.part(group.coordinate(d), group.extent(d));
        }
    }
    // The range that the member at a place owns in the end.
    static Range owned(const Group& group, int place, std::size_t elements) {
        Range range{0, elements};
        for (int d = group.dimensions(); d-- > 0;)
            range = range.part(group.coordinate(place, d), group.extent(d));
        return range;
    }
    // The range that all members of the line along the dimension own together before it is cut
    // there.
    Range line(int dimension) const { return before_[std::size_t(dimension)]; }

  private:
    std::array<Range, routing::max_dimensions> before_{};
};

}  // namespace torusmp::collectives
