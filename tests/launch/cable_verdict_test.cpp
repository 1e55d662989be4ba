// SPDX-License-Identifier: BSD-3-Clause
// The decision whether a job starts on a machine with faulty cables, and the messages about them.
#include "programs/torus_run/front/cable_verdict.h"

#include <catch2/catch.hpp>

#include "config/cable.h"
#include "core/transport/list.h"
#include "grid.h"

namespace torusmp::torus_run::test::cable_verdict_test {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

CableVerdict verdict(const Grid& grid) {
    return judge_cables(grid.settings, grid.ranks(), grid.faults());
}

}  // namespace

TEST_CASE("On a machine without faults a job starts without messages") {
    const CableVerdict found = verdict(Grid({3, 3}));
    CHECK(found.refusal.empty());
    CHECK(found.warnings.empty());
    CHECK(found.dead.empty());
}

TEST_CASE(
    "A job uses a detour around a dead cable, with one line that names ends, cause and detour") {
    Grid grid({3, 3});
    grid.device(0, "d1p").up = grid.device(0, "d1p").carrier = false;
    grid.device(1, "d1m").carrier = false;  // a consequence
    const CableVerdict found = verdict(grid);
    CHECK(found.refusal.empty());
    CHECK(found.dead == std::vector<routing::Link>{{0, 1}});
    CHECK(found.warnings ==
          std::vector<std::string>{"the cable from n0 d1p (1+) to n1 d1m (1-) is dead: d1p of n0 "
                                   "is down; the job uses a detour over n2"});
}

TEST_CASE("In a ring of two the detour of a dead cable is the other cable") {
    Grid grid({2});
    std::erase_if(grid.hosts[1].devices, [](const auto& device) { return device.name == "d0m"; });
    grid.device(0, "d0p").carrier = false;
    const CableVerdict found = verdict(grid);
    CHECK(found.refusal.empty());
    CHECK(found.dead == std::vector<routing::Link>{{0, 0}});
    CHECK(found.warnings ==
          std::vector<std::string>{"the cable from n0 d0p (0+) to n1 d0m (0-) is dead: n1 has no "
                                   "device d0m; the job uses a detour over the other cable between "
                                   "them"});
    // Without the other cable the torus is split.
    grid.device(0, "d0m").up = false;
    const CableVerdict cut = verdict(grid);
    CHECK_THAT(cut.refusal, StartsWith("dead cables split the torus; nothing was started: "
                                       "n0 on one side, n1 on the other. Dead:\n"));
    CHECK(cut.warnings.empty());
}

TEST_CASE("Each cause of a dead cable is reported briefly") {
    Grid grid({3, 3});
    SECTION("no carrier") {
        grid.device(0, "d1p").carrier = false;
        CHECK_THAT(verdict(grid).warnings.at(0), Contains("is dead: d1p of n0 has no carrier;"));
    }
    SECTION("no address") {
        grid.device(1, "d1m").addresses.clear();
        CHECK_THAT(verdict(grid).warnings.at(0), Contains("is dead: d1m of n1 has no address;"));
    }
    SECTION("no kind of address in common") {
        grid.device(1, "d1m").addresses = {torusmp::test::ip("10.0.0.1/30")};
        CHECK_THAT(verdict(grid).warnings.at(0),
                   Contains("is dead: its ends have no kind of address in common;"));
    }
    SECTION("no device named") {
        Grid hole({3, 3});
        auto links = hole.settings[config::setting::links];
        hole.settings.set(config::setting::links, {});
        config::HostLinks own;
        for (const std::string& host : host_names(hole.settings)) own[host] = links;
        own["n0"].erase("1+");
        hole.settings.set(config::setting::host_links, own);
        CHECK_THAT(verdict(hole).warnings.at(0),
                   StartsWith("the cable from n0 (no device) (1+) to n1 d1m (1-) is dead: [links] "
                              "has no device of n0 for 1+;"));
    }
}

