// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/in_pieces.h"
#include "collectives/alltoall/alltoall.h"

namespace torusmp::collectives::alltoall {
namespace {

// If neighbours in the grid are not neighbours in the torus, rings only lengthen paths, which does
// not pay for blocks larger than this.
constexpr std::size_t detours_up_to = 1024;
// Rings need several times as much memory as a member sends.
constexpr std::size_t rings_up_to = 64 * 1024 * 1024;

// From this many members on, one message per member costs more than a short block that is forwarded
// by a few of them.
constexpr int lines_from = 32;
constexpr std::size_t short_block = 4096;

bool is_even(const Conditions& c) {
    return c.even;
}
bool in_pieces(const Conditions& c) {
    return c.even && InPieces::fit(c.room, c.group.size(), std::size_t(c.group.size() - 1));
}
bool has_many(const Conditions& c) {
    return c.group.size() >= lines_from && c.bytes < short_block;
}
bool is_near_and_fits(const Conditions& c) {
    const bool too_large = c.bytes * std::size_t(c.group.size()) > rings_up_to;
    return !too_large && (c.bytes <= detours_up_to || c.group.on_links());
}

}  // namespace

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, pieces, rings, lines, pairs;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "alltoall",
         .help = "Algorithm of alltoall by block size.",
         .defaults = "host: area<513KiB pairs; crowded: area<2MiB pairs; "
                     "links: rings<1MiB pairs",
         .example = "links: rings<64KiB pairs"},
        {{area_row("each rank takes its blocks from shared memory", "pieces"), area},
         {InPieces::row("each rank takes its blocks from shared memory, piece by piece", in_pieces),
          pieces},
         {{.name = "rings",
           .help = "blocks move from neighbour to neighbour",
           .applies = is_even,
           .pays = is_near_and_fits,
           .instead = "pairs"},
          rings},
         {{.name = "lines",
           .help = "along the lines of each dimension in turn",
           .applies = is_even,
           .pays = has_many,
           .instead = "pairs"},
          lines},
         {{.name = "pairs", .help = "one message per block"}, pairs}});
    return table;
}

}  // namespace torusmp::collectives::alltoall
