// SPDX-License-Identifier: BSD-3-Clause
// The detection of slow cables from transfers that noise has slowed down, too.
#include "programs/torus_check/speed.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace torusmp::torus_check;
using Catch::Matchers::Contains;
using std::chrono::microseconds;

namespace speed_test {
namespace {

// Cables of which each way has a rate in MB/s, on hosts that are sometimes busy with other things.
struct Machine {
    std::vector<std::optional<int>> megabits;
    std::vector<double> rates;  // by way
    double busy = 0;            // part of the transfers that are slowed down
    std::mt19937 random{1};

    Machine(std::size_t cables, int says, double carries)
        : megabits(cables, says), rates(2 * cables, carries) {}

    Pushed transfer(Speeds::Way way) {
        std::uniform_real_distribution<double> uniform(0, 1);
        double rate = rates[way] * (0.9 + 0.1 * uniform(random));
        if (uniform(random) < busy) rate *= 0.02 + 0.5 * uniform(random);
        Pushed pushed;
        pushed.bytes = 1 << 20;
        pushed.time = microseconds(std::max(1, int(double(pushed.bytes) / rate)));
        pushed.round_trip = microseconds(int(20 + 30 * uniform(random)));
        pushed.segments = 117;
        return pushed;
    }

    // As the survey does it: all once or twice, then each suspect in turns with a good one.
    std::set<Speeds::Way> found_slow() {
        Speeds speeds(megabits);
        for (int i = 0; i < 2; ++i)
            for (Speeds::Way way = 0; way < rates.size(); ++way) speeds.add(way, transfer(way));
        std::set<Speeds::Way> slow;
        for (const Speeds::Way way : speeds.suspects()) {
            while (speeds.is_open(way)) {
                const auto beside = speeds.reference(way);
                if (!beside) break;
                speeds.compare(way, transfer(way), transfer(*beside));
            }
            if (speeds.remains_slow(way)) slow.insert(way);
        }
        return slow;
    }
};

}  // namespace

TEST_CASE("Speed: cables of the same rate are all good, whatever the rate is") {
    for (const double rate : {0.5, 25.0, 118.0, 4000.0})
        for (const std::size_t cables : {1, 2, 24, 192}) {
            Machine machine(cables, 10'000, rate);
            CHECK(machine.found_slow().empty());
        }
}

TEST_CASE("Speed: no cable is reported as slow because of a busy host") {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        Machine machine(54, 10'000, 1200);
        machine.busy = 0.3;
        machine.random.seed(seed);
        CHECK(machine.found_slow().empty());
    }
}

TEST_CASE("Speed: on a busy host every slow direction is found, and no other") {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        Machine machine(24, 10'000, 1200);
        machine.busy = 0.2;
        machine.random.seed(seed);
        std::set<Speeds::Way> expected;
        for (unsigned i = 0; i < 1 + seed % 6; ++i) {
            const Speeds::Way way = machine.random() % machine.rates.size();
            if (!expected.insert(way).second) continue;
            machine.rates[way] *= 0.01 + 0.4 * double(machine.random() % 1000) / 1000;
        }
        INFO("seed " << seed);
        CHECK(machine.found_slow() == expected);
    }
}

TEST_CASE("Speed: cables of two speeds are compared with cables of the same speed") {
    Machine machine(12, 1000, 117);
    for (std::size_t cable = 6; cable < 12; ++cable) {
        machine.megabits[cable] = 10'000;
        machine.rates[2 * cable] = machine.rates[2 * cable + 1] = 1100;
    }
    CHECK(machine.found_slow().empty());
    machine.rates[17] = 117;  // one way of a fast cable
    machine.rates[3] = 11;
    CHECK(machine.found_slow() == std::set<Speeds::Way>{3, 17});
    // The only one of its speed is measured by what others make of theirs.
    Machine alone(9, 1000, 117);
    alone.megabits[4] = 100;
    alone.rates[8] = alone.rates[9] = 11.7;
    CHECK(alone.found_slow().empty());
    alone.rates[9] = 2;
    CHECK(alone.found_slow() == std::set<Speeds::Way>{9});
}

TEST_CASE("Speed: a cable with the driver's rate need not be measured again") {
    Speeds speeds({1000, std::nullopt});
    Pushed pushed;
    pushed.bytes = 1'000'000;
    pushed.time = microseconds(10'000);
    CHECK_FALSE(speeds.is_nominal(0));
    for (Speeds::Way way = 0; way < 4; ++way) speeds.add(way, pushed);
    CHECK(speeds.is_nominal(0));        // 100 of 125 MB/s
    CHECK_FALSE(speeds.is_nominal(2));  // no nominal speed is known
}

TEST_CASE("Speed: faults are named: the rate, the loss, the round trip, no connection") {
    Machine machine(12, 1000, 117);
    const auto judged = [&](const auto& damage) {
        Speeds speeds(machine.megabits);
        for (Speeds::Way way = 0; way < machine.rates.size(); ++way) {
            Pushed pushed = machine.transfer(way);
            if (way == 5) damage(pushed);
            speeds.add(way, pushed);
        }
        REQUIRE(speeds.suspects() == std::vector<Speeds::Way>{5});
        for (int i = 0; i < 3; ++i) {
            const Speeds::Way beside = speeds.reference(5).value();
            CHECK(beside / 2 != 2);
            Pushed pushed = machine.transfer(5);
            damage(pushed);
            speeds.compare(5, pushed, machine.transfer(beside));
        }
        REQUIRE(speeds.remains_slow(5));
        return speeds.finding(5, "n2 eth1 (0+)", "n3 eth2 (0-)");
    };
    Finding found = judged([](Pushed& pushed) { pushed.time *= 20; });
    CHECK(found.fault == Fault::slow);
    CHECK_THAT(found.text,
               Contains("MB/s, similar cables 1") && Contains("from n2 eth1 (0+) to n3 eth2 (0-)"));
    found = judged([](Pushed& pushed) {
        pushed.time *= 20;
        pushed.again = 9;
    });
    CHECK(found.fault == Fault::lossy);
    CHECK_THAT(found.text, Contains("36 of 468 segments had to be sent again"));
    found = judged([](Pushed& pushed) { pushed.round_trip = microseconds(10'000); });
    CHECK(found.fault == Fault::slow);
    CHECK_THAT(found.text, Contains("round trip") && Contains("10.00 ms"));
    found = judged([](Pushed& pushed) { pushed.trouble = "cannot connect: no answer"; });
    CHECK(found.fault == Fault::slow);
    CHECK_THAT(found.text, Contains("cannot connect: no answer"));
}

TEST_CASE("Speed: if nothing could be measured, no cable is named and the reason is reported") {
    Speeds speeds({1000, 1000, 1000});
    Pushed pushed;
    pushed.trouble = "cannot connect: Connection refused";
    for (Speeds::Way way = 0; way < 6; ++way) speeds.add(way, pushed);
    CHECK(speeds.suspects().empty());
    CHECK(speeds.why_nothing() == pushed.trouble);
}

}  // namespace speed_test
