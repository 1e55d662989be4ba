// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/speed.h"

#include <fmt/format.h>

#include <algorithm>

namespace torusmp::torus_check {

namespace {

using std::chrono::microseconds;

constexpr double promise = 0.7;     // share of the nominal speed, for headers and the start
constexpr double suspicious = 0.7;  // share of the rate of similar cables
constexpr double slow = 0.6;        // the same share, in every comparison
constexpr double fast = 5e8;
constexpr double very_slow = 0.1;
constexpr std::size_t comparisons_of_fast = 12, comparisons_of_others = 6;
constexpr std::size_t comparisons_if_far_behind = 5;
constexpr std::size_t most_comparisons = 4;  // multiplied on busy hosts
constexpr int few = 3;                       // least number of similar cables to compare with
constexpr double lossy = 0.02;  // share of retransmitted segments that explains a slow transfer
// A round trip that is longer by this is not explained by scheduling.
constexpr int late_factor = 4;
constexpr microseconds late_by{500};

double bytes_per_second(int megabits) {
    return megabits * 1e6 / 8;
}

// The median of the measured values.
Rate median(std::vector<Rate> rates) {
    std::erase_if(rates, [](const Rate& rate) { return rate.bytes_per_second <= 0; });
    if (rates.empty()) return {};
    const auto middle = rates.begin() + std::ptrdiff_t(rates.size() / 2);
    Rate found;
    std::nth_element(rates.begin(), middle, rates.end(), [](const Rate& a, const Rate& b) {
        return a.bytes_per_second < b.bytes_per_second;
    });
    found.bytes_per_second = middle->bytes_per_second;
    std::nth_element(rates.begin(), middle, rates.end(),
                     [](const Rate& a, const Rate& b) { return a.round_trip < b.round_trip; });
    found.round_trip = middle->round_trip;
    return found;
}

// Slower than most, although not the slowest: on a busy host, a few of the good cables are slow.
double slow_one_of(const std::vector<Rate>& rates) {
    std::vector<double> sorted;
    for (const Rate& rate : rates)
        if (rate.bytes_per_second > 0) sorted.push_back(rate.bytes_per_second);
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[sorted.size() * 2 / 5];
}

std::string megabytes(double bytes) {
    return fmt::format("{:.{}f} MB/s", bytes / 1e6, bytes < 1e7 ? 1 : 0);
}

double milliseconds(microseconds time) {
    return double(time.count()) / 1000;
}

}  // namespace

Speeds::Speeds(std::vector<std::optional<int>> megabits) {
    for (const auto& speed : megabits)
        for (int way = 0; way < 2; ++way) ways_.emplace_back().megabits = speed;
}

Rate Speeds::rate_of(const Pushed& pushed) {
    if (!pushed.trouble.empty() || pushed.time.count() <= 0) return {};
    return {double(pushed.bytes) * 1e6 / double(pushed.time.count()), pushed.round_trip};
}

void Speeds::improve(Rate& best, const Rate& found) {
    if (found.bytes_per_second <= 0) return;
    best.bytes_per_second = std::max(best.bytes_per_second, found.bytes_per_second);
    if (found.round_trip.count() > 0)
        best.round_trip = best.round_trip.count() > 0 ? std::min(best.round_trip, found.round_trip)
                                                      : found.round_trip;
}

void Speeds::add(Way way, const Pushed& pushed) {
    Measured& measured = ways_[way];
    measured.asked = true;
    improve(measured.best, rate_of(pushed));
    measured.trouble = measured.best.bytes_per_second > 0 ? "" : pushed.trouble;
    measured.segments += pushed.segments;
    measured.again += pushed.again;
}

void Speeds::compare(Way way, const Pushed& pushed, const Pushed& reference) {
    add(way, pushed);
    improve(ways_[way].compared, rate_of(pushed));
    ways_[way].references.push_back(rate_of(reference));
}

bool Speeds::is_nominal(Way way) const {
    const Measured& measured = ways_[way];
    return measured.megabits &&
           measured.best.bytes_per_second >= promise * bytes_per_second(*measured.megabits);
}

Rate Speeds::similar_cables(Way way) const {
    std::vector<Rate> same, all;
    for (Way other = 0; other < ways_.size(); ++other) {
        if (other / 2 == way / 2 || ways_[other].best.bytes_per_second <= 0) continue;
        all.push_back(ways_[other].best);
        if (ways_[other].megabits == ways_[way].megabits) same.push_back(ways_[other].best);
    }
    if (int(same.size()) >= few) return median(same);
    // Cables of another speed show which share of the nominal speed the hosts can use.
    Rate expected = median(all);
    if (!ways_[way].megabits || all.empty()) return expected;
    std::vector<Rate> parts;
    for (const Measured& other : ways_)
        if (&other != &ways_[way] && other.megabits && other.best.bytes_per_second > 0)
            parts.push_back({other.best.bytes_per_second / bytes_per_second(*other.megabits), {}});
    const double part = std::min(1.0, median(parts).bytes_per_second);
    expected.bytes_per_second =
        std::min(expected.bytes_per_second, part * bytes_per_second(*ways_[way].megabits));
    return expected;
}

Rate Speeds::expected(Way way) const {
    Rate expected = similar_cables(way);
    if (const auto& megabits = ways_[way].megabits)
        expected.bytes_per_second =
            std::min(expected.bytes_per_second, bytes_per_second(*megabits));
    return expected;
}

bool Speeds::behind(const Rate& found, const Rate& expected, double limit) {
    if (expected.bytes_per_second <= 0) return false;
    if (found.bytes_per_second < limit * expected.bytes_per_second) return true;
    return expected.round_trip.count() > 0 &&
           found.round_trip > late_factor * expected.round_trip + late_by;
}

std::vector<Speeds::Way> Speeds::suspects() const {
    std::vector<Way> found;
    for (Way way = 0; way < ways_.size(); ++way)
        if (ways_[way].asked && behind(ways_[way].best, expected(way), suspicious))
            found.push_back(way);
    return found;
}

std::optional<Speeds::Way> Speeds::reference(Way way) const {
    const double usual = expected(way).bytes_per_second;
    std::optional<Way> best;
    const auto worth = [&](Way other) {
        const Measured& measured = ways_[other];
        const double distance = std::abs(measured.best.bytes_per_second / usual - 1);
        return std::pair(measured.megabits != ways_[way].megabits, distance);
    };
    for (Way other = 0; other < ways_.size(); ++other) {
        if (other / 2 == way / 2 || ways_[other].best.bytes_per_second <= 0 ||
            behind(ways_[other].best, expected(other), suspicious))
            continue;
        if (!best || worth(other) < worth(*best)) best = other;
    }
    return best;
}

bool Speeds::remains_slow(Way way) const {
    const Measured& measured = ways_[way];
    if (measured.references.empty()) return false;
    const Rate known = expected(way);
    Rate beside = median(measured.references);
    beside.bytes_per_second = std::min(beside.bytes_per_second, known.bytes_per_second);
    // On a very busy host, good cables look slow as well: then the best transfer of this cable is
    // among those of the others.
    if (measured.compared.bytes_per_second >= slow * beside.bytes_per_second ||
        measured.compared.bytes_per_second < slow_one_of(measured.references))
        return behind(measured.best, known, suspicious) && behind(measured.compared, beside, slow);
    return false;
}

bool Speeds::is_open(Way way) const {
    const std::size_t made = ways_[way].references.size();
    const std::size_t usual = are_fast(way) ? comparisons_of_fast : comparisons_of_others;
    if (made > 0 && catches_up(way)) return false;
    if (made < comparisons_if_far_behind) return true;
    if (remains_slow(way)) return made < usual && !far_behind(way);
    return made < most_comparisons * usual;
}

bool Speeds::catches_up(Way way) const {
    return !behind(ways_[way].compared, expected(way), slow);
}

bool Speeds::are_fast(Way way) const {
    return expected(way).bytes_per_second > fast;
}

bool Speeds::far_behind(Way way) const {
    return ways_[way].best.bytes_per_second < very_slow * expected(way).bytes_per_second;
}

std::string Speeds::refusal(Way way) const {
    const std::string& trouble = ways_[way].trouble;
    return trouble.starts_with("cannot connect") ? trouble : std::string();
}

Rate Speeds::rate(Way way) const {
    return ways_[way].best;
}

Finding Speeds::finding(Way way, const std::string& from, const std::string& to) const {
    const Measured& measured = ways_[way];
    const std::string ends = fmt::format("from {} to {}", from, to);
    if (measured.best.bytes_per_second <= 0)
        return {Fault::slow,
                fmt::format("packets arrive {}, but transfers fail: {}", ends, measured.trouble)};
    const Rate expected = similar_cables(way);
    const std::string rates =
        fmt::format("{}, similar cables {}", megabytes(measured.compared.bytes_per_second),
                    megabytes(expected.bytes_per_second));
    if (measured.compared.bytes_per_second >= slow * this->expected(way).bytes_per_second)
        return {
            Fault::slow,
            fmt::format("a round trip {} takes {:.2f} ms, on similar cables {:.2f} ms", ends,
                        milliseconds(measured.best.round_trip), milliseconds(expected.round_trip))};
    if (measured.again > lossy * measured.segments)
        return {Fault::lossy, fmt::format("{} of {} segments had to be sent again {} ({})",
                                          measured.again, measured.segments, ends, rates)};
    return {Fault::slow, fmt::format("{} {}", rates, ends)};
}

std::string Speeds::why_nothing() const {
    std::string why;
    for (const Measured& measured : ways_) {
        if (measured.best.bytes_per_second > 0) return {};
        if (measured.asked && why.empty()) why = measured.trouble;
    }
    return why;
}

}  // namespace torusmp::torus_check
