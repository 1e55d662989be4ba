// SPDX-License-Identifier: BSD-3-Clause
#include "routing/walks.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "random_torus.h"

using namespace torusmp::routing;
using namespace torusmp::routing::test;

namespace {

int size_of(const std::vector<Piece>& pieces) {
    int size = 1;
    for (const Piece& piece : pieces) size *= piece.extent;
    return size;
}

// Steps between two places, each step along a piece counted once.
int steps_between(const std::vector<Piece>& pieces, const Coordinates& a, const Coordinates& b) {
    int steps = 0;
    for (const Piece& piece : pieces) {
        const int apart = std::abs(a[piece.dimension] - b[piece.dimension]) / piece.weight;
        steps += piece.closed ? std::min(apart, piece.extent - apart) : apart;
    }
    return steps;
}

void require_each_place_once(const std::vector<Piece>& pieces, const Walk& walk) {
    REQUIRE(int(walk.size()) == size_of(pieces));
    REQUIRE(walk.front() == Coordinates{});
    std::set<Coordinates> seen;
    for (const Coordinates& at : walk) {
        Coordinates rest = at;
        for (const Piece& piece : pieces) {
            REQUIRE(at[piece.dimension] % piece.weight == 0);
            REQUIRE(at[piece.dimension] / piece.weight >= 0);
            REQUIRE(at[piece.dimension] / piece.weight < piece.extent);
            rest[piece.dimension] = 0;
        }
        REQUIRE(rest == Coordinates{});
        seen.insert(at);
    }
    REQUIRE(seen.size() == walk.size());
}

// The lengths of all steps; a ring's last step leads home.
std::vector<int> step_lengths(const std::vector<Piece>& pieces, const Walk& walk, bool ring) {
    std::vector<int> lengths;
    for (std::size_t s = 0; s + (ring ? 0 : 1) < walk.size(); ++s) {
        lengths.push_back(steps_between(pieces, walk[s], walk[(s + 1) % walk.size()]));
    }
    return lengths;
}

std::vector<Piece> random_pieces(Random& random) {
    std::vector<Piece> pieces;
    const int count = between(random, 1, 4);
    for (int d = 0; d < count; ++d) {
        const bool closed = between(random, 0, 2) == 0;
        pieces.push_back({d, between(random, 2, 6), between(random, 1, 3), closed});
    }
    return pieces;
}

}  // namespace

TEST_CASE("a line visits every place of its box once, in single steps") {
    Random random{std::uint32_t(GENERATE(range(0, 60)))};
    const std::vector<Piece> pieces = random_pieces(random);
    for (const Walk& walk : candidate_walks(pieces, false)) {
        require_each_place_once(pieces, walk);
        for (int length : step_lengths(pieces, walk, false)) REQUIRE(length == 1);
    }
}

TEST_CASE("a ring visits every place once and returns in single steps if that is possible") {
    Random random{std::uint32_t(GENERATE(range(0, 120)))};
    const std::vector<Piece> pieces = random_pieces(random);
    bool closed = size_of(pieces) == 2 || (pieces.size() > 1 && size_of(pieces) % 2 == 0);
    for (const Piece& piece : pieces) closed = closed || piece.closed;
    const auto walks = candidate_walks(pieces, true);
    REQUIRE_FALSE(walks.empty());
    for (const Walk& walk : walks) {
        require_each_place_once(pieces, walk);
        const std::vector<int> lengths = step_lengths(pieces, walk, true);
        if (closed) {
            for (int length : lengths) REQUIRE(length == 1);
        } else {
            for (int length : lengths) REQUIRE((length == 1 || length == 2));
        }
    }
}

TEST_CASE("an open box of odd sides has a ring with a single diagonal step") {
    const std::vector<Piece> pieces{{0, 3, 1, false}, {1, 5, 1, false}, {2, 7, 1, false}};
    for (const Walk& walk : candidate_walks(pieces, true)) {
        const auto lengths = step_lengths(pieces, walk, true);
        CHECK(std::count(lengths.begin(), lengths.end(), 2) == 1);
        CHECK(std::count(lengths.begin(), lengths.end(), 1) == 104);
    }
}

TEST_CASE("a walk of one place has no pieces") {
    const std::vector<Piece> none;
    for (bool ring : {false, true}) CHECK(candidate_walks(none, ring) == std::vector<Walk>{{{}}});
}
