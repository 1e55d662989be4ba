// SPDX-License-Identifier: BSD-3-Clause
// Finds the torus or mesh that a set of cables forms, from the cables alone.
//
// A torus is the Cartesian product of rings and lines, and a connected graph has one prime
// factorization: the classes of its edges under Djokovic's and Winkler's relation together with
// "their ends have no other neighbour in common" (T. Feder, Product graph representations, J. Graph
// Theory 16, 1992). Each class of a torus is a ring or a line; a ring of four is itself a product,
// of two single edges, and is reassembled. The result is checked against every cable before it is
// returned.
//
// Pure; any thread may call. Time grows with the square of the number of cables.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// One end of a cable: a node and one of its ports. Equivalent ports of different nodes (the same
// device name on all of them) should have the same number: it helps to distinguish dimensions if
// the graph alone does not.
struct CableEnd {
    int node = 0;
    int port = 0;
    friend bool operator==(const CableEnd&, const CableEnd&) = default;
};

struct Cable {
    CableEnd a, b;
};

struct Recognized {
    Torus torus;
    std::vector<Rank> rank_of;  // by node
    // By node and Direction::index(): the port of the link in that direction, or no_port.
    std::vector<std::array<int, 2 * max_dimensions>> ports;
    static constexpr int no_port = -1;
};

struct Recognition {
    std::optional<Recognized> found;
    std::string reason;  // why it is not a torus, naming nodes; empty if it is one
};

// `names` has one name per node, for `reason`. Among the possible numberings of a torus it chooses
// one in which nodes given in row-major order keep their order, if possible.
Recognition recognize_torus(std::span<const std::string> names, std::span<const Cable> cables);

}  // namespace torusmp::routing
