// SPDX-License-Identifier: BSD-3-Clause
#include "config/check.h"

#include <fmt/format.h>

#include <cstdint>

#include "config/check_parts.h"
#include "config/geometry.h"
#include "config/geometry_text.h"
#include "config/living.h"

namespace torusmp::config {

namespace check {

[[noreturn]] void refuse_at(const std::string& where, const std::string& message) {
    throw ConfigError(where + ": " + message);
}

[[noreturn]] void refuse(const Settings& settings, const AnySetting& setting,
                         const std::string& message) {
    refuse_at(settings.origin(setting).where, message);
}

std::string locate(const Locations& locations, const Origin& origin, const std::string& part) {
    const auto found = locations.find(part);
    return origin.kind == Origin::Kind::file && found != locations.end() ? found->second
                                                                         : origin.where;
}

void need_dims(const Settings& settings, const AnySetting& setting, std::string_view name,
               const std::string& advice) {
    if (settings[setting::dims].empty())
        refuse(settings, setting,
               fmt::format("{} needs torus.dims, which is not set: {}", name, advice));
}

}  // namespace check

namespace {

using check::need_dims;
using check::refuse;

void check_lengths(const Settings& settings) {
    const std::size_t dimensions =
        settings[setting::dims].empty() ? balanced_dimensions : settings[setting::dims].size();
    const std::string reason = settings[setting::dims].empty()
                                   ? "a balanced torus (torus.dims is not set)"
                                   : cite_dims(settings);
    const auto check = [&](const auto& setting) {
        const auto& value = settings[setting];
        if (!value.empty() && value.size() != dimensions)
            refuse(
                settings, setting,
                fmt::format("{} has {}: expected {}, one for each dimension of {}", setting.key(),
                            plural(std::int64_t(value.size()), "value"), dimensions, reason));
    };
    check(setting::periodic);
    if (!settings[setting::ranks_per_node].empty())
        need_dims(settings, setting::ranks_per_node, "torus.ranks_per_node",
                  "it splits each node of a torus");
    check(setting::ranks_per_node);
    if (product(settings[setting::dims]) * product(settings[setting::ranks_per_node]) > max_ranks)
        refuse(
            settings, setting::ranks_per_node,
            fmt::format("torus.ranks_per_node = {} with {} makes more than {} ranks",
                        joined(settings[setting::ranks_per_node]), cite_dims(settings), max_ranks));
}

}  // namespace

void complete(Settings& settings, const Locations& locations) {
    check::complete_cables(settings, locations);
    check_lengths(settings);
    check::complete_hosts(settings, locations);
    check_spares(settings);
    check::check_links(settings, locations);
}

}  // namespace torusmp::config
