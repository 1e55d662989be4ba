// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/link_traffic.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "bench/torus_bench/below.h"
#include "bench/torus_bench/qmp_objects.h"
#include "config/geometry.h"
#include "config/network.h"

namespace torusmp::bench {
namespace {

constexpr core::Tag tag = 1;
constexpr std::size_t most_links = 2 * routing::max_dimensions;

std::string device_of(const config::Settings& settings, int rank, routing::Direction direction) {
    return settings[config::setting::dims].empty()
               ? ""
               : config::link_device(settings, node_of(settings, rank), direction);
}

}  // namespace

LinkCounts::LinkCounts() : before_(count()) {}

std::vector<LinkCounts::Counted> LinkCounts::count() {
    std::vector<Counted> links;
    for (const auto& c : runtime().state().connections())
        if (c.link)
            links.push_back({rank(), c.link->index(), c.peer, 0,
                             c.statistics.bytes_sent + c.statistics.bytes_written,
                             c.statistics.bytes_read, c.statistics.packets_sent});
    return links;
}

std::vector<LinkTraffic> LinkCounts::gather() const {
    static_assert(std::is_trivially_copyable_v<Counted>);
    std::vector<Counted> mine = count();
    for (Counted& link : mine)
        for (const Counted& before : before_)
            if (before.direction == link.direction) {
                link.bytes -= before.bytes;
                link.read -= before.read;
                link.packets -= before.packets;
            }
    barrier();  // so that no rank counts the messages below
    if (rank() != 0) {
        send_bytes(0, tag, std::as_bytes(std::span(mine)));
        return {};
    }
    for (int other = 1; other < ranks(); ++other) {
        const auto bytes = receive_bytes(other, tag, most_links * sizeof(Counted));
        const std::size_t at = mine.size();
        mine.resize(at + bytes.size() / sizeof(Counted));
        if (mine.size() == at) continue;  // a rank without links
        std::memcpy(mine.data() + at, bytes.data(), (mine.size() - at) * sizeof(Counted));
    }
    return join_ends(mine);
}

// The bytes received on a link are those that the other end of the cable sent.
std::vector<LinkTraffic> LinkCounts::join_ends(const std::vector<Counted>& ends) {
    std::vector<LinkTraffic> links;
    for (const Counted& end : ends) {
        const auto direction = routing::Direction::from_index(end.direction);
        LinkTraffic traffic{end.rank,
                            config::direction_name(direction),
                            device_of(settings(), end.rank, direction),
                            end.peer,
                            end.bytes,
                            end.read,
                            end.packets};
        for (const Counted& there : ends)
            if (there.rank == end.peer && there.peer == end.rank &&
                there.direction == direction.opposite().index()) {
                traffic.bytes_sent += there.read;
                traffic.bytes_received += there.bytes;
            }
        links.push_back(std::move(traffic));
    }
    return links;
}

}  // namespace torusmp::bench
