// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allreduce/allreduce.h"

namespace torusmp::collectives::allreduce {
namespace {

// Two ranks of one host need more than this to gain by adding half each.
constexpr std::size_t halves_from = 192 * 1024;
constexpr std::size_t parts_from = 32 * 1024;

bool parts_pay(const Conditions& c) {
    return more_than_two(c) ? c.bytes >= parts_from : c.group.direct() && c.bytes >= halves_from;
}

}  // namespace

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, exchange, star, lines, scatter, disjoint;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "allreduce",
         .help = "How a sum over all ranks goes, by its size.",
         .defaults = "host: area<512KiB scatter; "
                     "crowded: area<1025KiB scatter; "
                     "links: exchange<2KiB lines<32KiB disjoint",
         .example = "links: exchange<4KiB disjoint"},
        {{area_row("left where others add", "scatter", adds_little), area},
         {{.name = "exchange", .help = "along each line everybody gets all"}, exchange},
         {{.name = "star", .help = "to the first rank and back"}, star},
         {{.name = "lines", .help = "to the first of each line and back"}, lines},
         {{.name = "scatter",
           .help = "each rank adds a part",
           .applies = has_parts,
           .pays = parts_pay,
           .instead = "lines"},
          scatter},
         {{.name = "disjoint",
           .help = "up and down all disjoint trees",
           .applies = commutes_in_parts,
           .pays = more_than_two,
           .instead = "scatter"},
          disjoint}});
    return table;
}

}  // namespace torusmp::collectives::allreduce
