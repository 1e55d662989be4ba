// SPDX-License-Identifier: BSD-3-Clause
// The links that are reported as slow while a job runs, found from random intervals.
#include "programs/torus_run/daemon/link_pace.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using torusmp::torus_run::LinkPace;
using namespace std::chrono_literals;
using std::chrono::microseconds;

namespace link_pace_test {
namespace {

constexpr auto interval = 5s;

// Six links of a host that exchanges as much over each as the slowest of them carries; how long
// each is busy follows from its rate.
struct Host {
    explicit Host(unsigned seed) : random(seed) {}

    double draw(double from, double to) {
        return std::uniform_real_distribution<double>(from, to)(random);
    }
    std::map<std::string, LinkPace::Sent> interval_of(double load) {
        double slowest = 1e9;
        for (const auto& [device, rate] : rates) slowest = std::min(slowest, rate);
        std::map<std::string, LinkPace::Sent> sent;
        for (const auto& [device, rate] : rates) {
            const double bytes = slowest * 1e6 * 5 * load * draw(0.9, 1.1);
            const double seconds = bytes / (rate * 1e6) * draw(0.8, 1.3);
            sent[device] = {std::uint64_t(bytes), microseconds(std::int64_t(seconds * 1e6))};
        }
        return sent;
    }

    std::map<std::string, double> rates{{"d0p", 100}, {"d0m", 100}, {"d1p", 100},
                                        {"d1m", 100}, {"d2p", 100}, {"d2m", 100}};  // MB/s
    std::mt19937 random;
};

// The devices reported in a number of intervals, once per report.
std::multiset<std::string> reports(Host& host, int intervals, double load) {
    LinkPace pace;
    std::multiset<std::string> devices;
    for (int i = 0; i < intervals; ++i)
        for (const auto& [device, what] : pace.add(host.interval_of(load), interval))
            devices.insert(device);
    return devices;
}

}  // namespace

// A slow link that a slower one holds up is busy for little of the time, and may not be noticed.
TEST_CASE("Slow links: each link that delays the others is reported once, and no other link") {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        INFO("seed " << seed);
        Host host(seed);
        std::set<std::string> slow;
        for (unsigned i = 0; i < seed % 3; ++i) {
            const auto it = std::next(host.rates.begin(), long(host.random() % host.rates.size()));
            it->second = host.draw(1.5, 20);
            slow.insert(it->first);
        }
        const auto slowest =
            std::min_element(host.rates.begin(), host.rates.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        const auto found = reports(host, 12, 0.7);
        CHECK(found.count(slowest->first) == slow.count(slowest->first));
        for (const std::string& device : found) {
            CHECK(slow.contains(device));
            CHECK(found.count(device) == 1);
        }
    }
}

TEST_CASE("Slow links: equal links, little traffic and a short delay are not reported") {
    for (unsigned seed = 1; seed <= 100; ++seed) {
        INFO("seed " << seed);
        Host host(seed);
        const double rate = host.draw(1, 2000);
        for (auto& it : host.rates) it.second = rate * host.draw(0.7, 1);
        CHECK(reports(host, 20, host.draw(0, 1)).empty());
        // Hardly anything is sent: it does not matter whether one link takes longer.
        host.rates["d1m"] = rate / 50;
        CHECK(reports(host, 20, 0.001).empty());
    }
    LinkPace pace;
    for (int i = 0; i < 30; ++i) {
        Host host(7);
        if (i % 3 != 2) host.rates["d1m"] = 2;  // two intervals of three: another job, maybe
        CHECK(pace.add(host.interval_of(0.9), interval).empty());
    }
}

TEST_CASE("Slow links: one that is busy for less time than others does not hold them up") {
    // Like node (0, 0, 1) of 3x3x2, while all ranks write to the disk of node 0 and read from it.
    LinkPace pace;
    const std::map<std::string, LinkPace::Sent> sent{{"d1p", {12'000'000, 2'400ms}},
                                                     {"d1m", {12'000'000, 2'300ms}},
                                                     {"d2p", {81'000'000, 4'500ms}},
                                                     {"d2m", {81'000'000, 4'500ms}},
                                                     {"d0p", {60'000'000, 3'200ms}}};
    for (int i = 0; i < 10; ++i) CHECK(pace.add(sent, interval).empty());
}

TEST_CASE("Slow links: two links are not compared with each other") {
    Host host(1);
    host.rates = {{"d0p", 100}, {"d0m", 2}};
    CHECK(reports(host, 10, 0.9).empty());
    host.rates["d1p"] = 100;
    CHECK(reports(host, 10, 0.9) == std::multiset<std::string>{"d0m"});
}

TEST_CASE("Slow links: a message contains both rates") {
    LinkPace pace;
    const std::map<std::string, LinkPace::Sent> sent{
        {"eth1", {20'000'000, 5s}}, {"eth2", {20'000'000, 160ms}}, {"eth3", {20'000'000, 170ms}}};
    CHECK(pace.add(sent, interval).empty());
    CHECK(pace.add(sent, interval).empty());
    CHECK(pace.add(sent, interval) ==
          std::map<std::string, std::string>{
              {"eth1", "sends 4.0 MB/s over eth1, 118 MB/s over its other links"}});
    CHECK(pace.add(sent, interval).empty());
}

}  // namespace link_pace_test
