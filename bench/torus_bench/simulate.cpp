// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/geometry.h"
#include "config/options.h"
#include "job/settings.h"
#include "routing/steps.h"

namespace torusmp::bench {
namespace {

using routing::Torus;

constexpr int most_ranks = 1 << 16;  // a torus this large takes seconds

std::vector<Torus> usual_shapes() {
    std::vector<Torus> tori;
    for (const auto& dims : {std::vector{8, 8},
                             {4, 8, 8},
                             {6, 8, 8},
                             {2, 2, 2},
                             {3, 3, 3},
                             {4, 4, 4},
                             {5, 5, 5},
                             {6, 6, 6},
                             {8, 8, 8},
                             {12, 12, 12},
                             {16, 16, 16},
                             {5, 7, 3},
                             {4, 4, 2},
                             {4, 4, 4, 4},
                             {32, 32, 32}})
        tori.emplace_back(dims);
    for (const auto& dims : {std::vector{8, 8}, {4, 8, 8}, {5, 7, 3}, {16, 16, 16}})
        tori.emplace_back(dims, std::vector<bool>(dims.size(), false));
    return tori;
}

std::vector<Torus> shapes_of(const Options& options) {
    const config::Settings settings = config::load(job::schema(), options.settings);
    const auto nodes = node_torus(settings);
    if (!nodes) return usual_shapes();
    return {rank_torus(settings, nodes->size() * ranks_on_a_node(settings))};
}

void check(const Torus& torus, int root) {
    if (torus.size() > most_ranks)
        throw config::UsageError(fmt::format("--torus {}: found {} ranks, expected up to {}",
                                             torus.describe(), torus.size(), most_ranks));
    if (root >= torus.size())
        throw config::UsageError(fmt::format("--from {}: expected a rank of {}, from 0 to {}", root,
                                             torus.describe(), torus.size() - 1));
}

std::vector<Column> columns() {
    std::vector<Column> all = {{"the torus", "ranks", ""},
                               {"the torus", "links", "of root"},
                               {"one to all", "broadcast", "steps"},
                               {"one to all", "reduce", "steps"},
                               {"bounds", "T1", "steps"},
                               {"bounds", "T2", "steps"},
                               {"scatter OPT", "sent", "steps"},
                               {"scatter OPT", "ends", "steps"},
                               {"scatter OPT", "waits", "steps"},
                               {"scatter OPT", "a link", "messages"},
                               {"SDF, all links", "ends", "steps"},
                               {"SDF, all links", "a link", "messages"},
                               {"SDF, one a step", "ends", "steps"},
                               {"SDF, one a step", "/ OPT", ""},
                               {"gather", "OPT", "steps"},
                               {"gather", "SDF", "steps"},
                               {"disjoint trees", "trees", ""},
                               {"disjoint trees", "height", "steps"}};
    // Plotted over the number of ranks; several tori may have the same number.
    int colour = 0;
    for (Column& column : all) {
        column.count = column.name != "/ OPT";
        if (column.unit == "steps" && (column.name == "broadcast" || column.name == "ends"))
            column.draw = Column::Draw::points, column.colour = colour++;
    }
    return all;
}

Row row_of(const Torus& torus, int root) {
    using routing::replay;
    const auto tree = routing::dimension_ordered_tree(torus, root);
    const auto partition = routing::optimal_partition(torus, root);
    const auto bounds = routing::scatter_bounds(partition);
    const auto opt = replay(torus, routing::scatter_messages(partition));
    const auto sdf = [&](routing::SdfSending sending) {
        return replay(torus, routing::sdf_scatter_messages(torus, root, sending));
    };
    const auto all_links = sdf(routing::SdfSending::all_links);
    const auto one = sdf(routing::SdfSending::one_at_a_time);
    const auto trees = routing::disjoint_trees(torus, root);
    int height = 0;
    for (const auto& each : trees) height = std::max(height, each.height());

    Row row;
    row.label = torus.describe();
    row.bytes = std::size_t(torus.size());
    const auto put = [&](double value) { row.figures.push_back({value, value, {value}}); };
    put(torus.size());
    put(double(partition.first.size()));
    put(replay(torus, routing::broadcast_messages(tree)).steps);
    put(replay(torus, routing::reduce_messages(tree)).steps);
    put(bounds.sending);
    put(bounds.longest_chain);
    put(opt.sent);
    put(opt.steps);
    put(double(opt.collisions));
    put(opt.most_on_an_arc);
    put(all_links.steps);
    put(all_links.most_on_an_arc);
    put(one.steps);
    put(opt.steps == 0 ? 1 : double(one.steps) / opt.steps);
    put(replay(torus, routing::gather_messages(partition)).steps);
    put(replay(torus, routing::sdf_gather_messages(torus, root)).steps);
    put(double(trees.size()));
    put(height);
    return row;
}

}  // namespace

Table simulate(const Options& options) {
    const int root = options.from.value_or(0);
    const std::vector<Torus> tori = shapes_of(options);
    for (const Torus& torus : tori) check(torus, root);

    Table table;
    table.key = "torus";
    table.x_label = "ranks of the torus";
    table.y_label = "steps";
    table.title = fmt::format(
        "Collectives from and to rank {}, replayed: in a step each link carries one message in "
        "each direction",
        root);
    table.columns = columns();
    for (const Torus& torus : tori) table.rows.push_back(row_of(torus, root));
    table.notes = {
        "Broadcast and reduce run along dimension-ordered trees.",
        "OPT: one region per link of the root, furthest destination first. T1: the number of "
        "other ranks",
        "divided by the root's links; T2: the maximum over messages of those sent before and the "
        "distance.",
        "SDF: ranks in order, each by shortest direction first; each link of the root takes its",
        "next message immediately, or the root sends one message per step.",
        "waits: steps that messages waited for a link in use, in total;",
        "a link: messages over the busiest link. sent: step in which the last message leaves the "
        "root.",
        "disjoint trees: number of spanning trees that share no link, for pipelined broadcasts."};
    return table;
}

}  // namespace torusmp::bench
