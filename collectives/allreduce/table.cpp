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

// If ranks share cores, fewer messages matter more than fewer steps.
bool cores_for_all(const Conditions& c) {
    return !c.group.runtime().options().shares_cores;
}

}  // namespace

// Each is defined in its own file.
extern AlgorithmMaker<Arguments> area, parts, exchange, star, lines, scatter, disjoint;

const AlgorithmsFor<Arguments>& algorithms() {
    static const AlgorithmsFor<Arguments> table(
        {.operation = "allreduce",
         .help = "Algorithm of allreduce by vector size.",
         .defaults = "host: area<513KiB parts<1025KiB scatter; "
                     "crowded: area<1025KiB scatter; "
                     "links: exchange<2KiB lines<32KiB disjoint",
         .example = "links: exchange<4KiB disjoint"},
        {{area_row("ranks add in shared memory", "parts", adds_little), area},
         {{.name = "parts",
           .help = "each rank adds one part of the vector in shared memory",
           .applies = [](const Conditions& c) { return fits_area(c) && has_parts(c); },
           .instead = "scatter",
           .area = true},
          parts},
         {{.name = "exchange",
           .help = "all ranks of a line exchange vectors, dimension by dimension",
           .pays = cores_for_all,
           .instead = "lines"},
          exchange},
         {{.name = "star", .help = "reduce to the first rank, then broadcast"}, star},
         {{.name = "lines", .help = "reduce to the first rank of each line, then broadcast"},
          lines},
         {{.name = "scatter",
           .help = "each rank adds one part of the vector",
           .applies = has_parts,
           .pays = parts_pay,
           .instead = "lines"},
          scatter},
         {{.name = "disjoint",
           .help = "stripes up and down all disjoint trees",
           .applies = commutes_in_parts,
           .pays = more_than_two,
           .instead = "scatter"},
          disjoint}});
    return table;
}

}  // namespace torusmp::collectives::allreduce
