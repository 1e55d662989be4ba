// SPDX-License-Identifier: BSD-3-Clause
#include "routing/steps.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "random_torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

struct Named {
    std::vector<int> dims;
    bool periodic = true;
    Rank root = 0;
    // Each link of the root leads to a fair share of the ranks by shortest paths.
    bool fair = true;
    Torus torus() const { return Torus(dims, std::vector<bool>(dims.size(), periodic)); }
};

int furthest(const Torus& torus, Rank root) {
    int most = 0;
    for (Rank rank = 0; rank < torus.size(); ++rank)
        most = std::max(most, torus.distance(root, rank));
    return most;
}

int half_rings(const Torus& torus) {
    int sum = 0;
    for (const int extent : torus.extents()) sum += extent / 2;
    return sum;
}

// The shapes on which the collectives must be optimal, with roots in corners, in the middle and
// between.
Named shape() {
    return GENERATE(
        Named{{8, 8}, true, 9}, Named{{4, 8, 8}, true, 100}, Named{{6, 8, 8}}, Named{{2, 2, 2}},
        Named{{3, 3, 3}}, Named{{4, 4, 4}, true, 63}, Named{{6, 6, 6}}, Named{{8, 8, 8}, true, 7},
        Named{{16, 16, 16}}, Named{{5, 7, 3}, true, 52}, Named{{4, 4, 2}}, Named{{2}}, Named{{9}},
        Named{{8, 8}, false, 0}, Named{{8, 8}, false, 36}, Named{{4, 8, 8}, false, 0},
        Named{{4, 8, 8}, false, 156}, Named{{5, 7, 3}, false, 0}, Named{{5, 7, 3}, false, 52},
        Named{{5, 7, 3}, false, 3, false}, Named{{5}, false, 0}, Named{{5}, false, 1, false},
        Named{{7, 2}, false, 6});
}

}  // namespace

TEST_CASE("broadcast and reduce take as many steps as the furthest rank is away") {
    const Named named = shape();
    const Torus torus = named.torus();
    CAPTURE(torus.describe(), named.root);
    const SpanningTree tree = dimension_ordered_tree(torus, named.root);
    for (const auto& messages : {broadcast_messages(tree), reduce_messages(tree)}) {
        REQUIRE(int(messages.size()) == torus.size() - 1);
        const Replay result = replay(torus, messages);
        CHECK(result.steps == furthest(torus, named.root));
        if (named.periodic) CHECK(result.steps == half_rings(torus));
        CHECK(result.collisions == 0);
        CHECK(result.most_on_an_arc == 1);
    }
}

TEST_CASE("the optimal scatter and gather keep the root's links busy, and nothing ever waits") {
    const Named named = shape();
    const Torus torus = named.torus();
    CAPTURE(torus.describe(), named.root);
    const Partition partition = optimal_partition(torus, named.root);
    const ScatterBounds bounds = scatter_bounds(partition);
    const int links = int(partition.first.size());
    CHECK(bounds.sending == (torus.size() - 2 + links) / links);

    const Replay scatter = replay(torus, scatter_messages(partition));
    CHECK(scatter.collisions == 0);
    // A root near an edge has a short side, whose link cannot share the load of the others: there
    // it is the largest region that takes as many steps to send as it has ranks.
    std::size_t largest = 0;
    for (const auto& order : partition.order) largest = std::max(largest, order.size());
    CHECK(scatter.sent == int(largest));
    if (named.fair) CHECK(scatter.sent == bounds.sending);
    CHECK(scatter.steps == std::max(scatter.sent, bounds.longest_chain));
    if (named.fair) CHECK(scatter.steps == std::max(bounds.sending, bounds.longest_chain));
    CHECK(scatter.most_on_an_arc == scatter.sent);

    const Replay gather = replay(torus, gather_messages(partition));
    CHECK(gather.collisions == 0);
    CHECK(gather.steps == scatter.steps);
    CHECK(gather.most_on_an_arc == scatter.most_on_an_arc);
}

