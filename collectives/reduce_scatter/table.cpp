// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

// If values must be combined in member order, few messages are fastest up to this many bytes.
bool is_large_if_ordered(const Conditions& c) {
    return c.commutative || c.bytes > 8 * 1024;
}

}  // namespace

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, rings, lines, ordered, tree;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "reduce_scatter",
         .help = "Algorithm of reduce-scatter by vector size.",
         .defaults =
             "host: area<1025KiB lines; crowded: area<1025KiB lines; links: lines<64KiB rings",
         .example = "links: rings"},
        {{area_row("each rank adds its block in shared memory", "lines"), area},
         {{.name = "rings",
           .help = "blocks move from neighbour to neighbour over all links",
           .applies = commutes_in_parts,
           .instead = "ordered"},
          rings},
         {{.name = "lines",
           .help = "along the lines of each dimension in turn",
           .applies = commutes_in_parts,
           .instead = "ordered"},
          lines},
         {{.name = "ordered",
           .help = "each rank receives its block from every rank",
           .applies = has_parts,
           .pays = is_large_if_ordered,
           .instead = "tree"},
          ordered},
         {{.name = "tree", .help = "reduce to the first rank, then scatter"}, tree}});
    return table;
}

}  // namespace torusmp::collectives::reduce_scatter
