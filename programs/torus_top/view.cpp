// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace torusmp::torus_top {

using core::WaitKind;
using core::WayCounts;
using torus_run::RankRecord;
using torus_run::RankState;

namespace {

constexpr std::size_t longest_history = 600;
// At most this many ranks are marked as those that all others wait for.
constexpr int most_slowest = 4;

std::vector<bool> flags(const std::vector<int>& numbers) {
    std::vector<bool> all;
    for (const int number : numbers) all.push_back(number != 0);
    return all;
}

double seconds(std::int64_t nanoseconds) {
    return double(nanoseconds) / 1e9;
}

}  // namespace

std::string way_name(int way) {
    if (way == core::other_ways) return "others";
    return fmt::format("{}{}", way / 2, way % 2 == 0 ? '+' : '-');
}

std::string rate_text(double rate) {
    if (rate >= 1e9) return fmt::format("{:.2f} GB/s", rate / 1e9);
    if (rate >= 1e6) return fmt::format("{:.1f} MB/s", rate / 1e6);
    if (rate >= 1e3) return fmt::format("{:.1f} kB/s", rate / 1e3);
    return fmt::format("{:.0f} B/s", rate);
}

JobView::JobView(torus_run::JobDescription job)
    : job_(std::move(job)),
      torus_(job_.dims, flags(job_.periodic)),
      ranks_(std::size_t(job_.size)),
      ways_(ranks_.size()),
      times_(ranks_.size()) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        ranks_[i].record.rank = int(i);
        ranks_[i].host = job_.hosts[std::size_t(job_.node_of[i])];
    }
}

void JobView::apply(const torus_run::Sample& sample) {
    if (++samples_ == 1) first_ = now_ = sample.now;
    const std::int64_t interval = sample.now - now_;
    now_ = sample.now;
    // A rank without news has not changed.
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        ranks_[i].cpu = ranks_[i].accesses = 0;
        times_[i].window = 0;
        for (Way& way : ways_[i]) way.before = way.counts;
    }
    for (const RankRecord& record : sample.ranks)
        if (record.rank >= 0 && record.rank < job_.size) take(record, interval);
    for (Times& times : times_)
        if (times.sampled && times.window == 0) times.until += interval;
    for (const torus_run::WayRecord& record : sample.ways) {
        if (record.rank < 0 || record.rank >= job_.size || record.way < 0 ||
            record.way >= core::page_ways || record.counts.peer >= job_.size)
            continue;
        Way& way = ways_[std::size_t(record.rank)][std::size_t(record.way)];
        way.counts = record.counts;
        if (!way.known && times_[std::size_t(record.rank)].window == 0) way.before = record.counts;
        way.known = true;
    }
    for (const torus_run::DeviceRecord& record : sample.devices)
        devices_[{record.node, record.way}] = record;
    sum_up();
}

void JobView::take(const RankRecord& record, std::int64_t interval) {
    const auto i = std::size_t(record.rank);
    RankView& rank = ranks_[i];
    Times& times = times_[i];
    if (times.sampled && interval > 0 && record.cpu >= times.cpu)
        rank.cpu = double(record.cpu - times.cpu) / double(interval);
    // The end of a quiet time is only known approximately: a short remainder of it gives no rate.
    if (times.sampled && record.at > times.at)
        times.window = std::max(record.at - times.until, interval / 4);
    const core::WindowCounts &now = record.windows, &before = rank.record.windows;
    rank.accesses = rate(record.rank, now.direct + now.sent, before.direct + before.sent);
    if (!times.sampled || times.window != 0) times.until = record.at;
    times.cpu = record.cpu;
    times.at = record.at;
    times.sampled = true;
    rank.record = record;
    rank.known = true;
}

bool JobView::complete() const {
    return samples_ > 2 &&
           std::all_of(times_.begin(), times_.end(), [](const Times& it) { return it.sampled; });
}

double JobView::rate(int rank, std::uint64_t now, std::uint64_t before) const {
    const std::int64_t window = times_[std::size_t(rank)].window;
    return window > 0 && now > before ? double(now - before) / seconds(window) : 0;
}

// The way under which the neighbour counts the same link.
std::optional<int> JobView::reverse_way(int rank, int way) const {
    const WayCounts& counts = ways_[std::size_t(rank)][std::size_t(way)].counts;
    if (way == core::other_ways || counts.peer < 0 || counts.peer >= job_.size) return std::nullopt;
    if ((counts.flags & core::way_is_link) != 0) return way ^ 1;
    const auto& theirs = ways_[std::size_t(counts.peer)];
    for (int i = 0; i < core::other_ways; ++i)
        if (theirs[std::size_t(i)].counts.peer == rank &&
            (theirs[std::size_t(i)].counts.flags & core::way_is_link) == 0)
            return i;
    return std::nullopt;
}

