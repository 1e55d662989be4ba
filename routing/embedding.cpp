#include "routing/embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "routing/embedding_search.h"

namespace torusmp::routing {

namespace {
constexpr std::int64_t too_many = std::int64_t(std::numeric_limits<Rank>::max()) + 1;
}

Embedding::Embedding(std::span<const int> extents, const std::vector<bool>& periodic,
                     const Torus& physical)
    : physical_(physical),
      extents_(extents.begin(), extents.end()),
      periodic_(periodic.empty() ? std::vector<bool>(extents.size(), true) : periodic),
      to_logical_(std::size_t(physical.size())),
      by_dimension_(extents.size()) {
    if (periodic_.size() != extents_.size()) {
        throw std::invalid_argument(
            fmt::format("found {} periodic flags for {} logical dimensions, expected none or one "
                        "each",
                        periodic_.size(), extents_.size()));
    }
    std::int64_t places = 1;
    for (std::size_t d = 0; d < extents_.size(); ++d) {
        if (extents_[d] < 1) {
            throw std::invalid_argument(fmt::format(
                "logical dimension {} has extent {}, expected 1 or more", d, extents_[d]));
        }
        places = std::min(places * extents_[d], too_many);
    }
    if (places != physical.size()) {
        throw std::invalid_argument(fmt::format(
            "the logical grid {} has {} places, but the torus {} has {} ranks; expected as many",
            extents_.empty() ? "of no dimensions" : fmt::format("{}", fmt::join(extents_, "x")),
            places == too_many ? fmt::format("more than {}", too_many - 1) : std::to_string(places),
            physical.describe(), physical.size()));
    }
    to_physical_ = find_embedding(extents_, periodic_, physical_);
    for (std::size_t i = 0; i < to_physical_.size(); ++i) to_logical_[to_physical_[i]] = int(i);
    measure();
}

void Embedding::measure() {
    std::int64_t all_steps = 0;
    std::int64_t stride = physical_.size();
    for (std::size_t d = 0; d < extents_.size(); ++d) {
        const int extent = extents_[d];
        stride /= extent;
        Dilation& dilation = by_dimension_[d];
        std::int64_t steps = 0;
        for (std::int64_t place = 0; place < physical_.size(); ++place) {
            const bool last = place / stride % extent == extent - 1;
            if (last && (!periodic_[d] || extent <= 2)) continue;
            const auto next = last ? place - (extent - 1) * stride : place + stride;
            const int distance = physical_.distance(to_physical_[std::size_t(place)],
                                                    to_physical_[std::size_t(next)]);
            dilation.maximum = std::max(dilation.maximum, distance);
            steps += distance;
            ++dilation.pairs;
        }
        if (dilation.pairs > 0) dilation.average = double(steps) / dilation.pairs;
        all_steps += steps;
        dilation_.maximum = std::max(dilation_.maximum, dilation.maximum);
        dilation_.pairs += dilation.pairs;
    }
    if (dilation_.pairs > 0) dilation_.average = double(all_steps) / dilation_.pairs;
}

std::string Embedding::describe() const {
    std::string grid = extents_.empty() ? "a point" : "";
    for (std::size_t d = 0; d < extents_.size(); ++d) {
        grid += fmt::format("{}{}{}", d ? "x" : "", extents_[d], periodic_[d] ? "" : "open");
    }
    std::string text =
        fmt::format("{} as {}: dilation {}", physical_.describe(), grid, dilation_.maximum);
    if (dilation_.maximum > 1) text += fmt::format(" (average {:.2f})", dilation_.average);
    return text;
}

}  // namespace torusmp::routing
