// SPDX-License-Identifier: BSD-3-Clause
// The reports on cables that lead elsewhere while a job starts.
#include "programs/torus_run/daemon/plug_news.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "config/network.h"
#include "grid.h"

namespace torusmp::torus_run::test::plug_news_test {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using config::Plug;
using config::Plugs;

// The packets that all hosts hear, with some plugs of the grid exchanged.
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
    // A device gets a name that the settings do not know.
    void rename(const Plug& plug, const std::string& name) {
        const Plug far = heard_.at(plug);
        heard_.erase(plug);
        heard_[{plug.node, name}] = far;
        heard_[far] = {plug.node, name};
    }
    const Plugs& heard() const { return heard_; }
    // The plugs that differ from the settings.
    Plugs differing(const config::Settings& settings) const {
        Plugs differing = heard_;
        for (const auto& [here, far] : expected_of(settings))
            if (const auto found = differing.find(here);
                found != differing.end() && found->second == far)
                differing.erase(found);
        return differing;
    }
    std::optional<config::Settings> followed(const config::Settings& settings) const {
        return config::follow_plugs(settings, differing(settings),
                                    [&](const Plug& plug) { return heard_.count(plug) != 0; });
    }
    // True if each link of these settings has the devices of an existing cable.
    bool fits(const config::Settings& settings) const {
        const Plugs expected = expected_of(settings);
        return expected.size() == heard_.size() &&
               std::all_of(expected.begin(), expected.end(), [&](const auto& ends) {
                   const auto found = heard_.find(ends.first);
                   return found != heard_.end() && found->second == ends.second;
               });
    }
    // The verdict on the reports of daemons: each reports a peer other than the expected one.
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
    static Plugs expected_of(const config::Settings& settings) {
        Plugs expected;
        const routing::Torus torus = *node_torus(settings);
        for (int node = 0; node < torus.size(); ++node)
            for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
                const auto direction = routing::Direction::from_index(i);
                if (const auto peer = torus.neighbour(node, direction))
                    expected[{node, config::link_device(settings, node, direction)}] = {
                        *peer, config::link_device(settings, *peer, direction.opposite())};
            }
        return expected;
    }

    const Grid& grid_;
    Plugs heard_;
};

}  // namespace

TEST_CASE("Without exchanged plugs nothing is reported about them") {
    const Grid grid({4, 2});
    PlugNews news(grid.settings);
    CHECK(config::find_plug_faults(grid.settings, Wiring(grid).heard()).empty());
    CHECK_FALSE(Wiring(grid).verdict(news));
    CHECK_FALSE(news.next());
}

TEST_CASE("Two exchanged devices of a host in a ring are named, and the job does not start") {
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

TEST_CASE("In a ring of two, exchanged cables are reported for one of the hosts") {
    const Grid grid({2});
    Wiring wiring(grid);
    wiring.exchange({1, "d0p"}, {1, "d0m"});
    PlugNews news(grid.settings);
    const auto verdict = wiring.verdict(news);
    REQUIRE(verdict);
    CHECK(verdict->lines.size() == 1);
    CHECK_THAT(verdict->refusal, StartsWith("the devices d0m and d0p of n0 are exchanged: "));
}

TEST_CASE("Jobs use detours around exchanged cables that do not split the torus") {
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

TEST_CASE("Without detours in the settings no job starts with exchanged cables") {
    const Grid grid({4, 4}, "[routing]\ndetour = false\n");
    Wiring wiring(grid);
    wiring.exchange({5, "d0p"}, {5, "d1m"});
    PlugNews news(grid.settings);
    const auto verdict = wiring.verdict(news);
    REQUIRE(verdict);
    CHECK_THAT(verdict->refusal, Contains("routing.detour = false"));
}

TEST_CASE("Links follow plugs and names that were exchanged between the same hosts") {
    for (const auto& dims : {std::vector{2}, {3}, {4}, {2, 2}, {4, 3}}) {
        const Grid grid(dims);
        for (int node = 0; node < grid.torus.size(); ++node) {
            CAPTURE(grid.torus.describe(), node);
            Wiring wiring(grid);
            CHECK_FALSE(wiring.followed(grid.settings));
            wiring.exchange({node, "d0p"}, {node, "d0m"});
            auto changed = wiring.followed(grid.settings);
            REQUIRE(changed);
            CHECK(wiring.fits(*changed));
            wiring.rename({node, "d0p"}, "eth9");
            changed = wiring.followed(grid.settings);
            REQUIRE(changed);
            CHECK(wiring.fits(*changed));
            CHECK_FALSE(wiring.followed(*changed));
        }
    }
}

TEST_CASE("Links do not follow a plug that leads to another host") {
    const Grid grid({4, 4});
    Wiring wiring(grid);
    wiring.exchange({0, "d0p"}, {5, "d1p"});
    CHECK_FALSE(wiring.followed(grid.settings));
}

TEST_CASE("The cables of a graph follow exchanged plugs") {
    const torusmp::test::TemporaryFile file(
        "[torus]\ncables = [\"n0 a - n1 a\", \"n1 b - n2 a\", \"n0 b - n1 c\"]\n"
        "[nodes]\nhosts = [\"n0\", \"n1\", \"n2\"]\n");
    const config::Settings settings = torusmp::test::load_file(file);
    const Plugs heard{
        {{0, "a"}, {1, "b"}}, {{1, "b"}, {0, "a"}}, {{2, "a"}, {1, "x"}}, {{1, "x"}, {2, "a"}}};
    const auto changed = config::follow_plugs(settings, heard, [](const Plug& plug) {
        return plug != Plug{1, "a"};
    });
    REQUIRE(changed);
    CHECK(changed->text(config::setting::cables) == "n0 a - n1 b,n1 x - n2 a,n0 b - n1 c");
}

TEST_CASE("Damaged reports of plugs are refused") {
    const Grid grid({4});
    PlugNews news(grid.settings);
    const PlugNews::Clock::time_point now(1h);
    for (const char* what : {"", "x", "9 d0p", "-1 d0p", "2"})
        CHECK_FALSE(news.heard(0, {LinkTrouble::Kind::elsewhere, "d0p", what}, now));
    CHECK_FALSE(news.heard(4, {LinkTrouble::Kind::elsewhere, "d0p", "2 d0p"}, now));
}

}  // namespace torusmp::torus_run::test::plug_news_test
