// SPDX-License-Identifier: BSD-3-Clause
#include "routing/embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "routing/embedding_search.h"
#include "routing/placement.h"

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
            "the logical grid {} has {} positions, but the torus {} has {} ranks; expected equal "
            "numbers",
            extents_.empty() ? "of no dimensions" : fmt::format("{}", fmt::join(extents_, "x")),
            places == too_many ? fmt::format("more than {}", too_many - 1) : std::to_string(places),
            physical.describe(), physical.size()));
    }
    to_physical_ = find_embedding(extents_, periodic_, physical_);
    for (std::size_t i = 0; i < to_physical_.size(); ++i) to_logical_[to_physical_[i]] = int(i);
    measure();
}

void Embedding::measure() {
    const Grid grid{extents_, periodic_};
    for (std::size_t d = 0; d < extents_.size(); ++d)
        by_dimension_[d] = dilation_along(grid, int(d), to_physical_, physical_);
    dilation_ = dilation_of(grid, to_physical_, physical_);
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
