// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/scan/scan.h"

namespace torusmp::collectives::scan {
// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, lines, doubling, star, chain;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "scan",
         .help = "Algorithm of scan by vector size.",
         .defaults =
             "host: area<4KiB doubling; crowded: area<4KiB chain; links: doubling<16KiB lines",
         .example = "lines<8KiB doubling"},
        {{area_row("the next rank adds in shared memory", "doubling"), area},
         {{.name = "lines",
           .help = "along the lines of each dimension in turn",
           .pays = more_than_two,
           .instead = "chain"},
          lines},
         {{.name = "doubling",
           .help = "recursive doubling",
           .pays = more_than_two,
           .instead = "chain"},
          doubling},
         {{.name = "star",
           .help = "the first rank adds all vectors",
           .pays = more_than_two,
           .instead = "chain"},
          star},
         {{.name = "chain", .help = "from each rank to the next"}, chain}});
    return table;
}

}  // namespace torusmp::collectives::scan
