#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> optimal, apart;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "scatter",
         .help = "How a scatter goes, whatever its size.",
         .defaults = "host: apart; crowded: apart; links: optimal",
         .example = "links: optimal",
         .sized = false},
        {{{.name = "optimal", .help = "over all links of the root at once, furthest first"},
          optimal},
         {{.name = "apart", .help = "a message to each rank"}, apart}});
    return table;
}

}  // namespace torusmp::collectives::scatter
