// SPDX-License-Identifier: BSD-3-Clause
#include "routing/placement.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "routing/box.h"

namespace torusmp::routing {
namespace {

using Ranks = std::vector<Rank>;

// A torus looks the same from everywhere and an open line from both its ends, so the whole map can
// be shifted: place 0 moves to `target` if possible.
void bring_first_to(Rank target, Ranks& found, const Torus& torus) {
    const auto from = torus.coordinates(found[0]);
    const auto to = torus.coordinates(target);
    for (Rank& rank : found) {
        auto c = torus.coordinates(rank);
        for (int d = 0; d < torus.dimensions(); ++d) {
            const auto i = std::size_t(d);
            const int extent = torus.extent(d);
            if (torus.periodic(d))
                c[i] = (c[i] - from[i] + to[i] + extent) % extent;
            else if (from[i] == extent - 1 - to[i])
                c[i] = from[i] == to[i] ? c[i] : extent - 1 - c[i];
        }
        rank = torus.rank(c);
    }
}

// Boxes inside the candidates' box that hold `places` ranks, from the corner of the lowest rank.
void collect_boxes(const Box& around, std::int64_t places, std::vector<int>& extents,
                   std::vector<std::vector<int>>& found) {
    const std::size_t d = extents.size();
    if (d == around.extents.size()) {
        if (places == 1) found.push_back(extents);
        return;
    }
    for (int extent = around.extents[d]; extent >= 1; --extent) {
        if (places % extent != 0) continue;
        extents.push_back(extent);
        collect_boxes(around, places / extent, extents, found);
        extents.pop_back();
    }
}

// The sorted candidates, which fill `around`, that lie inside the smaller box.
Ranks inside(const Ranks& sorted, const Box& around, const std::vector<int>& extents) {
    Ranks ranks;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        bool in = true;
        std::size_t rest = i;
        for (std::size_t d = extents.size(); d-- > 0; rest /= std::size_t(around.extents[d]))
            in &= int(rest % std::size_t(around.extents[d])) < extents[d];
        if (in) ranks.push_back(sorted[i]);
    }
    return ranks;
}

std::vector<Traffic> edges_of(const Grid& grid) {
    std::vector<Traffic> edges;
    const int places = int(grid.places());
    int stride = 1;
    for (std::size_t d = grid.extents.size(); d-- > 0; stride *= grid.extents[d]) {
        const int extent = grid.extents[d];
        for (int place = 0; place < places; ++place) {
            const int c = place / stride % extent;
            if (c + 1 < extent)
                edges.push_back({place, place + stride});
            else if (grid.periodic[d] && extent > 2)
                edges.push_back({place, place - c * stride});
        }
    }
    return edges;
}

}  // namespace

std::int64_t Grid::places() const {
    std::int64_t product = 1;
    for (const int extent : extents)
        if (__builtin_mul_overflow(product, extent, &product))
            return std::numeric_limits<std::int64_t>::max();
    return product;
}

Dilation dilation_along(const Grid& grid, int dimension, std::span<const Rank> ranks,
                        const Torus& machine) {
    Dilation dilation;
    const auto d = std::size_t(dimension);
    const std::size_t extent = std::size_t(grid.extents[d]);
    std::size_t stride = 1;
    for (std::size_t i = d + 1; i < grid.extents.size(); ++i)
        stride *= std::size_t(grid.extents[i]);
    std::int64_t steps = 0;
    for (std::size_t place = 0; place < ranks.size(); ++place) {
        const bool last = place / stride % extent == extent - 1;
        if (last && (!grid.periodic[d] || extent <= 2)) continue;
        const std::size_t next = last ? place - (extent - 1) * stride : place + stride;
        const int distance = machine.distance(ranks[place], ranks[next]);
        dilation.maximum = std::max(dilation.maximum, distance);
        steps += distance;
        ++dilation.pairs;
    }
    if (dilation.pairs > 0) dilation.average = double(steps) / dilation.pairs;
    return dilation;
}

Dilation dilation_of(const Grid& grid, std::span<const Rank> ranks, const Torus& machine) {
    Dilation all;
    double steps = 0;
    for (std::size_t d = 0; d < grid.extents.size(); ++d) {
        const Dilation one = dilation_along(grid, int(d), ranks, machine);
        all.maximum = std::max(all.maximum, one.maximum);
        all.pairs += one.pairs;
        steps += one.average * one.pairs;
    }
    if (all.pairs > 0) all.average = steps / all.pairs;
    return all;
}

bool closer(const Dilation& a, const Dilation& b) {
    return a.maximum != b.maximum ? a.maximum < b.maximum : a.average < b.average - 1e-9;
}

std::optional<Ranks> place_closer(const Grid& grid, std::span<const Rank> ranks,
                                  const Torus& machine, bool first_may_move) {
    const Dilation now = dilation_of(grid, ranks, machine);
    if (now.maximum <= 1) return std::nullopt;
    const auto box = box_of(machine, ranks);
    if (!box) return std::nullopt;
    Ranks sorted(ranks.begin(), ranks.end());
    std::sort(sorted.begin(), sorted.end());
    const auto on_machine = [&](Ranks in_box) {
        for (Rank& rank : in_box) rank = sorted[std::size_t(rank)];
        return in_box;
    };
    const Torus torus(box->extents, box->periodic);
    const Embedding embedding(grid.extents, grid.periodic, torus);
    Ranks found = embedding.to_physical();
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), ranks[0]) - sorted.begin();
    bring_first_to(Rank(first), found, torus);
    // One step in a box may be several on the machine, so the result is measured again.
    found = on_machine(std::move(found));
    if (found[0] == ranks[0] && closer(dilation_of(grid, found, machine), now)) return found;
    if (!first_may_move) return std::nullopt;
    found = on_machine(embedding.to_physical());
    if (closer(dilation_of(grid, found, machine), now)) return found;
    return std::nullopt;
}

Ranks place_grid(const Grid& grid, std::span<const Rank> candidates, const Torus& machine) {
    const std::int64_t places = grid.places();
    if (places < 1 || places > std::int64_t(candidates.size()))
        throw std::invalid_argument("a grid with more positions than ranks");
    Ranks best(candidates.begin(), candidates.begin() + places);
    Dilation least = dilation_of(grid, best, machine);
    const auto weigh = [&](Ranks ranks) {
        const Dilation dilation = dilation_of(grid, ranks, machine);
        if (!closer(dilation, least)) return;
        best = std::move(ranks);
        least = dilation;
    };
    if (const auto found = place_closer(grid, best, machine, true)) weigh(*found);
    if (least.maximum <= 1) return best;

    // Other members of the communicator may fit better, if some are left over.
    const auto box = box_of(machine, candidates);
    if (box && places < std::int64_t(candidates.size())) {
        Ranks sorted(candidates.begin(), candidates.end());
        std::sort(sorted.begin(), sorted.end());
        std::vector<int> extents;
        std::vector<std::vector<int>> boxes;
        collect_boxes(*box, places, extents, boxes);
        for (const auto& small : boxes) {
            Ranks ranks = inside(sorted, *box, small);
            if (auto found = place_closer(grid, ranks, machine, true)) weigh(std::move(*found));
            weigh(std::move(ranks));
            if (least.maximum <= 1) return best;
        }
    }
    if (!box || places < std::int64_t(candidates.size()))
        weigh(place_graph(int(places), edges_of(grid), candidates, machine));
    return best;
}

}  // namespace torusmp::routing
