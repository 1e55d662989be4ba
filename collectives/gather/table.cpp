// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, optimal, apart;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "gather",
         .help = "How a gather goes, whatever its size.",
         .defaults = "host: area; crowded: area; links: optimal",
         .example = "links: optimal",
         .sized = false},
        {{area_row("small blocks left where the root takes them", "apart"), area},
         {{.name = "optimal", .help = "over all links of the root at once, in common frames"},
          optimal},
         {{.name = "apart", .help = "a message from each rank"}, apart}});
    return table;
}

}  // namespace torusmp::collectives::gather
