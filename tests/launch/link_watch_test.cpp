// SPDX-License-Identifier: BSD-3-Clause
// The reports of torus-run's daemons on the counters of their links.
#include "programs/torus_run/daemon/link_watch.h"

#include <catch2/catch.hpp>

using torusmp::base::LinkCounters;
using torusmp::torus_run::LinkTrouble;
using torusmp::torus_run::LinkWatch;
using Troubles = std::vector<LinkTrouble>;

namespace link_watch_test {

TEST_CASE(
    "Counters of links: a rising counter is reported once for each link, and only for links") {
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
        count(device, LinkCounters::rx_dropped, 20);  // what was not asked for
    }
    count("eth0", LinkCounters::rx_errors, 99);
    count("eth2", LinkCounters::rx_errors, 1);
    CHECK(watch.compare(kernel).empty());
    count("eth1", LinkCounters::rx_packets, 2000);
    count("eth1", LinkCounters::rx_errors, 7);
    CHECK(watch.compare(kernel) == Troubles{{LinkTrouble::Kind::damage, "eth1",
                                             "counts 7 rx_errors in 2000 packets on eth1"}});
    count("eth1", LinkCounters::rx_errors, 7);
    count("eth2", LinkCounters::tx_dropped, 300);
    CHECK(watch.compare(kernel) == Troubles{{LinkTrouble::Kind::damage, "eth2",
                                             "counts 300 tx_dropped in 0 packets on eth2"}});
    count("eth2", LinkCounters::rx_errors, 7);
    CHECK(watch.compare(kernel).empty());
    // A few among very many are what any cable has.
    LinkWatch busy({"eth2"});
    CHECK(busy.compare(kernel).empty());
    count("eth2", LinkCounters::rx_packets, 100'000'000);
    count("eth2", LinkCounters::rx_errors, 5);
    CHECK(busy.compare(kernel).empty());
}

TEST_CASE("Speed of links: connections are added up by device while connections open and close") {
    using torusmp::base::TcpTraffic;
    using namespace std::chrono_literals;
    const std::map<std::string, unsigned> indices{{"eth1", 1}, {"eth2", 2}, {"eth3", 3}};
    LinkWatch watch({"eth1", "eth2", "eth3"});
    constexpr std::uint64_t mega = 1'000'000, second = 1'000'000;
    // The bytes that eth1 carried before do not count, and device 9 is not a link.
    std::vector<TcpTraffic> now{{11, 1, 900 * mega, second}, {12, 2, 0, 0}, {19, 9, 0, 0}};
    CHECK(watch.compare(now, indices, 5s).empty());
    for (int look = 1; look <= 6; ++look) {
        now[0].bytes += 5 * mega;  // two connections over it, half of the link each
        now[0].busy += 2 * second;
        now[1].bytes += 500 * mega;
        now[1].busy += 5 * second;
        now[2].bytes += 5000 * mega;
        now[2].busy += 5 * second;
        std::vector<TcpTraffic> all = now;
        all.push_back({20, 1, look * 5 * mega, look * 2 * second});
        all.push_back(
            {30 + std::uint64_t(look), 3, 400 * mega, 4 * second});  // a new one each time
        const auto news = watch.compare(all, indices, 5s);
        CAPTURE(look);
        if (look == 3)
            CHECK(news == Troubles{{LinkTrouble::Kind::slowness, "eth1",
                                    "sends 2.5 MB/s over eth1, 100 MB/s over its other links"}});
        else
            CHECK(news.empty());
    }
}

}  // namespace link_watch_test
