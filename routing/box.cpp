// SPDX-License-Identifier: BSD-3-Clause
#include "routing/box.h"

#include <iterator>
#include <set>

namespace torusmp::routing {

std::optional<Box> box_of(const Torus& torus, std::span<const Rank> members) {
    Box box;
    std::size_t product = 1;
    for (int d = 0; d < torus.dimensions(); ++d) {
        std::set<int> values;
        for (const Rank rank : members) values.insert(torus.coordinates(rank)[std::size_t(d)]);
        const int extent = int(values.size());
        if (extent == 0) return std::nullopt;
        const int step = torus.extent(d) / extent;
        bool even = step * extent == torus.extent(d);
        for (auto value = values.begin(); std::next(value) != values.end(); ++value)
            even &= *std::next(value) == *value + step;
        box.linked &= *values.rbegin() - *values.begin() == extent - 1;
        box.extents.push_back(extent);
        box.periodic.push_back(torus.periodic(d) && even);
        product *= values.size();
    }
    if (product != members.size()) return std::nullopt;
    return box;
}

}  // namespace torusmp::routing
