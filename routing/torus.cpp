// SPDX-License-Identifier: BSD-3-Clause
#include "routing/torus.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <utility>

#include "base/assert.h"

namespace torusmp::routing {

namespace {

constexpr std::int64_t max_ranks = std::numeric_limits<Rank>::max();

void require(bool condition, const std::string& message) {
    if (!condition) throw std::invalid_argument(message);
}

// The largest prime factor: no split of `value` has a largest extent below it.
int largest_prime_factor(int value) {
    int largest = 1;
    for (int factor = 2; std::int64_t(factor) * factor <= value; ++factor) {
        while (value % factor == 0) {
            largest = factor;
            value /= factor;
        }
    }
    return std::max(largest, value);
}

// All divisors, ascending.
std::vector<int> divisors_of(int value) {
    std::vector<int> low, high;
    for (int d = 1; std::int64_t(d) * d <= value; ++d) {
        if (value % d != 0) continue;
        low.push_back(d);
        if (d != value / d) high.push_back(value / d);
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

bool power_reaches(int base, std::size_t exponent, int value) {
    std::int64_t power = 1;
    for (std::size_t i = 0; i < exponent && power < value; ++i) {
        if (base == 1) break;
        power *= base;
    }
    return power >= value;
}

// Fills `extents` with the split of `rest` whose largest extent is smallest, then its second
// largest, and so on. False if no split keeps every extent at or below `bound`.
bool split_evenly(int rest, int bound, std::span<const int> divisors, std::span<int> extents) {
    if (extents.size() == 1) {
        extents[0] = rest;
        return rest <= bound;
    }
    const int least = largest_prime_factor(rest);
    for (int extent : divisors) {
        if (extent > bound) return false;
        if (extent < least || rest % extent != 0) continue;
        if (!power_reaches(extent, extents.size(), rest)) continue;
        extents[0] = extent;
        if (split_evenly(rest / extent, extent, divisors, extents.subspan(1))) return true;
    }
    return false;
}

}  // namespace

Torus::Torus(std::span<const int> dims, const std::vector<bool>& periodic)
    : dimensions_(int(dims.size())) {
    require(!dims.empty() && dims.size() <= std::size_t(max_dimensions),
            fmt::format("a torus has 1 to {} dimensions, found {}", max_dimensions, dims.size()));
    require(periodic.empty() || periodic.size() == dims.size(),
            fmt::format("found {} periodic flags for {} dimensions, expected none or one each",
                        periodic.size(), dims.size()));
    std::int64_t size = 1;
    for (int d = dimensions_ - 1; d >= 0; --d) {
        require(dims[d] >= 1, fmt::format("dimension {} of the torus has extent {}, expected 1 or "
                                          "more",
                                          d, dims[d]));
        extent_[d] = dims[d];
        stride_[d] = int(size);
        by_extent_[d] = Divisor(extent_[d]);
        by_stride_[d] = Divisor(stride_[d]);
        periodic_[d] = periodic.empty() || periodic[d];
        ahead_[d] = periodic_[d] ? dims[d] / 2 : dims[d];
        // In a ring of two both directions of traffic use the same cable: acknowledgements and
        // answers then share a cable with the data, which helps the protocols below.
        const bool two = periodic_[d] && dims[d] == 2;
        behind_[d] = two ? 1 : periodic_[d] ? (dims[d] - 1) / 2 : dims[d];
        size *= dims[d];
        require(size <= max_ranks,
                fmt::format("the torus {} has more ranks than the {} that can be numbered",
                            fmt::join(dims, "x"), max_ranks));
    }
    size_ = int(size);
}

Torus::Torus(std::shared_ptr<const Graph> graph)
    : Torus(std::vector<int>{graph->size()},
            {graph->size() > 2 && graph->distance(graph->size() - 1, 0) == 1}) {
    graph_ = std::move(graph);
}

bool Torus::turns(Rank here, Direction in, Direction out) const {
    if (!graph_) return in.dimension != out.dimension;
    return graph_->turns(*neighbour(here, in), here, *neighbour(here, out));
}

// With l = ceil(log2 divisor) and factor = ceil(2^(31+l) / divisor), the error of factor stays
// below 2^l / divisor, too little to show in a quotient of a dividend below 2^31.
Torus::Divisor::Divisor(int divisor) {
    shift = 31 + int(std::bit_width(unsigned(divisor - 1)));
    factor = ((std::uint64_t(1) << shift) + unsigned(divisor) - 1) / unsigned(divisor);
}

// The signed shortest offset along a dimension, given the direct one; + on a tie.
int Torus::shortest(int steps, int dimension) const {
    const int d = dimension;
    return steps + (steps < -behind_[d] ? extent_[d] : 0) - (steps > ahead_[d] ? extent_[d] : 0);
}

int Torus::coordinate(Rank rank, int dimension) const {
    TORUSMP_ASSERT(rank >= 0 && rank < size_, rank, size_);
    TORUSMP_ASSERT(dimension >= 0 && dimension < dimensions_, dimension, dimensions_);
    const int above = by_stride_[dimension].divide(rank);
    return above - by_extent_[dimension].divide(above) * extent_[dimension];
}

Coordinates Torus::coordinates(Rank rank) const {
    TORUSMP_ASSERT(rank >= 0 && rank < size_, rank, size_);
    Coordinates result{};
    for (int d = 0; d < dimensions_ - 1; ++d) {
        result[d] = by_stride_[d].divide(rank);
        rank -= result[d] * stride_[d];
    }
    result[dimensions_ - 1] = rank;  // its stride is 1
    return result;
}

Rank Torus::rank(const Coordinates& coordinates) const {
    Rank result = 0;
    for (int d = 0; d < dimensions_; ++d) result += coordinates[d] * stride_[d];
    return result;
}

std::optional<Rank> Torus::neighbour(Rank from, Direction direction) const {
    if (graph_) return graph_->neighbour(from, direction);
    const int d = direction.dimension;
    if (d < 0 || d >= dimensions_ || extent_[d] == 1) return std::nullopt;
    const int at = coordinate(from, d);
    const bool at_edge = direction.sign > 0 ? at == extent_[d] - 1 : at == 0;
    if (!at_edge) return from + direction.sign * stride_[d];
    if (!periodic_[d]) return std::nullopt;
    return from - direction.sign * (extent_[d] - 1) * stride_[d];
}

int Torus::offset(Rank from, Rank to, int dimension) const {
    return shortest(coordinate(to, dimension) - coordinate(from, dimension), dimension);
}

int Torus::distance(Rank from, Rank to) const {
    if (graph_) return graph_->distance(from, to);
    const Coordinates a = coordinates(from), b = coordinates(to);
    int steps = 0;
    for (int d = 0; d < dimensions_; ++d) steps += std::abs(shortest(b[d] - a[d], d));
    return steps;
}

std::optional<Hop> Torus::next_hop(Rank from, Rank to) const {
    if (graph_) return graph_->next_hop(from, to);
    if (from == to) return std::nullopt;
    const Coordinates a = coordinates(from), b = coordinates(to);
    unsigned fewest = std::numeric_limits<unsigned>::max();
    int way = 0, chosen = 0;
    for (int d = 0; d < dimensions_; ++d) {
        const int steps = shortest(b[d] - a[d], d);
        // Unsigned, less one, so that zero remaining steps count as the maximum.
        const unsigned remaining = unsigned(std::abs(steps)) - 1;
        const bool fewer = remaining < fewest;
        fewest = fewer ? remaining : fewest;
        chosen = fewer ? d : chosen;
        way = fewer ? steps : way;
    }
    const Direction direction{chosen, way > 0 ? +1 : -1};
    const bool wraps = a[chosen] == (way > 0 ? extent_[chosen] - 1 : 0);
    const int step = wraps ? -direction.sign * (extent_[chosen] - 1) : direction.sign;
    return Hop{direction, from + step * stride_[chosen]};
}

std::vector<Hop> Torus::path(Rank from, Rank to) const {
    std::vector<Hop> hops;
    hops.reserve(std::size_t(distance(from, to)));
    for (auto hop = next_hop(from, to); hop; hop = next_hop(hop->rank, to)) hops.push_back(*hop);
    TORUSMP_ASSERT(hops.size() == std::size_t(distance(from, to)), from, to, hops.size(),
                   distance(from, to));
    return hops;
}

std::string Torus::describe() const {
    if (graph_)
        return fmt::format("graph of {} with {} cable{}", size_, graph_->cables().size(),
                           graph_->cables().size() == 1 ? "" : "s");
    std::string text;
    for (int d = 0; d < dimensions_; ++d) {
        text += fmt::format("{}{}{}", d ? "x" : "", extent_[d], periodic_[d] ? "" : "open");
    }
    return text;
}

std::vector<int> balanced_dims(int ranks, int dimensions) {
    require(ranks >= 1,
            fmt::format("cannot split {} ranks over a torus, expected 1 or more", ranks));
    require(dimensions >= 1, fmt::format("cannot split {} ranks over {} dimensions, expected 1 or "
                                         "more",
                                         ranks, dimensions));
    std::vector<int> extents(std::size_t(dimensions), 1);
    split_evenly(ranks, ranks, divisors_of(ranks), extents);
    return extents;
}

std::vector<int> parse_dims(const std::string& text) {
    const auto refuse = [&](const std::string& reason) {
        throw std::invalid_argument(
            fmt::format("torus dimensions \"{}\": {}; expected extents joined by x, such as 2x2x2",
                        text, reason));
    };
    if (text.empty()) refuse("the text is empty");
    std::vector<int> dims;
    std::int64_t size = 1;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('x', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        int extent = 0;
        const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
        if (part.empty()) refuse(fmt::format("extent {} is missing", dims.size() + 1));
        if (error == std::errc::result_out_of_range) refuse(fmt::format("{} is too large", part));
        if (error != std::errc() || stop != part.data() + part.size()) {
            refuse(fmt::format("\"{}\" is not a number", part));
        }
        if (extent < 1)
            refuse(fmt::format("extent {} is {}, and must be 1 or more", dims.size() + 1, extent));
        size *= extent;
        if (size > max_ranks)
            refuse(fmt::format("more ranks than the {} that can be numbered", max_ranks));
        dims.push_back(extent);
        begin = end + 1;
    }
    if (dims.size() > std::size_t(max_dimensions)) {
        refuse(
            fmt::format("{} dimensions, and a torus has at most {}", dims.size(), max_dimensions));
    }
    return dims;
}

}  // namespace torusmp::routing
