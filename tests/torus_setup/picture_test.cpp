// SPDX-License-Identifier: BSD-3-Clause
// The drawing of a machine.
#include "programs/torus_setup/picture.h"

#include <catch2/catch.hpp>

using torusmp::routing::Torus;
using torusmp::torus_setup::draw;

TEST_CASE("A ring is closed and a line is open") {
    const std::vector<int> four{4};
    CHECK(draw(Torus(four), {"a", "b", "c", "dd"}) ==
          "  +--[a ]---[b ]---[c ]---[dd]--+\n"
          "  +-----------------------------+\n");
    CHECK(draw(Torus(four, {false}), {"a", "b", "c", "d"}) == "  [a]---[b]---[c]---[d]\n");
    CHECK(draw(Torus(std::vector<int>{1}), {"a"}) == "  [a]\n");
}

TEST_CASE("A plane has rows and columns, and dimensions of one host are not drawn") {
    const std::vector<int> dims{2, 1, 3};
    CHECK(draw(Torus(dims, {false, true, true}), {"a", "b", "c", "d", "e", "f"}) ==
          "  --[a]---[b]---[c]--\n"
          "     |     |     |\n"
          "  --[d]---[e]---[f]--\n"
          "  A cable that leaves the drawing at one side returns at the opposite side.\n");
    CHECK(draw(Torus(std::vector<int>{2, 2}, {false, false}), {"a", "b", "c", "d"}) ==
          "    [a]---[b]\n"
          "     |     |\n"
          "    [c]---[d]\n");
}

TEST_CASE("A machine that is not a torus is drawn as the neighbours of each host") {
    // A star with two cables to one of its hosts.
    const std::vector<std::pair<int, int>> pairs{{0, 1}, {0, 2}, {0, 2}, {0, 3}};
    const Torus star(std::make_shared<const torusmp::routing::Graph>(
        4, torusmp::routing::assign_directions(4, pairs)));
    CHECK(draw(star, {"a", "bb", "c", "d"}) ==
          "  [a ]--- bb, c (2 cables), d\n"
          "  [bb]--- a\n"
          "  [c ]--- a (2 cables)\n"
          "  [d ]--- a\n");
}

TEST_CASE("Each host of a torus of three dimensions is in one of its planes") {
    const std::vector<int> dims{2, 2, 2};
    const std::string drawing =
        draw(Torus(dims, {false, false, false}), {"a", "b", "c", "d", "e", "f", "g", "h"});
    CHECK(drawing ==
          "  Place 0 in dimension 0:\n"
          "    [a]---[b]\n"
          "     |     |\n"
          "    [c]---[d]\n"
          "  Place 1 in dimension 0:\n"
          "    [e]---[f]\n"
          "     |     |\n"
          "    [g]---[h]\n"
          "  A host has cables to its place in the next drawing along dimension 0.\n");
}
