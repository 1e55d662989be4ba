// SPDX-License-Identifier: BSD-3-Clause
// What torus-run's daemons tell of the counters of their links.
#include "programs/torus_run/daemon/link_watch.h"

#include <catch2/catch.hpp>

using torusmp::base::LinkCounters;
using torusmp::launch::LinkWatch;
using Strings = std::vector<std::string>;

namespace link_watch_test {

TEST_CASE("Counters of links: what rises is told once for each link, and only of links") {
    std::map<std::string, LinkCounters> kernel{{"eth0", {}}, {"eth1", {}}, {"eth2", {}}};
    const auto count = [&](const char* device, LinkCounters::Counter which, std::uint32_t by) {
        kernel[device].set(which, kernel[device][which] + by);
    };
    LinkWatch watch({"eth1", "eth2", "eth9"});
    count("eth1", LinkCounters::rx_errors, 500);  // before the job
    CHECK(watch.compare(kernel).empty());
    CHECK(watch.compare(kernel).empty());
    for (const char* device : {"eth0", "eth1", "eth2"}) {
        count(device, LinkCounters::rx_packets, 1000);
        count(device, LinkCounters::rx_dropped, 20);  // what nobody asked for
    }
    count("eth0", LinkCounters::rx_errors, 99);
    count("eth2", LinkCounters::rx_errors, 1);
    CHECK(watch.compare(kernel).empty());
    count("eth1", LinkCounters::rx_packets, 2000);
    count("eth1", LinkCounters::rx_errors, 7);
    CHECK(watch.compare(kernel) == Strings{"7 rx_errors in 2000 packets on eth1"});
    count("eth1", LinkCounters::rx_errors, 7);
    count("eth2", LinkCounters::tx_dropped, 300);
    CHECK(watch.compare(kernel) == Strings{"300 tx_dropped in 0 packets on eth2"});
    count("eth2", LinkCounters::rx_errors, 7);
    CHECK(watch.compare(kernel).empty());
    // A few among very many are what any cable has.
    LinkWatch busy({"eth2"});
    CHECK(busy.compare(kernel).empty());
    count("eth2", LinkCounters::rx_packets, 100'000'000);
    count("eth2", LinkCounters::rx_errors, 5);
    CHECK(busy.compare(kernel).empty());
}

}  // namespace link_watch_test
