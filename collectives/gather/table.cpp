// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, optimal, apart;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "gather",
         .help = "Algorithm of gather (the same for all sizes).",
         .defaults = "host: area; crowded: area; links: optimal",
         .example = "links: optimal",
         .sized = false},
        {{area_row("the root takes small blocks from shared memory", "apart"), area},
         {{.name = "optimal", .help = "over all links of the root, several blocks per packet"},
          optimal},
         {{.name = "apart", .help = "one message per rank"}, apart}});
    return table;
}

}  // namespace torusmp::collectives::gather
