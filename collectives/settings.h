// What a user may set of collectives: which form of each is taken, and whether members compare what
// they call.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>

#include "config/collectives.h"
#include "config/settings.h"
#include "config/types.h"

namespace torusmp::collectives {
namespace setting {

using config::Collective;
using Forms = config::Setting<config::FormTable>;

inline const Forms broadcast{
    "collectives.broadcast",
    config::forms_type(Collective::broadcast),
    config::default_forms(Collective::broadcast),
    "How a broadcast goes, by its size. lines: each root of a line to all of the line. scatter: "
    "parts are dealt out and gathered. tree: from neighbour to neighbour. disjoint: a stripe along "
    "each disjoint tree, all links busy.",
    {.example = "links: tree<64KiB disjoint"}};
inline const Forms reduce{"collectives.reduce",
                          config::forms_type(Collective::reduce),
                          config::default_forms(Collective::reduce),
                          "How a reduction to one rank goes, by its size: lines, tree or disjoint.",
                          {.example = "links: tree<64KiB disjoint"}};
inline const Forms allreduce{
    "collectives.allreduce",
    config::forms_type(Collective::allreduce),
    config::default_forms(Collective::allreduce),
    "How a sum over all ranks goes, by its size. exchange: along each line everybody gets all. "
    "star: to the first rank and back. lines: to the first of each line and back. scatter: each "
    "rank adds a part. disjoint: up and down all disjoint trees.",
    {.example = "links: exchange<4KiB disjoint"}};
inline const Forms scatter{
    "collectives.scatter",
    config::forms_type(Collective::scatter),
    config::default_forms(Collective::scatter),
    "How a scatter goes, whatever its size. optimal: over all links of the root at once, furthest "
    "first. apart: a message to each rank.",
    {.example = "links: optimal"}};
inline const Forms gather{"collectives.gather",
                          config::forms_type(Collective::gather),
                          config::default_forms(Collective::gather),
                          "How a gather goes, whatever its size: optimal or apart.",
                          {.example = "links: optimal"}};
inline const Forms allgather{
    "collectives.allgather",
    config::forms_type(Collective::allgather),
    config::default_forms(Collective::allgather),
    "How an allgather goes, by the size of all blocks. rings: from neighbour to neighbour over all "
    "links at once. lines: line by line. everyone: each to each. star: over the first rank.",
    {.example = "links: rings"}};
inline const Forms reduce_scatter{
    "collectives.reduce_scatter",
    config::forms_type(Collective::reduce_scatter),
    config::default_forms(Collective::reduce_scatter),
    "How a reduce-scatter goes, by the size of the vector. rings, lines; ordered: each rank gets "
    "its block from all. tree: over the first rank.",
    {.example = "links: rings"}};
inline const Forms alltoall{
    "collectives.alltoall",
    config::forms_type(Collective::alltoall),
    config::default_forms(Collective::alltoall),
    "How an alltoall goes, by the size of a block. rings: from neighbour to neighbour. lines: line "
    "by line. pairs: every block by itself.",
    {.example = "links: rings<64KiB pairs"}};
inline const Forms scan{
    "collectives.scan",
    config::forms_type(Collective::scan),
    config::default_forms(Collective::scan),
    "How a scan goes, by its size. lines: line by line. doubling: from 1, 2, 4, ... before. star: "
    "over the first rank. chain: from each to the next.",
    {.example = "lines<8KiB doubling"}};
inline const config::Setting<bool> check{
    "collectives.check", config::boolean(), false,
    "Whether ranks compare what they call before each collective, and name the two that differ. "
    "Costs one more exchange along every line."};

// By Collective.
inline const std::array<const Forms*, std::tuple_size_v<config::FormTables>> forms{
    &broadcast, &reduce,         &allreduce, &scatter, &gather,
    &allgather, &reduce_scatter, &alltoall,  &scan};

inline const config::Table table{&broadcast, &reduce,         &allreduce, &scatter, &gather,
                                 &allgather, &reduce_scatter, &alltoall,  &scan,    &check};

}  // namespace setting

inline config::CollectivePolicy policy_of(const config::Settings& settings) {
    config::CollectivePolicy policy;
    for (std::size_t i = 0; i < policy.forms.size(); ++i)
        policy.forms[i] = settings[*setting::forms[i]];
    policy.check = settings[setting::check];
    return policy;
}

}  // namespace torusmp::collectives
