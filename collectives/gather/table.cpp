#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> optimal, apart;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "gather",
         .help = "How a gather goes, whatever its size.",
         .defaults = "host: apart; crowded: apart; links: optimal",
         .example = "links: optimal",
         .sized = false},
        {{{.name = "optimal", .help = "over all links of the root at once, in common frames"},
          optimal},
         {{.name = "apart", .help = "a message from each rank"}, apart}});
    return table;
}

}  // namespace torusmp::collectives::gather
