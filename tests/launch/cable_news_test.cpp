// SPDX-License-Identifier: BSD-3-Clause
// The reports on cables that die and come back, and their frequency.
#include "programs/torus_run/daemon/cable_news.h"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "grid.h"
#include "launch/bootstrap.h"
#include "launch/link_news.h"

namespace torusmp::torus_run::test::cable_news_test {
namespace {

using namespace std::chrono_literals;
using State = routing::LinkNews::State;
using Lines = std::vector<std::string>;

const routing::Direction up{1, +1}, down{1, -1};

// Reports of the ranks of a grid, and what is said at which time. Begins at 12:00:00 UTC.
class Scene {
  public:
    explicit Scene(Grid grid) : grid_(std::move(grid)), news_(grid_.settings, grid_.ranks()) {
        setenv("TZ", "UTC", 1);
        tzset();
    }

    CableNews& news() { return news_; }
    CableNews::Moment now() const {
        return {CableNews::Clock::time_point(1h + passed_),
                std::chrono::system_clock::time_point(12h) +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(passed_)};
    }
    void report(int rank, const routing::LinkNews& report) {
        REQUIRE(news_.heard(rank, report, now()));
    }
    // Both ends of the link from rank 0 up to rank 1, which goes on over rank 2.
    void die(const std::string& why = "no carrier") {
        report(0, {up, 1, State::dead, {}, why});
        report(1, {down, 0, State::dead, {}, ""});
        go_around();
    }
    void go_around() {
        report(0, {up, 1, State::detour, {{down, 2}, {down, 1}}, ""});
        report(1, {down, 0, State::detour, {{up, 2}, {up, 0}}, ""});
    }
    void come_back() {
        report(0, {up, 1, State::alive, {}, ""});
        report(1, {down, 0, State::alive, {}, ""});
    }
    // Returns the lines of the next `time`.
    Lines wait(CableNews::Clock::duration time) {
        Lines all;
        const auto end = passed_ + time;
        for (auto next = news_.next(); next && *next <= CableNews::Clock::time_point(1h + end);
             next = news_.next()) {
            passed_ = std::max(passed_, next->time_since_epoch() - 1h);
            for (std::string& line : news_.due(now().at)) all.push_back(std::move(line));
        }
        passed_ = end;
        return all;
    }

