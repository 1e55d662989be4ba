// SPDX-License-Identifier: BSD-3-Clause
// The tree of daemons on a torus with dead cables.
#include "programs/torus_run/tree/daemon_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "programs/torus_run/front/order.h"
#include "programs/torus_run/tree/child_daemons.h"
#include "routing/detours.h"

namespace torusmp::torus_run::daemon_tree_test {
namespace {

using routing::Rank;
using routing::Torus;

// All hosts of a torus with some dead cables. Daemons start the other daemons as the tree orders.
class Hosts {
  public:
    Hosts(const Torus& torus, std::vector<routing::Link> dead, int start)
        : parts(torus, dead), tree(spanning_tree(torus, start), torus), start_(start) {}

    // Nodes for which no way was left, in the order in which that was found.
    std::vector<int> run(std::mt19937& dice) {
        greet(start_);
        while (!tried_.empty()) {
            std::shuffle(tried_.begin(), tried_.end(), dice);
            const auto [parent, node] = tried_.back();
            tried_.pop_back();
            REQUIRE(tree.parents()[std::size_t(node)] == parent);
            if (joined(parent, node)) {
                greet(node);
                continue;
            }
            ++failures;
            if (!tree.failed(node)) lost.push_back(node);
            start_children();
        }
        return lost;
    }

    routing::Parts parts;
    DaemonTree tree;
    std::vector<int> lost;
    int failures = 0;

  private:
    bool joined(int parent, int node) const {
        const auto steps = parts.steps(parent);
        return std::any_of(steps.begin(), steps.end(),
                           [&](const routing::Hop& hop) { return hop.rank == node; });
    }
    void greet(int node) {
        REQUIRE_FALSE(tree.has_greeted(node));
        tree.greeted(node);
        start_children();
    }
    // As ChildDaemons does on each host.
    void start_children() {
        for (int node = 0; node < parts.torus().size(); ++node) {
            const int parent = tree.parents()[std::size_t(node)];
            if (parent >= 0 && tree.has_greeted(parent) && begun_.insert({parent, node}).second)
                tried_.push_back({parent, node});
        }
    }

    const int start_;
    std::set<std::pair<int, int>> begun_;
    std::deque<std::pair<int, int>> tried_;
};

std::vector<routing::Link> some_dead(std::mt19937& dice, const Torus& torus, int percent) {
    std::vector<routing::Link> dead;
    for (Rank rank = 0; rank < torus.size(); ++rank)
        for (int d = 0; d < torus.dimensions(); ++d)
            if (torus.neighbour(rank, {d, +1}) && int(dice() % 100) < percent)
                dead.push_back({rank, d});
    return dead;
}

}  // namespace

TEST_CASE("Every host that living cables join to the first is started, whichever cables are dead") {
    std::mt19937 dice(20);
    const std::vector<Torus> tori{Torus(std::vector{2}), Torus(std::vector{2, 2, 2}),
                                  Torus(std::vector{3, 3, 2}), Torus(std::vector{4, 4}),
                                  Torus(std::vector{5, 3}, {false, true})};
    for (int round = 0; round < 500; ++round) {
        const Torus& torus = tori[std::size_t(round) % tori.size()];
        const int start = int(dice() % unsigned(torus.size()));
        Hosts hosts(torus, some_dead(dice, torus, round % 60), start);
        hosts.run(dice);
        for (int node = 0; node < torus.size(); ++node)
            REQUIRE(hosts.tree.has_greeted(node) ==
                    (hosts.parts.of(node) == hosts.parts.of(start)));
        // Living cables lead to each host that was reached. Each other host is reported as lost, or
        // lies behind a lost one.
        std::vector<bool> reported(std::size_t(torus.size()));
        for (const int node : hosts.lost) {
            reported[std::size_t(node)] = true;
            for (const int other : hosts.tree.behind(node)) reported[std::size_t(other)] = true;
        }
        for (int node = 0; node < torus.size(); ++node)
            REQUIRE(reported[std::size_t(node)] != hosts.tree.has_greeted(node));
    }
}

TEST_CASE("Without dead cables the tree stays as it was planned") {
    std::mt19937 dice(1);
    const Torus torus(std::vector{3, 4, 2});
    Hosts hosts(torus, {}, 5);
    CHECK(hosts.run(dice).empty());
    CHECK(hosts.failures == 0);
    CHECK(hosts.tree.parents() == spanning_tree(torus, 5));
}

TEST_CASE("An unreachable host is reported with all hosts that tried, and nothing else is lost") {
    std::mt19937 dice(1);
    const Torus torus(std::vector{3, 3});
    std::vector<routing::Link> dead;
    for (int i = 0; i < 4; ++i)
        dead.push_back(routing::link_by(torus, 4, routing::Direction::from_index(i)));
    Hosts hosts(torus, dead, 0);
    CHECK(hosts.run(dice) == std::vector<int>{4});
    CHECK(hosts.tree.behind(4).empty());
    CHECK(hosts.tree.others_that_tried(4).size() == 3);
}

TEST_CASE("If hosts are reached over a network, each has one path") {
    DaemonTree tree({-1, 0, 0}, std::nullopt);
    tree.greeted(0);
    CHECK_FALSE(tree.failed(2));
    CHECK(tree.parents() == std::vector<int>{-1, 0, 0});
    CHECK(tree.others_that_tried(2).empty());
}

}  // namespace torusmp::torus_run::daemon_tree_test
