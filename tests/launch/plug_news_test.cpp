// SPDX-License-Identifier: BSD-3-Clause
// What is said of cables that lead elsewhere while a job starts.
#include "programs/torus_run/daemon/plug_news.h"

#include <catch2/catch.hpp>

#include "config/network.h"
#include "grid.h"

namespace torusmp::torus_run::test::plug_news_test {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using config::Plug;
using config::Plugs;

// What all hosts hear, with some plugs of the grid exchanged.
class Wiring {
  public:
    explicit Wiring(const Grid& grid) : grid_(grid) {
        for (int node = 0; node < grid.torus.size(); ++node)
            for (int i = 0; i < 2 * grid.torus.dimensions(); ++i) {
                const auto direction = routing::Direction::from_index(i);
                if (const auto peer = grid.torus.neighbour(node, direction))
                    heard_[{node, config::link_device(grid.settings, node, direction)}] = {
                        *peer, config::link_device(grid.settings, *peer, direction.opposite())};
            }
    }
    void exchange(const Plug& one, const Plug& other) {
        const Plug far_one = heard_.at(one), far_other = heard_.at(other);
        heard_[one] = far_other;
        heard_[far_other] = one;
        heard_[other] = far_one;
        heard_[far_one] = other;
    }
    const Plugs& heard() const { return heard_; }
    // What daemons report: those that hear another than the expected one.
    std::optional<PlugNews::Verdict> verdict(PlugNews& news) const {
        const Plugs expected = Wiring(grid_).heard();
        const PlugNews::Clock::time_point now(1h);
        for (const auto& [here, far] : heard_)
            if (expected.at(here) != far)
                REQUIRE(news.heard(here.node,
                                   {LinkTrouble::Kind::elsewhere, here.device,
                                    fmt::format("{} {}", far.node, far.device)},
                                   now));
        CHECK_FALSE(news.due(now));
        return news.due(now + PlugNews::settling);
    }

  private:
    const Grid& grid_;
    Plugs heard_;
};

}  // namespace

TEST_CASE("Where nothing is exchanged, nothing is said of plugs") {
    const Grid grid({4, 2});
    PlugNews news(grid.settings);
    CHECK(config::find_plug_faults(grid.settings, Wiring(grid).heard()).empty());
    CHECK_FALSE(Wiring(grid).verdict(news));
    CHECK_FALSE(news.next());
}

TEST_CASE("Two exchanged devices of a host in a ring are named, and no job starts") {
    for (const int size : {3, 4, 7}) {
        const Grid grid({size});
        Wiring wiring(grid);
        wiring.exchange({0, "d0p"}, {0, "d0m"});
        PlugNews news(grid.settings);
        const auto verdict = wiring.verdict(news);
        REQUIRE(verdict);
        CHECK(verdict->cables.size() == 2);
        CHECK_THAT(verdict->refusal, StartsWith("the devices d0m and d0p of n0 are exchanged: ") &&
                                         Contains("exchange the two plugs") &&
                                         Contains("MAC addresses") && Contains("n0 on one side"));
        CHECK_FALSE(news.due(PlugNews::Clock::time_point(9h)));  // once
    }
}

TEST_CASE("In a ring of two the exchange is that of one of the hosts") {
    const Grid grid({2});
    Wiring wiring(grid);
    wiring.exchange({1, "d0p"}, {1, "d0m"});
    PlugNews news(grid.settings);
    const auto verdict = wiring.verdict(news);
    REQUIRE(verdict);
    CHECK(verdict->lines.size() == 1);
    CHECK_THAT(verdict->refusal, StartsWith("the devices d0m and d0p of n0 are exchanged: "));
}

TEST_CASE("Jobs go around the exchanged cables of a torus that they do not cut apart") {
    const Grid grid({4, 4});
    Wiring wiring(grid);
    wiring.exchange({5, "d0p"}, {5, "d1m"});
    PlugNews news(grid.settings);
    const auto verdict = wiring.verdict(news);
    REQUIRE(verdict);
    CHECK(verdict->refusal.empty());
    CHECK(verdict->cables.size() == 2);
    REQUIRE(verdict->lines.size() == 1);
    CHECK_THAT(verdict->lines.front(), StartsWith("the devices d0p and d1m of n5 are exchanged: "));
}

TEST_CASE("Cables of several hosts that are exchanged are named one by one") {
    const Grid grid({3, 3});
    Wiring wiring(grid);
    wiring.exchange({0, "d0p"}, {4, "d1p"});
    PlugNews news(grid.settings);
    const auto verdict = wiring.verdict(news);
    REQUIRE(verdict);
    CHECK(verdict->lines.size() == 2);
    for (const std::string& line : verdict->lines) CHECK_THAT(line, Contains(" leads to "));
}

TEST_CASE("Settings without detours let no job go around an exchange") {
    const Grid grid({4, 4}, "[routing]\ndetour = false\n");
    Wiring wiring(grid);
    wiring.exchange({5, "d0p"}, {5, "d1m"});
    PlugNews news(grid.settings);
    const auto verdict = wiring.verdict(news);
    REQUIRE(verdict);
    CHECK_THAT(verdict->refusal, Contains("routing.detour = false"));
}

TEST_CASE("Damaged reports of plugs are refused") {
    const Grid grid({4});
    PlugNews news(grid.settings);
    const PlugNews::Clock::time_point now(1h);
    for (const char* what : {"", "x", "9 d0p", "-1 d0p", "2"})
        CHECK_FALSE(news.heard(0, {LinkTrouble::Kind::elsewhere, "d0p", what}, now));
    CHECK_FALSE(news.heard(0, {LinkTrouble::Kind::elsewhere, "eth9", "2 d0p"}, now));
    CHECK_FALSE(news.heard(4, {LinkTrouble::Kind::elsewhere, "d0p", "2 d0p"}, now));
}

}  // namespace torusmp::torus_run::test::plug_news_test