std::optional<LinkView> JobView::link(int rank, int number) const {
    const Way& way = ways_[std::size_t(rank)][std::size_t(number)];
    if (!way.known || way.counts.peer < 0) return std::nullopt;
    LinkView link;
    link.from = rank;
    link.to = number == core::other_ways ? -1 : int(way.counts.peer);
    link.way = number;
    link.counts = way.counts;
    const WayCounts &now = way.counts, &before = way.before;
    link.out =
        rate(rank, now.bytes_sent + now.bytes_written, before.bytes_sent + before.bytes_written);
    if (const auto back = reverse_way(rank, number)) {
        const Way& theirs = ways_[std::size_t(link.to)][std::size_t(*back)];
        link.out += rate(link.to, theirs.counts.bytes_read, theirs.before.bytes_read);
    }
    link.packets = rate(rank, now.packets_sent, before.packets_sent);
    link.messages = rate(rank, now.eager_messages + now.rendezvous_messages,
                         before.eager_messages + before.rendezvous_messages);
    link.relayed = rate(rank, now.relayed_bytes, before.relayed_bytes);
    const auto device = devices_.find({job_.node_of[std::size_t(rank)], number});
    if (link.is_link() && device != devices_.end()) {
        link.device = &device->second;
        if (device->second.megabits != 0)
            link.share = link.out * 8 / (double(device->second.megabits) * 1e6);
    }
    return link;
}

std::vector<LinkView> JobView::links() const {
    std::vector<LinkView> all;
    for (int rank = 0; rank < job_.size; ++rank)
        for (int way = 0; way < core::page_ways; ++way)
            if (auto it = link(rank, way)) all.push_back(*it);
    double most = 0;
    for (const LinkView& it : all) most = std::max(most, it.out);
    for (LinkView& it : all) {
        it.load = it.share >= 0 ? std::min(it.share, 1.0) : most > 0 ? it.out / most : 0;
        it.busiest = most > 0 && it.out == most;
    }
    return all;
}

void JobView::sum_up() {
    Totals sum;
    sum.seconds = seconds(now_ - first_);
    for (RankView& rank : ranks_) {
        rank.out = rank.in = rank.messages = 0;
        rank.slowest = rank.busiest = false;
        sum.cpu += rank.cpu;
        const RankState state = rank.record.state;
        ++(state == RankState::waiting     ? sum.waiting
           : state == RankState::computing ? sum.computing
           : state == RankState::active    ? sum.active
                                           : sum.other);
    }
    for (const LinkView& it : links()) {
        RankView& rank = ranks_[std::size_t(it.from)];
        rank.out += it.out;
        rank.messages += it.messages;
        if (it.to >= 0) ranks_[std::size_t(it.to)].in += it.out;
        sum.out += it.out;
        sum.messages += it.messages;
        sum.faults += it.faulty() ? 1 : 0;
    }
    const auto busiest =
        std::max_element(ranks_.begin(), ranks_.end(),
                         [](const RankView& a, const RankView& b) { return a.out < b.out; });
    if (busiest->out > 0) busiest->busiest = true;
    const int running = job_.size - sum.waiting - sum.other;
    if (running >= 1 && running <= most_slowest && sum.waiting > running)
        for (RankView& rank : ranks_)
            rank.slowest =
                rank.record.state == RankState::computing || rank.record.state == RankState::active;
    for (RankView& rank : ranks_)
        if (rank.record.state == RankState::stopped && sum.waiting > 0) rank.slowest = true;
    if (samples_ == 1) history_.clear();
    history_.push_back(sum);
    if (history_.size() > longest_history) history_.pop_front();
}

double JobView::seconds_in_state(const RankView& rank) const {
    return rank.record.since == 0 ? 0 : std::max(0.0, seconds(now_ - rank.record.since));
}

std::string JobView::describe(const RankView& rank) const {
    const RankRecord& it = rank.record;
    const std::string since = base::describe_duration(seconds_in_state(rank));
    if (it.state == RankState::computing) return fmt::format("computes, in no call for {}", since);
    if (it.state == RankState::stopped) return fmt::format("stopped for {}", since);
    if (it.state != RankState::waiting) return torus_run::name_of(it.state);
    const std::string peer = it.peer >= 0 ? fmt::format("rank {}", it.peer) : "any rank";
    const std::string tag = it.tag >= 0 ? fmt::format(", tag {}", it.tag) : "";
    const std::string bytes = base::describe_size(it.bytes);
    std::string what;
    switch (it.wait) {
        case WaitKind::receive:
            what = fmt::format("a message of up to {} from {}{}", bytes, peer, tag);
            break;
        case WaitKind::arriving:
            what = fmt::format("the rest of {} from {}{}", bytes, peer, tag);
            break;
        case WaitKind::send:
            what = fmt::format("{} to receive {}{}", peer, bytes, tag);
            break;
        case WaitKind::sending:
            what = fmt::format("{} in transit to {}{}", bytes, peer, tag);
            break;
        case WaitKind::credit:
            what = fmt::format("a credit for {} to {}{}", bytes, peer, tag);
            break;
        case WaitKind::access:
            what = it.detail[0] != 0 ? base::printable(it.detail.data(), it.detail.size())
                                     : fmt::format("{}, for a window", peer);
            break;
        default:
            what = base::printable(it.detail.data(), it.detail.size());
    }
    return fmt::format("waits {} in {}{}{}", since, base::printable(it.call.data(), it.call.size()),
                       what.empty() ? "" : ": ", what);
}

}  // namespace torusmp::torus_top
