// SPDX-License-Identifier: BSD-3-Clause
#include "launch/link_news.h"

#include <algorithm>
#include <string_view>

#include "base/packing.h"

namespace torusmp::launch {
namespace {

struct HopRecord {
    std::int32_t direction;
    std::int32_t rank;
};

// Longer texts are cut by encode(), and rejected when decoded.
constexpr std::size_t longest_text = 1024;

bool is_direction(std::int32_t index) {
    return index >= 0 && index < 2 * routing::max_dimensions;
}

routing::LinkNews unpack(std::span<const std::byte> bytes, int ranks) {
    const auto is_rank = [ranks](std::int32_t rank) { return rank >= 0 && rank < ranks; };
    base::Unpacker unpacker(bytes);
    const auto direction = unpacker.get<std::int32_t>(), peer = unpacker.get<std::int32_t>();
    const auto state = unpacker.get<std::uint32_t>();
    const auto hops = unpacker.records<HopRecord>();
    std::string why = unpacker.text();
    if (!is_direction(direction) || !is_rank(peer) ||
        state > std::uint32_t(routing::LinkNews::State::alive) || why.size() > longest_text ||
        !unpacker.rest().empty())
        throw base::PackingError();
    routing::LinkNews news{.direction = routing::Direction::from_index(direction),
                           .peer = peer,
                           .state = routing::LinkNews::State(state),
                           .path = {},
                           .why = std::move(why)};
    for (const HopRecord& hop : hops) {
        if (!is_direction(hop.direction) || !is_rank(hop.rank)) throw base::PackingError();
        news.path.push_back({routing::Direction::from_index(hop.direction), hop.rank});
    }
    return news;
}

}  // namespace

std::vector<std::byte> encode(const routing::LinkNews& news) {
    std::vector<HopRecord> hops;
    for (const routing::Hop& hop : news.path) hops.push_back({hop.direction.index(), hop.rank});
    base::Packer packer;
    packer.add(std::int32_t(news.direction.index())).add(std::int32_t(news.peer));
    packer.add(std::uint32_t(news.state)).add(std::uint64_t(hops.size()));
    packer.append(std::as_bytes(std::span(hops)));
    packer.add(std::string_view(news.why).substr(0, longest_text));
    return packer.take();
}

std::optional<routing::LinkNews> decode_link_news(std::span<const std::byte> bytes, int ranks) {
    try {
        return unpack(bytes, ranks);
    } catch (const base::PackingError&) {
        return std::nullopt;
    }
}

}  // namespace torusmp::launch
