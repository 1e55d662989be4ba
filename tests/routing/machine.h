// SPDX-License-Identifier: BSD-3-Clause
// A machine as its hosts see it: the pairs of connected ports.
#pragma once

#include <string>
#include <vector>

#include "routing/recognize.h"

namespace torusmp::routing::test {

struct Machine {
    std::vector<std::string> names;
    std::vector<Cable> cables;
    std::vector<CableEnd> idle;  // ports that hear nothing
};

// Every node's ports are its directions' numbers; at the edges of an open mesh there are none.
inline Machine wire(const Torus& torus) {
    Machine machine;
    for (Rank rank = 0; rank < torus.size(); ++rank) {
        machine.names.push_back("n" + std::to_string(rank));
        for (int d = 0; d < torus.dimensions(); ++d) {
            const Direction up{d, +1};
            if (const auto next = torus.neighbour(rank, up))
                machine.cables.push_back({{rank, up.index()}, {*next, up.opposite().index()}});
        }
    }
    return machine;
}

}  // namespace torusmp::routing::test
