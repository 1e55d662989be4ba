// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, rings, lines, everyone, star;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "allgather",
         .help = "Algorithm of allgather by the total size of all blocks.",
         .defaults = "host: area<512KiB lines; crowded: area<4MiB lines; links: lines<64KiB rings",
         .example = "links: rings"},
        {{area_row("every rank reads the blocks from shared memory", "lines"), area},
         {{.name = "rings", .help = "blocks move from neighbour to neighbour over all links"},
          rings},
         {{.name = "lines", .help = "along the lines of each dimension in turn"}, lines},
         {{.name = "everyone", .help = "every rank sends to every rank"}, everyone},
         {{.name = "star", .help = "gather to the first rank, then broadcast"}, star}});
    return table;
}

}  // namespace torusmp::collectives::allgather