TEST_CASE("A cable that works despite its fault is used, with a warning") {
    Grid grid({3, 3});
    grid.device(1, "d1m").mtu = 1500;
    const CableVerdict found = verdict(grid);
    CHECK(found.refusal.empty());
    CHECK(found.dead.empty());
    CHECK(found.warnings ==
          std::vector<std::string>{"the cable from n0 d1p (1+) to n1 d1m (1-) has a fault: MTU "
                                   "9000 at n0, 1500 at n1; it stays in use"});
}

TEST_CASE("A suspicion that ends once the job knows the other ends of the cables is not reported") {
    Grid grid({4});
    for (int node = 0; node < 4; ++node) {
        const auto address = [](int cable, int end) {
            return torusmp::test::ip(fmt::format("10.0.{}.{}/30", cable, end));
        };
        grid.device(node, "d0p").addresses.push_back(address(node, 1));
        grid.device(node, "d0m").addresses.push_back(address((node + 3) % 4, 2));
    }
    REQUIRE(grid.faults().empty());
    // As after another order of the kernel's: addresses go with the plugs.
    std::swap(grid.device(1, "d0p").addresses, grid.device(1, "d0m").addresses);
    REQUIRE(grid.faults().size() == 2);
    CHECK(verdict(grid).refusal.empty());
    CHECK(verdict(grid).warnings.empty());
    // An address that no other cable has is a fault.
    grid.device(1, "d0p").addresses.back() = torusmp::test::ip("10.7.7.1/30");
    REQUIRE(verdict(grid).warnings.size() == 1);
    CHECK_THAT(verdict(grid).warnings[0],
               Contains("addresses of different networks; it stays in use"));
}

TEST_CASE("If dead cables split the torus, the cut is named and nothing starts") {
    Grid grid({4, 2});
    // Between the first and the second pair of hosts, and between the third and the fourth.
    for (const int node : {0, 1, 4, 5}) grid.device(node, "d0p").up = false;
    const CableVerdict found = verdict(grid);
    CHECK(found.dead.size() == 4);
    CHECK(found.cut);
    CHECK(found.unusable == std::vector<int>{2, 3, 4, 5});
    CHECK_THAT(found.refusal,
               StartsWith("dead cables split the torus; nothing was started: n0, n1, n6 "
                          "and n7 on one side, n2, n3, n4 and n5 on the other. Dead:\n  " +
                          grid.path() + ":6: host n0: device d0p of link 0+ (to n2) is down"));
    for (const char* end : {"host n0: device d0p", "host n1: device d0p", "host n4: device d0p",
                            "host n5: device d0p"})
        CHECK_THAT(found.refusal, Contains(end));
    // A dead cable inside one side is not part of the cut.
    grid.device(2, "d1p").up = false;
    CHECK_THAT(verdict(grid).refusal, !Contains("n2: device d1p"));
}

TEST_CASE("More than two parts are counted and listed") {
    Grid grid({5});
    for (const int node : {0, 1, 2}) grid.device(node, "d0p").up = false;
    CHECK_THAT(verdict(grid).refusal, Contains("started: 3 parts: n0, n3 and n4; n1; n2. Dead:"));
}

TEST_CASE("Without detours a dead cable ends the job, and the setting is named") {
    Grid grid({3, 3}, "[routing]\ndetour = false\n");
    grid.device(0, "d1p").up = false;
    const CableVerdict found = verdict(grid);
    CHECK(found.warnings.empty());
    CHECK_THAT(found.refusal,
               Contains("host n0: device d1p of link 1+ (to n1) is down") &&
                   EndsWith("; nothing was started: routing.detour = false (" + grid.path() +
                            ":11) allows no detour around a dead cable"));
    // Other faults of cables are refused too, but have nothing to do with it.
    Grid other({3, 3}, "[routing]\ndetour = false\n");
    other.device(1, "d1m").mtu = 1500;
    CHECK_THAT(verdict(other).refusal,
               Contains("has MTU 9000") && EndsWith("; nothing was started"));
}

