// SPDX-License-Identifier: BSD-3-Clause
#include "launch/link_news.h"

#include <cstring>

namespace torusmp::launch {
namespace {

// Followed by the hops, each with the index of its direction, and the text.
struct Record {
    std::int32_t direction;
    std::int32_t peer;
    std::uint32_t state;
    std::uint32_t hops;
};

struct HopRecord {
    std::int32_t direction;
    std::int32_t rank;
};

// A longer text helps nobody.
constexpr std::size_t longest_text = 1024;

template <class T>
void append(std::vector<std::byte>& bytes, const T& value) {
    const auto view = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), view.begin(), view.end());
}

template <class T>
bool take(std::span<const std::byte>& bytes, T& value) {
    if (bytes.size() < sizeof value) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return true;
}

bool is_direction(std::int32_t index) {
    return index >= 0 && index < 2 * routing::max_dimensions;
}

}  // namespace

std::vector<std::byte> encode(const routing::LinkNews& news) {
    std::vector<std::byte> bytes;
    append(bytes, Record{news.direction.index(), news.peer, std::uint32_t(news.state),
                         std::uint32_t(news.path.size())});
    for (const routing::Hop& hop : news.path)
        append(bytes, HopRecord{hop.direction.index(), hop.rank});
    const auto text =
        std::as_bytes(std::span(news.why)).first(std::min(news.why.size(), longest_text));
    bytes.insert(bytes.end(), text.begin(), text.end());
    return bytes;
}

std::optional<routing::LinkNews> decode_link_news(std::span<const std::byte> bytes, int ranks) {
    const auto is_rank = [ranks](std::int32_t rank) { return rank >= 0 && rank < ranks; };
    Record record;
    if (!take(bytes, record) || !is_direction(record.direction) || !is_rank(record.peer) ||
        record.state > std::uint32_t(routing::LinkNews::State::alive) ||
        record.hops > bytes.size() / sizeof(HopRecord))
        return std::nullopt;
    routing::LinkNews news{.direction = routing::Direction::from_index(record.direction),
                           .peer = record.peer,
                           .state = routing::LinkNews::State(record.state),
                           .path = {},
                           .why = {}};
    for (std::uint32_t i = 0; i < record.hops; ++i) {
        HopRecord hop;
        if (!take(bytes, hop) || !is_direction(hop.direction) || !is_rank(hop.rank))
            return std::nullopt;
        news.path.push_back({routing::Direction::from_index(hop.direction), hop.rank});
    }
    if (bytes.size() > longest_text) return std::nullopt;
    news.why.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return news;
}

}  // namespace torusmp::launch
