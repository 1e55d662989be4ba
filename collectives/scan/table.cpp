// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scan/scan.h"

namespace torusmp::collectives::scan {
// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, lines, doubling, star, chain;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "scan",
         .help = "How a scan goes, by its size.",
         .defaults =
             "host: area<4KiB doubling; crowded: area<4KiB chain; links: doubling<16KiB lines",
         .example = "lines<8KiB doubling"},
        {{area_row("left where the next rank adds", "doubling"), area},
         {{.name = "lines", .help = "line by line", .pays = more_than_two, .instead = "chain"},
          lines},
         {{.name = "doubling",
           .help = "from 1, 2, 4, ... before",
           .pays = more_than_two,
           .instead = "chain"},
          doubling},
         {{.name = "star",
           .help = "over the first rank",
           .pays = more_than_two,
           .instead = "chain"},
          star},
         {{.name = "chain", .help = "from each to the next"}, chain}});
    return table;
}

}  // namespace torusmp::collectives::scan
