// SPDX-License-Identifier: BSD-3-Clause
// The changes and the faults of the links of a host.
#include "programs/torus_check/health.h"

#include <catch2/catch.hpp>
#include <random>

using namespace torusmp::torus_check;
using Catch::Matchers::Contains;
using torusmp::base::LinkCounters;
using Strings = std::vector<std::string>;

namespace health_test {
namespace {

constexpr std::chrono::seconds hour{3600};

struct Host {
    HealthState state;
    std::map<std::string, LinkSample> looks;
    std::string boot = "boot-1";
    std::int64_t time = 1'000'000;

    Host() {
        for (const char* device : {"eth1", "eth2"})
            looks[device] = {true, true, true, 1000, 9000, {}};
    }
    void count(LinkCounters::Counter which, std::uint32_t by) {
        LinkCounters& counters = looks["eth1"].counters;
        counters.set(which, counters[which] + by);
    }
    Health look(std::int64_t later = 60) {
        time += later;
        const Health health = update_health(state, boot, time, looks, hour);
        const auto read = parse_state(format_state(state));
        REQUIRE(read);
        CHECK(*read == state);
        return health;
    }
};

}  // namespace

TEST_CASE("Health: nothing is reported for a healthy host") {
    Host host;
    for (int i = 0; i < 5; ++i) {
        host.count(LinkCounters::rx_packets, 0x70000000);  // wraps around
        host.count(LinkCounters::rx_dropped, 3);
        const Health health = host.look();
        CHECK(health.changes.empty());
        CHECK(health.wrong.empty());
    }
}

TEST_CASE(
    "Health: the loss and the return of a link are reported once each, and it is wrong meanwhile") {
    Host host;
    host.look();
    host.looks["eth1"].carrier = false;
    CHECK(host.look().changes == Strings{"eth1 has no carrier"});
    const Health still = host.look();
    CHECK(still.changes.empty());
    CHECK(still.wrong == Strings{"eth1 has no carrier"});
    host.looks["eth1"] = {};
    CHECK(host.look().changes == Strings{"eth1 is gone"});
    host.looks["eth1"] = host.looks["eth2"];
    const Health back = host.look();
    CHECK(back.changes == Strings{"eth1 is back, at 1000 Mbit/s"});
    CHECK(back.wrong.empty());
    Host dark;
    dark.looks["eth2"].up = false;
    CHECK(dark.look().changes == Strings{"eth2 is down"});  // at the first look, too
}

TEST_CASE("Health: a link that has become slower is wrong until it is as fast as before") {
    Host host;
    host.look();
    host.looks["eth1"].megabits = 100;
    Health health = host.look();
    CHECK(health.changes == Strings{"eth1 runs at 100 Mbit/s, previously 1000 Mbit/s"});
    CHECK(health.wrong == Strings{"eth1 runs at 100 Mbit/s, at best 1000 Mbit/s"});
    host.boot = "boot-2";  // remembered over a reboot
    CHECK(host.look().wrong.size() == 1);
    host.looks["eth1"].megabits = 1000;
    CHECK(host.look().wrong.empty());
    host.looks["eth1"].mtu = 1500;
    CHECK(host.look().changes == Strings{"eth1 has MTU 1500, previously 9000"});
}

TEST_CASE("Health: damaged packets are reported when they arrive, and count as wrong for a while") {
    Host host;
    host.count(LinkCounters::rx_errors, 77);  // before anybody looked
    CHECK(host.look().wrong.empty());
    host.count(LinkCounters::rx_packets, 1000);
    host.count(LinkCounters::rx_errors, 12);
    host.count(LinkCounters::rx_crc_errors, 12);
    Health health = host.look(300);
    REQUIRE(health.changes.size() == 1);
    CHECK(health.changes[0] ==
          "eth1 12 rx_errors, 12 rx_crc_errors in 1000 packets since 300s ago");
    CHECK(health.wrong.size() == 1);
    health = host.look(1800);
    CHECK(health.changes.empty());
    REQUIRE(health.wrong.size() == 1);
    CHECK_THAT(health.wrong[0], Contains("eth1 received damaged packets 1800s ago"));
    CHECK(host.look(1800).wrong.empty());
    // A single error is reported and then ignored. A counter that restarts after a reboot is not an
    // error.
    host.count(LinkCounters::tx_errors, 1);
    health = host.look();
    CHECK(health.changes.size() == 1);
    CHECK(health.wrong.empty());
    host.boot = "boot-2";
    host.looks["eth1"].counters = {};
    CHECK(host.look().changes.empty());
    host.count(LinkCounters::tx_dropped, 50);
    CHECK_THAT(host.look().changes.at(0), Contains("50 tx_dropped in 0 packets"));
}

TEST_CASE("Health: a damaged state is ignored, or is written back unchanged") {
    Host host;
    host.look();
    const std::string good = format_state(host.state);
    CHECK(parse_state(good));
    CHECK_FALSE(parse_state(""));
    CHECK_FALSE(parse_state(good.substr(0, good.size() / 2)));
    std::mt19937 random(3);
    for (int round = 0; round < 5000; ++round) {
        std::string text = good;
        for (unsigned i = 0; i < 1 + random() % 3; ++i)
            text[random() % text.size()] = char(random() % 256);
        if (const auto state = parse_state(text)) {
            const auto again = parse_state(format_state(*state));
            REQUIRE(again);
            CHECK(*again == *state);
        }
    }
}

}  // namespace health_test
