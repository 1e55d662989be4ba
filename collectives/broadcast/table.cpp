// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {

// Each is defined in its own file, except those along trees (trees.cpp).
extern AlgorithmMaker<Arguments> area, lines, scatter, tree, disjoint;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "broadcast",
         .help = "Algorithm of broadcast by size.",
         .defaults = "host: area<1025KiB scatter; crowded: area<1025KiB lines; "
                     "links: tree<32KiB disjoint",
         .example = "links: tree<64KiB disjoint"},
        {{area_row("every rank reads from shared memory", "lines"), area},
         {{.name = "lines", .help = "the first rank of each line sends to the whole line"}, lines},
         {{.name = "scatter",
           .help = "scatter, then allgather",
           .pays = more_than_two,
           .instead = "lines"},
          scatter},
         {{.name = "tree", .help = "from neighbour to neighbour along one tree"}, tree},
         {{.name = "disjoint", .help = "one stripe along each disjoint tree, over all links"},
          disjoint}});
    return table;
}

}  // namespace torusmp::collectives::broadcast
