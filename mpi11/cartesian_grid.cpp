#include "mpi11/cartesian_grid.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "routing/torus.h"

namespace torusmp::mpi {

CartesianGrid::CartesianGrid(std::vector<int> extents, std::vector<bool> periodic)
    : extents_(std::move(extents)), periodic_(std::move(periodic)), strides_(extents_.size()) {
    for (std::size_t d = extents_.size(); d-- > 0; size_ *= extents_[d]) strides_[d] = size_;
}

std::optional<int> CartesianGrid::rank(std::span<const int> coordinates) const {
    int rank = 0;
    for (int d = 0; d < dimensions(); ++d) {
        int c = coordinates[std::size_t(d)];
        if (c < 0 || c >= extent(d)) {
            if (!periodic(d)) return std::nullopt;
            c %= extent(d);
            if (c < 0) c += extent(d);
        }
        rank += c * strides_[std::size_t(d)];
    }
    return rank;
}

std::optional<int> CartesianGrid::step(int rank, int dimension, std::int64_t steps) const {
    const int here = coordinate(rank, dimension);
    std::int64_t there = here + steps;
    if (there < 0 || there >= extent(dimension)) {
        if (!periodic(dimension)) return std::nullopt;
        there %= extent(dimension);
        if (there < 0) there += extent(dimension);
    }
    return rank + (int(there) - here) * strides_[std::size_t(dimension)];
}

CartesianGrid::Part CartesianGrid::part(int rank, const std::vector<bool>& kept) const {
    Part part;
    for (int d = 0; d < dimensions(); ++d) {
        int& number = kept[std::size_t(d)] ? part.rank : part.color;
        number = number * extent(d) + coordinate(rank, d);
        if (!kept[std::size_t(d)]) continue;
        part.extents.push_back(extent(d));
        part.periodic.push_back(periodic(d));
    }
    return part;
}

namespace {

// The extents above 1, largest first.
std::vector<int> shape(std::span<const int> extents) {
    std::vector<int> found;
    std::copy_if(extents.begin(), extents.end(), std::back_inserter(found),
                 [](int extent) { return extent > 1; });
    std::sort(found.begin(), found.end(), std::greater<>());
    return found;
}

// Less is more even: the spread, then the sum.
std::pair<int, int> unevenness(const std::vector<int>& extents) {
    return {extents.front() - extents.back(), std::accumulate(extents.begin(), extents.end(), 0)};
}

}  // namespace

bool fill_dims(int nodes, std::span<int> dims, std::span<const int> machine) {
    std::int64_t given = 1;
    int open = 0;
    for (const int extent : dims) {
        if (extent == 0)
            ++open;
        else if (__builtin_mul_overflow(given, extent, &given) || given > nodes)
            return false;
    }
    if (nodes % given != 0 || (open == 0 && given != nodes)) return false;
    if (open == 0) return true;
    std::vector<int> filling = routing::balanced_dims(int(nodes / given), open);
    std::vector<int> own = shape(machine);
    if (given == 1 && int(own.size()) <= open) {
        own.resize(std::size_t(open), 1);
        const auto product = std::accumulate(own.begin(), own.end(), std::int64_t{1},
                                             [](std::int64_t a, int b) { return a * b; });
        if (product == nodes && unevenness(own) <= unevenness(filling)) filling = std::move(own);
    }
    auto next = filling.begin();
    for (int& extent : dims)
        if (extent == 0) extent = *next++;
    return true;
}

}  // namespace torusmp::mpi
