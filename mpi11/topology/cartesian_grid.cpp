// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/topology/cartesian_grid.h"

#include <algorithm>
#include <functional>
#include <limits>
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

// Compares extents, sorted with the largest first: they are more even if they differ less, then if
// the smallest is larger, then the next one, and so on. Other implementations fill dims by the same
// rule.
bool more_even(const std::vector<int>& a, const std::vector<int>& b) {
    const int one = a.front() - a.back(), other = b.front() - b.back();
    if (one != other) return one < other;
    return std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
}

// The most even product of `count` factors, searched from the smallest factor up.
class EvenFactors {
  public:
    EvenFactors(int product, int count) : best_(routing::balanced_dims(product, count)) {
        for (int i = 1; std::int64_t{i} * i <= product; ++i) {
            if (product % i != 0) continue;
            divisors_.push_back(i);
            if (i != product / i) divisors_.push_back(product / i);
        }
        std::sort(divisors_.begin(), divisors_.end());
        // Larger smallest factors are tried first: among equal spreads they win.
        for (auto smallest = divisors_.rbegin(); smallest != divisors_.rend(); ++smallest) {
            if (power(*smallest, count) > product) continue;
            chosen_.assign(1, *smallest);
            extend(product / *smallest, count - 1);
        }
    }
    const std::vector<int>& found() const { return best_; }

  private:
    static std::int64_t power(std::int64_t base, int exponent) {
        std::int64_t result = 1;
        for (int i = 0; i < exponent && result <= std::numeric_limits<int>::max(); ++i)
            result *= base;
        return result;
    }
    void extend(int rest, int count) {
        if (count == 0) {
            if (rest != 1) return;
            std::vector<int> found(chosen_.rbegin(), chosen_.rend());
            if (more_even(found, best_)) best_ = std::move(found);
            return;
        }
        const auto first = std::lower_bound(divisors_.begin(), divisors_.end(), chosen_.back());
        for (auto factor = first; factor != divisors_.end(); ++factor) {
            const int spread = best_.front() - best_.back();
            if (*factor - chosen_.front() > spread || power(*factor, count) > rest) return;
            if (rest % *factor != 0 || power(chosen_.front() + spread, count) < rest) continue;
            chosen_.push_back(*factor);
            extend(rest / *factor, count - 1);
            chosen_.pop_back();
        }
    }

    std::vector<int> divisors_;
    std::vector<int> chosen_;  // smallest first
    std::vector<int> best_;    // largest first
};

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
    std::vector<int> filling = EvenFactors(int(nodes / given), open).found();
    std::vector<int> own = shape(machine);
    if (given == 1 && int(own.size()) <= open) {
        own.resize(std::size_t(open), 1);
        const auto product = std::accumulate(own.begin(), own.end(), std::int64_t{1},
                                             [](std::int64_t a, int b) { return a * b; });
        if (product == nodes && !more_even(filling, own)) filling = std::move(own);
    }
    auto next = filling.begin();
    for (int& extent : dims)
        if (extent == 0) extent = *next++;
    return true;
}

}  // namespace torusmp::mpi
