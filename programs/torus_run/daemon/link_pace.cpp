// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/link_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace torusmp::torus_run {
namespace {

constexpr double slow = 0.4;  // as a share of the other links' rate
constexpr int intervals_of_slowness = 3;
// in an interval; smaller amounts are not significant
constexpr std::uint64_t fewest_bytes = 4u << 20;
constexpr int busy_part = 5;  // a limiting link is busy for at least this fraction of the time
// A link that holds the others up is busy for as long as they are. One that has little to send is
// not, and looks slow: it waits for acknowledgments, which the kernel delays.
constexpr double as_long = 0.8;
constexpr std::size_t fewest_others = 2;

double rate(const LinkPace::Sent& sent) {  // MB/s
    return double(sent.bytes) / double(std::max<std::int64_t>(sent.busy.count(), 1));
}

std::string megabytes(double rate) {
    return fmt::format("{:.{}f} MB/s", rate, rate < 10 ? 1 : 0);
}

// The median rate of the others; nothing if too few of them have sent enough data.
std::optional<double> others(const std::map<std::string, LinkPace::Sent>& sent,
                             const std::string& device) {
    std::vector<double> rates;
    for (const auto& [other, its] : sent)
        if (other != device && its.bytes >= fewest_bytes) rates.push_back(rate(its));
    if (rates.size() < fewest_others) return std::nullopt;
    const auto middle = rates.begin() + std::ptrdiff_t((rates.size() - 1) / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    return *middle;
}

std::chrono::microseconds longest_busy(const std::map<std::string, LinkPace::Sent>& sent) {
    std::chrono::microseconds longest{};
    for (const auto& [device, its] : sent) longest = std::max(longest, its.busy);
    return longest;
}

}  // namespace

std::map<std::string, std::string> LinkPace::add(const std::map<std::string, Sent>& sent,
                                                 std::chrono::microseconds interval) {
    std::map<std::string, std::string> news;
    const auto longest = as_long * longest_busy(sent);
    for (const auto& [device, its] : sent) {
        const auto usual = others(sent, device);
        const bool is_slow = usual && its.bytes >= fewest_bytes &&
                             its.busy * busy_part >= interval && its.busy >= longest &&
                             rate(its) < slow * *usual;
        int& times = slow_for_[device];
        times = is_slow ? times + 1 : 0;
        if (times >= intervals_of_slowness && reported_.insert(device).second)
            news[device] = fmt::format("sends {} over {}, {} over its other links",
                                       megabytes(rate(its)), device, megabytes(*usual));
    }
    return news;
}

}  // namespace torusmp::torus_run
