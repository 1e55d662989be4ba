// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/link_watch.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "config/geometry.h"
#include "config/network.h"

namespace torusmp::torus_run {
namespace {

using base::LinkCounters;

constexpr std::chrono::seconds interval{5};
constexpr std::chrono::seconds interval_for_loss{1};  // jobs are short
// Single packets are not reported; kernels also drop unsolicited packets.
constexpr std::uint32_t fewest_damaged = 3, packets_for_one_damaged = 1'000'000;
constexpr std::uint32_t fewest_dropped = 100, packets_for_one_dropped = 100;

bool is_news(const LinkCounters& counted) {
    const std::uint32_t dropped =
        counted[LinkCounters::rx_dropped] + counted[LinkCounters::tx_dropped];
    return (counted.damaged() >= fewest_damaged &&
            counted.damaged() > counted.packets() / packets_for_one_damaged) ||
           (dropped >= fewest_dropped && dropped > counted.packets() / packets_for_one_dropped);
}

// 0 if the device does not report its speed.
std::uint32_t megabits_of(const std::string& device) {
    std::ifstream file(fmt::format("/sys/class/net/{}/speed", device));
    std::int64_t speed = 0;
    return file >> speed && speed > 0 ? std::uint32_t(speed) : 0;
}

}  // namespace

LinkWatch::LinkWatch(const config::Settings& settings, int node) {
    const auto torus = node_torus(settings);
    if (node < 0 || !torus) return;
    devices_ = config::link_devices(settings, node);
    for (int way = 0; way < 2 * torus->link_dimensions(); ++way) {
        const auto direction = routing::Direction::from_index(way);
        const std::string device = config::link_device(settings, node, direction);
        if (device.empty() || !torus->neighbour(node, direction)) continue;
        DeviceRecord& record = watched_.emplace_back();
        record.node = node;
        record.way = way;
        std::copy_n(device.begin(), std::min(device.size(), record.name.size() - 1),
                    record.name.begin());
    }
}

void LinkWatch::add_devices(Sample& sample) {
    if (watched_.empty()) return;
    std::map<std::string, LinkCounters> now;
    try {
        now = base::read_counters();
    } catch (const std::system_error&) {
        return;
    }
    for (DeviceRecord& record : watched_) {
        const std::string name = record.name.data();
        const auto found = now.find(name);
        if (found == now.end()) continue;
        if (first_.find(name) == first_.end()) record.megabits = megabits_of(name);
        const LinkCounters counted =
            found->second.since(first_.try_emplace(name, found->second).first->second);
        record.damaged = counted.damaged();
        record.dropped = counted[LinkCounters::rx_dropped] + counted[LinkCounters::tx_dropped];
        sample.devices.push_back(record);
    }
}

std::vector<LinkTrouble> LinkWatch::look(Clock::time_point now, const RankPages* ranks) {
    if (devices_.empty() || now < next_for_loss_) return {};
    next_for_loss_ = now + interval_for_loss;
    const bool all = now >= next_;
    std::vector<LinkTrouble> news;
    try {
        if (all) news = compare(base::read_counters());
    } catch (const std::system_error&) {
    }
    try {
        look_at_connections(now, all, news);
    } catch (const std::system_error&) {
    }
    if (ranks != nullptr) look_at_frames(*ranks, news);
    return news;
}

std::map<std::string, unsigned> LinkWatch::device_indices() const {
    std::map<std::string, unsigned> indices;
    for (const std::string& device : devices_) indices[device] = if_nametoindex(device.c_str());
    return indices;
}

// A rank's session on a link counts like a connection of the kernel.
void LinkWatch::look_at_frames(const RankPages& ranks, std::vector<LinkTrouble>& news) {
    std::vector<base::TcpTraffic> now;
    for (const auto& [rank, counts] : ranks.arrivals()) {
        base::TcpTraffic& it = now.emplace_back();
        it.connection = std::uint64_t(rank) << 32 | counts.session;
        it.device = counts.device;
        it.packets = std::uint32_t(counts.packets);
        it.lost = std::uint32_t(counts.lost);
    }
    for (auto& [device, what] : loss_of_frames_.add(now, device_indices()))
        news.push_back({LinkTrouble::Kind::loss, device, what});
}

void LinkWatch::look_at_connections(Clock::time_point now, bool at_pace,
                                    std::vector<LinkTrouble>& news) {
    const std::map<std::string, unsigned> indices = device_indices();
    const std::vector<base::TcpTraffic> connections = base::read_tcp_traffic();
    for (auto& [device, what] : loss_.add(connections, indices))
        news.push_back({LinkTrouble::Kind::loss, device, what});
    if (!at_pace) return;
    next_ = now + interval;
    const auto passed =
        std::chrono::duration_cast<std::chrono::microseconds>(now - std::exchange(last_, now));
    for (LinkTrouble& trouble : compare(connections, indices, passed))
        news.push_back(std::move(trouble));
}

std::vector<LinkTrouble> LinkWatch::compare(const std::vector<base::TcpTraffic>& now,
                                            const std::map<std::string, unsigned>& indices,
                                            std::chrono::microseconds interval) {
    std::map<unsigned, LinkPace::Sent> sent;
    auto before = std::exchange(connections_, {});
    for (const base::TcpTraffic& it : now) {
        const base::TcpTraffic& was = before[it.connection];
        LinkPace::Sent& its = sent[it.device];
        its.bytes += it.bytes - was.bytes;
        its.busy += std::chrono::microseconds(it.busy - was.busy);
        connections_[it.connection] = it;
    }
    if (!std::exchange(sampled_, true)) return {};  // ignore counts from before the job
    std::map<std::string, LinkPace::Sent> by_device;
    for (const auto& [device, index] : indices)
        if (const auto found = sent.find(index); found != sent.end())
            by_device[device] = found->second;
    std::vector<LinkTrouble> news;
    for (auto& [device, what] : pace_.add(by_device, interval))
        news.push_back({LinkTrouble::Kind::slowness, device, what});
    return news;
}

std::vector<LinkTrouble> LinkWatch::compare(const std::map<std::string, LinkCounters>& now) {
    std::vector<LinkTrouble> news;
    for (const std::string& device : devices_) {
        const auto found = now.find(device);
        if (found == now.end()) continue;
        const auto before = before_.find(device);
        if (before != before_.end()) {
            const LinkCounters counted = found->second.since(before->second);
            if (is_news(counted) && reported_.insert(device).second)
                news.push_back({LinkTrouble::Kind::damage, device,
                                fmt::format("counts {} in {} packets on {}", counted.describe(),
                                            counted.packets(), device)});
        }
        before_[device] = found->second;
    }
    return news;
}

}  // namespace torusmp::torus_run