TEST_CASE("no scatter by shortest direction first ends before the optimal one") {
    const Named named = shape();
    const Torus torus = named.torus();
    CAPTURE(torus.describe(), named.root);
    const int optimal = replay(torus, scatter_messages(optimal_partition(torus, named.root))).steps;
    const auto sdf = [&](SdfSending sending) {
        return replay(torus, sdf_scatter_messages(torus, named.root, sending));
    };
    const Replay all = sdf(SdfSending::all_links), single = sdf(SdfSending::one_at_a_time);
    CHECK(all.steps >= optimal);
    CHECK(single.sent >= torus.size() - 1);
    CHECK(single.steps >= all.steps);
    CHECK(replay(torus, sdf_gather_messages(torus, named.root)).steps >=
          furthest(torus, named.root));
}

TEST_CASE("on a random torus or mesh the optimal scatter never waits and ends at its bounds") {
    Random random{std::uint32_t(GENERATE(range(0, 60)))};
    const Torus torus = random_shape(random, 300).torus();
    const Rank root = between(random, 0, torus.size() - 1);
    CAPTURE(torus.describe(), root);
    const Partition partition = optimal_partition(torus, root);
    const ScatterBounds bounds = scatter_bounds(partition);
    const Replay scatter = replay(torus, scatter_messages(partition));
    CHECK(scatter.collisions == 0);
    CHECK(scatter.sent >= bounds.sending);
    CHECK(scatter.steps == std::max(scatter.sent, bounds.longest_chain));
    const Replay gather = replay(torus, gather_messages(partition));
    CHECK(gather.collisions == 0);
    CHECK(gather.steps == scatter.steps);
}

TEST_CASE("a message in pieces fills all disjoint trees, and no piece waits") {
    Random random{std::uint32_t(GENERATE(range(0, 30)))};
    const Torus torus = random_shape(random, 100).torus();
    const Rank root = between(random, 0, torus.size() - 1);
    CAPTURE(torus.describe(), root);
    const auto trees = disjoint_trees(torus, root);
    if (trees.empty()) return;
    int height = 0;
    for (const SpanningTree& tree : trees) height = std::max(height, tree.height());
    const int turns = 5;
    const Replay result =
        replay(torus, pipelined_broadcast_messages(trees, turns * int(trees.size())));
    CHECK(result.collisions == 0);
    CHECK(result.most_on_an_arc == turns);
    CHECK(result.steps == turns - 1 + height);
}

TEST_CASE(
    "of several messages for one arc one is sent, and each waiting step of the others counts") {
    const Torus ring(std::vector{6});
    const Direction up{0, +1};
    // Three from rank 0 to rank 1 at once, and one to rank 2 that comes through at the same time.
    const std::vector<Message> messages = {{0, {{up, 1}}, 0, {}},
                                           {0, {{up, 1}}, 0, {}},
                                           {0, {{up, 1}, {up, 2}}, 0, {}},
                                           {1, {{up, 2}}, 3, {}}};
    const Replay result = replay(ring, messages);
    // The third message waits for two others, the second for one; at rank 1 in step 4 the message
    // that starts there was not there before, so the one that came through goes first.
    CHECK(result.collisions == 2 + 1 + 1);
    CHECK(result.sent == 5);
    CHECK(result.steps == 5);
    CHECK(result.most_on_an_arc == 3);
    CHECK(result.mean_on_an_arc == Approx(5 / 12.0));
}

TEST_CASE("a schedule that cannot be replayed is refused") {
    const Torus line(std::vector{3}, {false});
    const std::vector<Message> off_the_edge = {{2, {{{0, +1}, 0}}, 0, {}}};
    CHECK_THROWS_AS(replay(line, off_the_edge), std::invalid_argument);
    const std::vector<Message> no_path = {{1, {}, 0, {}}};
    CHECK_THROWS_AS(replay(line, no_path), std::invalid_argument);
    const std::vector<Message> waits_for_itself = {{1, {{{0, +1}, 2}}, 0, {0}}};
    CHECK_THROWS_AS(replay(line, waits_for_itself), std::invalid_argument);
    CHECK(replay(line, {}).steps == 0);
}
