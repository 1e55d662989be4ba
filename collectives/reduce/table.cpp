// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

bool parts_pay(const Conditions& c) {
    return more_than_two(c) && c.bytes >= 256 * 1024;
}

}  // namespace

// Each is defined in its own file, except those along trees (trees.cpp).
extern AlgorithmMaker<Arguments> area, lines, scatter, tree, disjoint;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "reduce",
         .help = "Algorithm of reduce by vector size.",
         .defaults = "host: area<1025KiB scatter; crowded: area<1025KiB lines; "
                     "links: tree<32KiB disjoint",
         .example = "links: tree<64KiB disjoint"},
        {{area_row("the root adds in shared memory", "scatter", adds_little), area},
         {{.name = "lines",
           .help = "along each line to the rank at the root's coordinate, dimension by dimension"},
          lines},
         {{.name = "scatter",
           .help = "each rank adds one part of the vector, the root gathers",
           .applies = has_parts,
           .pays = parts_pay,
           .instead = "lines"},
          scatter},
         {{.name = "tree",
           .help = "from neighbour to neighbour along one tree",
           .applies = commutes,
           .instead = "lines"},
          tree},
         {{.name = "disjoint",
           .help = "one stripe up each disjoint tree, over all links",
           .applies = commutes_in_parts,
           .instead = "tree"},
          disjoint}});
    return table;
}

}  // namespace torusmp::collectives::reduce
