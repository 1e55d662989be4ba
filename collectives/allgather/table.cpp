// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/in_pieces.h"
#include "collectives/allgather/allgather.h"

namespace torusmp::collectives::allgather {
namespace {

bool in_pieces(const Conditions& c) {
    return InPieces::fit(c.room, c.group.size(), 1);
}

}  // namespace

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, pieces, rings, lines, everyone, star;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "allgather",
         .help = "Algorithm of allgather by the total size of all blocks.",
         .defaults = "host: area<1025KiB lines; crowded: area; links: lines<64KiB rings",
         .example = "links: rings"},
        {{area_row("every rank reads the blocks from shared memory", "pieces"), area},
         {InPieces::row("every rank reads the blocks from shared memory, piece by piece",
                        in_pieces),
          pieces},
         {{.name = "rings", .help = "blocks move from neighbour to neighbour over all links"},
          rings},
         {{.name = "lines", .help = "along the lines of each dimension in turn"}, lines},
         {{.name = "everyone", .help = "every rank sends to every rank"}, everyone},
         {{.name = "star", .help = "gather to the first rank, then broadcast"}, star}});
    return table;
}

}  // namespace torusmp::collectives::allgather
