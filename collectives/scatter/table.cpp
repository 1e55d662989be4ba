// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, optimal, apart, one;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "scatter",
         .help = "Algorithm of scatter (the same for all sizes).",
         .defaults = "host: area; crowded: area; links: optimal",
         .example = "links: optimal",
         .sized = false},
        {{area_row("each rank takes small blocks from shared memory", "apart"), area},
         {{.name = "optimal", .help = "over all links of the root, furthest ranks first"}, optimal},
         {{.name = "apart", .help = "one message per rank"}, apart},
         {{.name = "one", .help = "one message at a time, for comparison"}, one}});
    return table;
}

}  // namespace torusmp::collectives::scatter
