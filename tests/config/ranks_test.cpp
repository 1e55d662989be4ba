// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>

#include "config/geometry.h"
#include "config/load.h"
#include "job/settings.h"

using namespace torusmp;
using namespace torusmp::config;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using torusmp::job::schema;

namespace {

Settings with(const std::string& dims, const std::string& block = {},
              const std::string& periodic = {}) {
    LoadRequest request;
    if (!dims.empty()) request.flags.push_back({"torus.dims", dims, "--torus"});
    if (!block.empty()) request.flags.push_back({"torus.ranks_per_node", block, {}});
    if (!periodic.empty()) request.flags.push_back({"torus.periodic", periodic, {}});
    return load(schema(), request, {});
}

std::vector<int> extents(const routing::Torus& torus) {
    return {torus.extents().begin(), torus.extents().end()};
}

}  // namespace

TEST_CASE("Without dimensions the ranks form a balanced torus of three") {
    CHECK(extents(rank_torus(with(""), 12)) == std::vector<int>{3, 2, 2});
    CHECK(extents(rank_torus(with(""), 1)) == std::vector<int>{1, 1, 1});
    CHECK_FALSE(rank_torus(with("", "", "true,true,false"), 8).periodic(2));
}

TEST_CASE("The torus of ranks is nodes times the block inside each, and wraps as they do") {
    const routing::Torus torus = rank_torus(with("4x8x8", "1x1x2", "true,true,false"), 512);
    CHECK(extents(torus) == std::vector<int>{4, 8, 16});
    CHECK(torus.periodic(0));
    CHECK_FALSE(torus.periodic(2));
}

TEST_CASE("A number of ranks that differs from the torus is refused with both numbers and advice") {
    CHECK_THROWS_WITH(rank_torus(with("2x2x2"), 12),
                      StartsWith("torus.dims = 2x2x2 (--torus) makes 8 ranks, but 12 ranks") &&
                          Contains("more than the torus has") && Contains("start 8") &&
                          Contains("for example 3x2x2"));
    CHECK_THROWS_WITH(rank_torus(with("2x2x2"), 1),
                      Contains("1 rank is started") && Contains("fewer than the torus has"));
    CHECK_THROWS_WITH(rank_torus(with("2x2", "1x2"), 6),
                      Contains("ranks_per_node = 1x2 (--set torus.ranks_per_node)") &&
                          Contains("makes 8 ranks") && Contains("to 3 nodes, for example 3x1"));
    CHECK_THROWS_WITH(rank_torus(with("2x2", "1x2"), 7), Contains("or change torus.dims"));
    CHECK_THROWS_WITH(rank_torus(with("2x2", "3x3"), 2), Contains("makes 36 ranks"));
    for (int ranks : {0, -1, max_ranks + 1}) {
        CHECK_THROWS_AS(rank_torus(with(""), ranks), ConfigError);
        CHECK_THROWS_AS(rank_torus(with("2"), ranks), ConfigError);
    }
}

TEST_CASE("The node of a rank is the node of the block with its coordinates") {
    const Settings settings = with("2x3x4", "2x1x3");
    const routing::Torus ranks = rank_torus(settings, 24 * 6);
    const routing::Torus nodes = *node_torus(settings);
    REQUIRE(ranks_on_a_node(settings) == 6);
    std::vector<int> population(24);
    for (int rank = 0; rank < ranks.size(); ++rank) {
        routing::Coordinates c = ranks.coordinates(rank);
        c[0] /= 2;
        c[2] /= 3;
        REQUIRE(node_of(settings, rank) == nodes.rank(c));
        ++population[std::size_t(node_of(settings, rank))];
    }
    CHECK(population == std::vector<int>(24, 6));
    CHECK_FALSE(node_torus(with("")));
}
