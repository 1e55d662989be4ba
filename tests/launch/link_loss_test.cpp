// SPDX-License-Identifier: BSD-3-Clause
// The links that are reported to lose packets, found from the counters of the kernels.
#include "programs/torus_run/daemon/link_loss.h"

#include <catch2/catch.hpp>
#include <random>

using torusmp::base::TcpTraffic;
using torusmp::torus_run::LinkLoss;

namespace link_loss_test {
namespace {

const std::map<std::string, unsigned> indices{{"eth1", 1}, {"eth2", 2}};

// Two connections over eth1 and one over eth2, of which eth1 loses a share.
struct Host {
    Host(unsigned seed, double loss) : random(seed), share(loss) {
        for (std::uint64_t i = 0; i < 3; ++i) all.push_back({i + 1, i < 2 ? 1u : 2u});
    }
    void send(int packets) {
        for (TcpTraffic& it : all)
            for (int i = 0; i < packets; ++i) {
                ++it.packets;
                const double loss = it.device == 1 ? share : 0;
                while (std::uniform_real_distribution<double>(0, 1)(random) < loss) {
                    ++it.packets;
                    ++it.lost;
                }
            }
    }
    // Counts the reports on each device in a number of samples.
    std::map<std::string, int> reports(int looks, int packets) {
        std::map<std::string, int> found;
        LinkLoss loss{"sent"};
        loss.add(all, indices);
        for (int i = 0; i < looks; ++i) {
            send(packets);
            for (const auto& [device, what] : loss.add(all, indices)) ++found[device];
        }
        return found;
    }
    std::mt19937 random;
    double share;
    std::vector<TcpTraffic> all;
};

}  // namespace

TEST_CASE("Loss: a cable that loses a few packets in a hundred is reported once, and no other") {
    for (const double loss : {0.03, 0.05, 0.2, 0.6})
        for (const int packets : {5, 100, 3000})
            for (unsigned seed = 0; seed < 20; ++seed) {
                CAPTURE(loss, packets, seed);
                CHECK(Host(seed, loss).reports(300, packets) ==
                      std::map<std::string, int>{{"eth1", 1}});
            }
}

TEST_CASE("Loss: the losses of healthy cables are not reported") {
    for (const double loss : {0.0, 1e-6, 1e-4, 1e-3, 5e-3})
        for (unsigned seed = 0; seed < 20; ++seed) {
            CAPTURE(loss, seed);
            CHECK(Host(seed, loss).reports(400, 500).empty());
        }
}

TEST_CASE("Loss: a retransmission that proves unnecessary in a later window is no loss") {
    Host host(1, 0);
    LinkLoss loss{"sent"};
    loss.add(host.all, indices);
    host.all[0].lost += 1;
    host.send(4000);  // a whole window
    CHECK(loss.add(host.all, indices).empty());
    host.all[0].lost -= 1;
    host.send(100);
    CHECK(loss.add(host.all, indices).empty());
}

TEST_CASE("Loss: a silent cable is a different fault") {
    Host host(1, 0);
    LinkLoss loss{"sent"};
    loss.add(host.all, indices);
    host.send(100);
    for (int i = 0; i < 40; ++i) {
        host.all[0].packets += 1;
        host.all[0].lost += 1;
        host.all[0].silent = true;
        CHECK(loss.add(host.all, indices).empty());
    }
    host.all.erase(host.all.begin());  // it has died
    CHECK(loss.add(host.all, indices).empty());
}

TEST_CASE("Loss: packets lost before the job, or on other devices, are not counted") {
    std::vector<TcpTraffic> all{{1, 1}, {2, 9}};
    all[0].packets = 1000;
    all[0].lost = 900;
    LinkLoss loss{"sent"};
    CHECK(loss.add(all, indices).empty());
    all[1].packets = 1000;
    all[1].lost = 900;
    CHECK(loss.add(all, indices).empty());
    // A connection that is made while the job runs counts from its beginning.
    TcpTraffic fresh{3, 2};
    fresh.packets = 300;
    fresh.lost = 30;
    all.push_back(fresh);
    CHECK(loss.add(all, indices) ==
          std::map<std::string, std::string>{
              {"eth2", "10 % of the packets sent on eth2 are lost (30 of 300)"}});
}

TEST_CASE(
    "Loss: the loss of arriving packets is named as such, and a new session starts new counters") {
    LinkLoss loss{"received"};
    std::vector<TcpTraffic> all{{1, 2}};
    all[0].packets = 5000;
    CHECK(loss.add(all, indices).empty());
    all[0] = {2, 2};  // fewer than before
    all[0].packets = 400;
    all[0].lost = 20;
    CHECK(loss.add(all, indices) ==
          std::map<std::string, std::string>{
              {"eth2", "5 % of the packets received on eth2 are lost (20 of 400)"}});
}

}  // namespace link_loss_test
