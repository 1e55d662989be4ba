// SPDX-License-Identifier: BSD-3-Clause
#include "config/geometry.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "config/geometry_text.h"
#include "config/network.h"

namespace torusmp::config {

namespace {

std::vector<int> rank_extents(const Settings& settings) {
    std::vector<int> extents = settings[setting::dims];
    for (std::size_t d = 0; d < settings[setting::ranks_per_node].size(); ++d)
        extents[d] *= settings[setting::ranks_per_node][d];
    return extents;
}

[[noreturn]] void wrong_rank_count(const Settings& settings, std::int64_t have, int asked) {
    const std::string block = settings[setting::ranks_per_node].empty()
                                  ? std::string()
                                  : fmt::format(" x torus.ranks_per_node = {} ({})",
                                                joined(settings[setting::ranks_per_node]),
                                                settings.origin(setting::ranks_per_node).where);
    const int nodes = asked / ranks_on_a_node(settings);
    const std::string advice =
        nodes * ranks_on_a_node(settings) == asked
            ? fmt::format(
                  "set torus.dims to {} nodes, for example {}", nodes,
                  joined(routing::balanced_dims(nodes, int(settings[setting::dims].size()))))
            : "change torus.dims";
    throw ConfigError(fmt::format(
        "{}{} makes {}, but {} started, {}: start {}, or {}", cite_dims(settings), block,
        plural(have, "rank"), asked == 1 ? "1 rank is" : fmt::format("{} ranks are", asked),
        asked > have ? "more than the torus has" : "fewer than the torus has", have, advice));
}

}  // namespace

std::int64_t product(const std::vector<int>& extents) {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t(1), std::multiplies<>());
}

std::string joined(const std::vector<int>& extents) {
    return fmt::format("{}", fmt::join(extents, "x"));
}

std::string plural(std::int64_t count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string link_name(const Settings& settings, routing::Direction direction) {
    return settings[setting::cables].nodes ? std::string() : direction_name(direction);
}

std::string direction_note(const Settings& settings, routing::Direction direction) {
    const std::string name = link_name(settings, direction);
    return name.empty() ? name : fmt::format(" ({})", name);
}

std::string cite_dims(const Settings& settings) {
    return fmt::format("torus.dims = {} ({})", joined(settings[setting::dims]),
                       settings.origin(setting::dims).where);
}

const std::vector<std::string>& host_names(const Settings& settings) {
    return settings[setting::hosts].names;
}

routing::Torus rank_torus(const Settings& settings, int ranks) {
    const std::vector<bool>& periodic = settings[setting::periodic];
    if (ranks < 1 || ranks > max_ranks)
        throw ConfigError(fmt::format("found {} ranks, expected 1 to {}", ranks, max_ranks));
    if (settings[setting::dims].empty())
        return routing::Torus(routing::balanced_dims(ranks, balanced_dimensions), periodic);
    const std::vector<int> extents = rank_extents(settings);
    if (product(extents) != ranks) wrong_rank_count(settings, product(extents), ranks);
    if (const auto& nodes = settings[setting::cables].nodes)
        return routing::Torus(with_ranks(nodes, ranks_on_a_node(settings)));
    return routing::Torus(extents, periodic);
}

std::string end_of_cable(const Settings& settings, int node, routing::Direction direction) {
    const Cables& cables = settings[setting::cables];
    const std::string& host = host_names(settings)[std::size_t(node)];
    for (std::size_t i = 0; i < cables.list.size(); ++i) {
        const routing::GraphCable& cable = cables.nodes->cables()[i];
        if (cable.dimension != direction.dimension ||
            (direction.sign > 0 ? cable.from : cable.to) != node)
            continue;
        const auto& [one, other] = cables.list[i];
        return one.host == host ? one.device : other.device;
    }
    return {};
}

std::optional<routing::Torus> node_torus(const Settings& settings) {
    if (settings[setting::cables].nodes) return routing::Torus(settings[setting::cables].nodes);
    if (settings[setting::dims].empty()) return std::nullopt;
    return routing::Torus(settings[setting::dims], settings[setting::periodic]);
}

int ranks_on_a_node(const Settings& settings) {
    return int(product(settings[setting::ranks_per_node]));
}

int node_of(const Settings& settings, routing::Rank rank) {
    const std::vector<int>& dims = settings[setting::dims];
    const std::vector<int>& blocks = settings[setting::ranks_per_node];
    int node = 0;
    int stride = 1;  // of the nodes, in the current dimension
    for (std::size_t d = dims.size(); d-- > 0;) {
        const int block = blocks.empty() ? 1 : blocks[d];
        const int extent = dims[d] * block;
        node += rank % extent / block * stride;
        rank /= extent;
        stride *= dims[d];
    }
    return node;
}

}  // namespace torusmp::config
