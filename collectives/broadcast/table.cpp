// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/broadcast.h"

namespace torusmp::collectives::broadcast {

// Each is defined in its own file, except those along trees (trees.cpp).
extern AlgorithmMaker<Arguments> area, lines, scatter, tree, disjoint;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "broadcast",
         .help = "How a broadcast goes, by its size.",
         .defaults = "host: area<256KiB scatter; crowded: area<1025KiB lines; "
                     "links: tree<32KiB disjoint",
         .example = "links: tree<64KiB disjoint"},
        {{area_row("left where all read it", "lines"), area},
         {{.name = "lines", .help = "each root of a line to all of the line"}, lines},
         {{.name = "scatter",
           .help = "parts are dealt out and gathered",
           .pays = more_than_two,
           .instead = "lines"},
          scatter},
         {{.name = "tree", .help = "from neighbour to neighbour"}, tree},
         {{.name = "disjoint", .help = "a stripe along each disjoint tree, all links busy"},
          disjoint}});
    return table;
}

}  // namespace torusmp::collectives::broadcast
