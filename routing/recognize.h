// SPDX-License-Identifier: BSD-3-Clause
// Which torus or mesh a set of cables forms, found from the cables alone.
//
// A torus is the Cartesian product of rings and lines, and a connected graph has one prime
// factorization: the classes of its edges under Djokovic's and Winkler's relation together with
// "their ends have no other neighbour in common" (T. Feder, Product graph representations, J. Graph
// Theory 16, 1992). Each class of a torus is a ring or a line; a ring of four is itself a product,
// of two single edges, and is put together again. The result is checked against every cable before
// it is returned.
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

// One end of a cable: a node and one of its ports. Ports of different nodes that are alike (one
// device name on all of them) should have one number: it helps to tell dimensions apart where the
// graph alone does not.
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
    // By node and Direction::index(): the port of the link that leaves that way, or no_port.
    std::vector<std::array<int, 2 * max_dimensions>> ports;
    static constexpr int no_port = -1;
};

struct Recognition {
    std::optional<Recognized> found;
    std::string reason;  // why it is no torus, naming nodes; empty if it is one
};

// `names`: of the nodes, for `reason`; as many as there are nodes. Of the many ways to number a
// torus it chooses one in which nodes given in row-major order keep their order, if that is
// possible.
Recognition recognize_torus(std::span<const std::string> names, std::span<const Cable> cables);

}  // namespace torusmp::routing