TEST_CASE("Kernels that forward do not use detours") {
    Grid grid({3, 3}, "[routing]\nforward = \"kernel\"\n");
    std::vector<config::MachineFault> faults(1);
    faults[0].text = "host n0: device d1p is down";
    faults[0].of_cable = {{0, 1}, config::MachineFault::Cable::down, "d1p of n0 is down"};
    CHECK_THAT(judge_cables(grid.settings, grid.ranks(), faults).refusal,
               EndsWith("routing.forward = \"kernel\" (" + grid.path() +
                        ":11) allows no detour around a dead cable"));
}

TEST_CASE("A transport that cannot reconnect links does not use detours") {
    for (const transport::Descriptor* it : transport::transports()) {
        if (!it->needs_devices) continue;
        const Grid grid({3, 3}, fmt::format("[transport]\nuse = \"{}\"\n", it->name));
        std::vector<config::MachineFault> faults(1);
        faults[0].text = "host n0: device d1p is down";
        faults[0].of_cable = {{0, 1}, config::MachineFault::Cable::down, "d1p of n0 is down"};
        const CableVerdict found = judge_cables(grid.settings, grid.ranks(), faults);
        CHECK(found.dead.size() == (it->capabilities.reconnects ? 1 : 0));
        CHECK(found.refusal.empty() == it->capabilities.reconnects);
        if (!it->capabilities.reconnects)
            CHECK_THAT(found.refusal, Contains(fmt::format("transport.use = \"{}\" (", it->name)));
    }
}

TEST_CASE("Faults other than dead cables refuse the job, with all faults found") {
    Grid grid({3, 3});
    grid.device(0, "d1p").up = false;
    grid.hosts[2].geometry = "1";
    grid.hosts[3].geometry = "2";
    const CableVerdict found = verdict(grid);
    CHECK_THAT(found.refusal, StartsWith("2 problems found; nothing was started:\n") &&
                                  Contains("host n0: device d1p") && Contains("differs"));
    CHECK(found.warnings.empty());
}

TEST_CASE("If there are many faults, the first are reported and the others are counted") {
    Grid grid({4, 4});
    for (int node = 0; node < 9; ++node) grid.device(node, "d1p").mtu = 1500;
    const CableVerdict found = verdict(grid);
    REQUIRE(found.warnings.size() == 9);
    CHECK(found.warnings.back() == "1 more cable has a fault; torus-check lists all");
    for (int node = 9; node < 16; ++node) grid.device(node, "d1p").mtu = 1500;
    CHECK(verdict(grid).warnings.back() == "8 more cables have faults; torus-check lists all");
}

TEST_CASE("A cable carries the links between the blocks of ranks at its ends, and no others") {
    Grid grid({3, 2});
    grid.settings.set(config::setting::ranks_per_node, {2, 2});
    const routing::Torus ranks = rank_torus(grid.settings, grid.ranks());
    std::size_t carried = 0;
    for (int node = 0; node < grid.torus.size(); ++node)
        for (int d = 0; d < 2; ++d) {
            const routing::Link cable{node, d};
            const auto links = config::links_over(grid.settings, ranks, {&cable, 1});
            CHECK(links.size() == 2);
            for (const routing::Link& link : links) {
                ++carried;
                const routing::Rank far = routing::far_end(ranks, link);
                CHECK(config::cable_under(grid.settings, ranks, link.rank, link.direction()) ==
                      cable);
                CHECK(config::cable_under(grid.settings, ranks, far, link.direction().opposite()) ==
                      cable);
            }
        }
    CHECK(carried == 24);
    CHECK_FALSE(config::cable_under(grid.settings, ranks, 0, {0, +1}));  // inside a node
    // The search for a detour counts ranks, and the shorter way round the ring has more of them.
    // The message names hosts.
    grid.device(0, "d0p").up = false;
    CHECK_THAT(verdict(grid).warnings.at(0), EndsWith("the job uses a detour over n1 and n3"));
}

}  // namespace torusmp::torus_run::test::cable_verdict_test
