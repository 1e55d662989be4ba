// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

bool parts_pay(const Conditions& c) {
    return c.bytes >= 256 * 1024;
}

}  // namespace

// Each is defined in its own file, except those along trees (trees.cpp).
extern AlgorithmMaker<Arguments> area, lines, scatter, tree, disjoint;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "reduce",
         .help = "How a reduction to one rank goes, by its size.",
         .defaults = "host: area<512KiB scatter; crowded: area<1025KiB lines; "
                     "links: tree<32KiB disjoint",
         .example = "links: tree<64KiB disjoint"},
        {{area_row("left where the root adds", "scatter", adds_little), area},
         {{.name = "lines", .help = "along each line to the rank at the root's coordinate"}, lines},
         {{.name = "scatter",
           .help = "each rank adds a part, the root gathers",
           .applies = has_parts,
           .pays = parts_pay,
           .instead = "lines"},
          scatter},
         {{.name = "tree",
           .help = "from neighbour to neighbour",
           .applies = commutes,
           .instead = "lines"},
          tree},
         {{.name = "disjoint",
           .help = "a stripe up each disjoint tree, all links busy",
           .applies = commutes_in_parts,
           .instead = "tree"},
          disjoint}});
    return table;
}

}  // namespace torusmp::collectives::reduce
