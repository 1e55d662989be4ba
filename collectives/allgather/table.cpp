// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, rings, lines, everyone, star;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "allgather",
         .help = "How an allgather goes, by the size of all blocks.",
         .defaults = "host: area<512KiB lines; crowded: area<4MiB lines; links: lines<64KiB rings",
         .example = "links: rings"},
        {{area_row("left where all read it", "lines"), area},
         {{.name = "rings", .help = "from neighbour to neighbour over all links at once"}, rings},
         {{.name = "lines", .help = "line by line"}, lines},
         {{.name = "everyone", .help = "each to each"}, everyone},
         {{.name = "star", .help = "over the first rank"}, star}});
    return table;
}

}  // namespace torusmp::collectives::allgather
