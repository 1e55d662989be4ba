// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, optimal, apart, one;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "scatter",
         .help = "How a scatter goes, whatever its size.",
         .defaults = "host: area; crowded: area; links: optimal",
         .example = "links: optimal",
         .sized = false},
        {{area_row("small blocks left where each rank takes its own", "apart"), area},
         {{.name = "optimal", .help = "over all links of the root at once, furthest first"},
          optimal},
         {{.name = "apart", .help = "a message to each rank"}, apart},
         {{.name = "one", .help = "one message at a time leaves the root, to compare with"}, one}});
    return table;
}

}  // namespace torusmp::collectives::scatter