  private:
    Grid grid_;
    CableNews news_;
    CableNews::Clock::duration passed_{0};
};

const std::string name = "the cable from n0 d1p (1+) to n1 d1m (1-)";

}  // namespace

TEST_CASE("A cable that dies and comes back causes two lines, although both ends report it") {
    Scene scene(Grid({3, 3}));
    CHECK_FALSE(scene.news().next());
    scene.die();
    CHECK(scene.wait(10s) == Lines{"warning: " + name +
                                   " has been dead since 12:00:00: n0 saw: no carrier; the job "
                                   "uses a detour over n2"});
    // A new detour is not reported.
    scene.report(0, {up, 1, State::detour, {{down, 2}, {down, 1}}, ""});
    CHECK(scene.wait(2s).empty());
    scene.come_back();
    CHECK(scene.wait(1min) == Lines{name + " is back after 12 s"});
    CHECK_FALSE(scene.news().next());
}

TEST_CASE(
    "All links over a cable are reported as one cable, which is back when the last of them is") {
    Grid grid({3, 3});
    grid.settings.set(config::setting::ranks_per_node, {2, 1});
    Scene scene(std::move(grid));
    // Ranks 0 and 3 are on n0, 1 and 4 on n1, 2 and 5 on n2.
    for (const int first : {0, 3}) {
        scene.report(first, {up, first + 1, State::dead, {}, "gone"});
        scene.report(first,
                     {up, first + 1, State::detour, {{down, first + 2}, {down, first + 1}}, ""});
    }
    CHECK(scene.wait(1min).size() == 1);
    scene.report(0, {up, 1, State::alive, {}, ""});
    CHECK(scene.wait(1min).empty());
    scene.report(3, {up, 4, State::alive, {}, ""});
    CHECK(scene.wait(1min) == Lines{name + " is back after 120 s"});
}

TEST_CASE("A cable that was dead for a moment causes one line") {
    Scene scene(Grid({3, 3}));
    scene.die();
    CHECK(scene.wait(50ms).empty());
    scene.come_back();
    CHECK(scene.wait(1min) == Lines{name + " was dead for 50 ms and is back; n0 saw: no carrier"});
}

TEST_CASE("A cable without a detour is reported later, unless the job has ended") {
    Scene scene(Grid({3, 3}));
    scene.report(0, {up, 1, State::dead, {}, "no carrier"});
    CHECK(scene.wait(2900ms).empty());
    SECTION("and the job lives") {
        CHECK(scene.wait(200ms) == Lines{"warning: " + name +
                                         " has been dead since 12:00:00: n0 saw: no carrier; "
                                         "its messages cannot be carried"});
    }
    SECTION("with the detour that was found meanwhile") {
        scene.go_around();
        CHECK(scene.wait(200ms).at(0).ends_with("the job uses a detour over n2"));
    }
    SECTION("and the job ends") {
        scene.news().drop();
        CHECK(scene.wait(1min).empty());
    }
    SECTION("and one of its ranks has died") {
        scene.news().gone(1);
        scene.report(0, {up, 1, State::dead, {}, "no carrier"});
        CHECK(scene.wait(1min).empty());
    }
}

TEST_CASE("A cable that flaps is reported, then counted, and summed up when it is stable") {
    Scene scene(Grid({3, 3}));
    Lines said;
    const auto flap = [&](bool stays_dead) {
        scene.die();
        for (std::string& line : scene.wait(1s)) said.push_back(std::move(line));
        if (stays_dead) return;
        scene.come_back();
        for (std::string& line : scene.wait(1s)) said.push_back(std::move(line));
    };
    for (int i = 0; i < 100; ++i) flap(false);
    CHECK(said.size() == 5);  // twice dead and back, and that it comes and goes
    CHECK(said.back() == "warning: " + name +
                             " is flapping, 3 times in 4.3 s so far; the next report follows "
                             "when it has been stable for 30 s");
    said.clear();
    SECTION("it is back in the end") {
        CHECK(scene.wait(1min) ==
              Lines{name + " died 100 times in 199 s and has been up again since 12:03:19"});
        // And the next time is a first one again.
        flap(true);
        CHECK(said.size() == 1);
        CHECK(said.at(0).starts_with("warning: " + name + " has been dead since "));
    }
    SECTION("it is dead in the end") {
        flap(true);
        CHECK(scene.wait(1min) ==
              Lines{"warning: " + name +
                    " died 101 times in 200 s and has been dead since 12:03:20; the job uses a "
                    "detour over n2"});
        scene.come_back();
        CHECK(scene.wait(1min).size() == 1);
    }
    SECTION("the job ends before") {
        CHECK(scene.news().rest(scene.now().at) ==
              Lines{name + " died 100 times in 199 s and has been up again since 12:03:19"});
        CHECK(scene.news().rest(scene.now().at).empty());
    }
}

TEST_CASE("A cable that dies just before the end of a job is reported at the end") {
    Scene scene(Grid({3, 3}));
    scene.die();
    CHECK(scene.news().rest(scene.now().at).size() == 1);
    CHECK(scene.news().rest(scene.now().at).empty());
}

TEST_CASE("The return of a cable that was dead at the start is reported") {
    Scene scene(Grid({3, 3}));
    const routing::Link cable{0, 1};
    scene.news().dead_at_start(std::span(&cable, 1), scene.now());
    scene.die();
    CHECK(scene.wait(5s).empty());
    scene.come_back();
    CHECK(scene.wait(1min) == Lines{name + " is back after 5.0 s"});
}

TEST_CASE("Reports of links that do not exist, or of detours that lead elsewhere, are refused") {
    Scene scene(Grid({3, 3}));
    const auto heard = [&](const routing::LinkNews& report) {
        return scene.news().heard(0, report, scene.now());
    };
    CHECK_FALSE(heard({up, 2, State::dead, {}, ""}));
    CHECK_FALSE(heard({{2, +1}, 1, State::dead, {}, ""}));
    CHECK_FALSE(heard({up, 1, State::detour, {}, ""}));
    CHECK_FALSE(heard({up, 1, State::detour, {{down, 2}}, ""}));
    CHECK_FALSE(heard({up, 1, State::detour, {{up, 2}, {down, 1}}, ""}));
    CHECK_FALSE(heard({up, 1, State::alive, {{down, 2}, {down, 1}}, ""}));
    CHECK(scene.wait(1min).empty());
    CHECK(heard({up, 1, State::detour, {{down, 2}, {down, 1}}, ""}));
}

TEST_CASE("Without a launcher one end prints the state of a link, and not for ever") {
    struct Alone final : launch::Bootstrap {
        std::string_view name() const override { return "alone"; }
        int rank() const override { return 0; }
        int size() const override { return 3; }
        const std::vector<int>& local_ranks() const override { return local; }
        std::span<const std::byte> secret() const override { return {}; }
        std::vector<std::vector<std::byte>> exchange(std::span<const std::byte>) override {
            return {};
        }
        void barrier() override {}
        void note(std::string_view text) override { said.emplace_back(text); }
        [[noreturn]] void abort(int, std::string_view) override { std::abort(); }
        void finalize() override {}

        std::vector<int> local{0};
        Lines said;
    } alone;
    CHECK(alone.dead_cables().empty());
    alone.report_link({up, 1, State::dead, {}, "no carrier"});  // a detour comes, or an error
    alone.report_link({down, 2, State::detour, {{up, 1}, {up, 2}}, ""});  // the other end says it
    CHECK(alone.said.empty());
    alone.report_link({up, 1, State::detour, {{down, 2}, {down, 1}}, "no carrier"});
    alone.report_link({up, 1, State::alive, {}, ""});
    alone.report_link({up, 1, State::detour, {{down, 1}}, ""});
    CHECK(alone.said ==
          Lines{"the link between rank 0 and rank 1 uses a detour around its dead cable, over "
                "rank 2; no "
                "carrier",
                "the link between rank 0 and rank 1 uses its cable again",
                "the link between rank 0 and rank 1 uses a detour around its dead cable, over the "
                "other cable"});
    for (int i = 0; i < 1000; ++i) alone.report_link({up, 1, State::alive, {}, ""});
    CHECK(alone.said.size() == 21);
    CHECK(alone.said.back() == "further reports of links that die and return are suppressed");
}

TEST_CASE("A kernel's notice of a living cable is reported once, whichever end notices first") {
    using Kind = LinkTrouble::Kind;
    Scene scene(Grid({3, 3}));
    const auto first = [&](int node, Kind kind, const char* device) {
        return scene.news().is_first(node, {kind, device, "sends 1 MB/s"});
    };
    CHECK(first(1, Kind::slowness, "d1m"));  // to d1p of node 0
    CHECK_FALSE(first(0, Kind::slowness, "d1p"));
    CHECK_FALSE(first(1, Kind::slowness, "d1m"));
    CHECK(first(0, Kind::damage, "d1p"));
    CHECK_FALSE(first(1, Kind::damage, "d1m"));
    CHECK(first(1, Kind::slowness, "d1p"));
    CHECK(first(0, Kind::slowness, "d0p"));
    CHECK(first(0, Kind::slowness, "eth9"));  // no cable of the torus
    CHECK(first(0, Kind::slowness, "eth9"));
    CHECK_FALSE(scene.news().next());
}

TEST_CASE(
    "A report of a link is unchanged after encoding, and a truncated or false one is refused") {
    const routing::LinkNews report{down, 7, State::detour, {{up, 2}, {{2, -1}, 7}}, "no carrier"};
    const auto bytes = launch::encode(report);
    CHECK(launch::decode_link_news(bytes, 8) == report);
    CHECK_FALSE(launch::decode_link_news(bytes, 7));
    for (std::size_t length = 0; length < bytes.size(); ++length)
        CHECK_FALSE(launch::decode_link_news(std::span(bytes).first(length), 8));
    for (const std::size_t at : {0, 8, 12, 20}) {  // direction, state, count of hops, a hop
        auto lying = bytes;
        lying[at + 3] = std::byte(0x7f);
        CHECK_FALSE(launch::decode_link_news(lying, 8));
    }
    routing::LinkNews wordy = report;
    wordy.why.assign(100'000, 'x');
    CHECK(launch::encode(wordy).size() < 2000);
}

}  // namespace torusmp::torus_run::test::cable_news_test
