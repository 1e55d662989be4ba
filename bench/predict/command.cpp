// SPDX-License-Identifier: BSD-3-Clause
#include "bench/predict/command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>

#include "base/units.h"
#include "bench/predict/model.h"
#include "bench/predict/routes.h"
#include "bench/predict/schedules.h"
#include "bench/predict/workloads.h"
#include "config/geometry.h"
#include "config/options.h"
#include "job/settings.h"

namespace torusmp::bench {
namespace {

using routing::Rank;
using routing::Torus;

constexpr int most_predicted_ranks = 4096;
// Schedules are replayed up to this number of ranks.
constexpr int most_replayed_ranks = 1 << 16;
// An all-to-all that moves more bytes in total is omitted, unless it is requested.
constexpr double most_of_alltoall = 1 << 27;

Torus torus_to_predict(const Options& options) {
    const config::Settings settings = config::load(job::schema(), options.settings);
    const auto nodes = node_torus(settings);
    if (!nodes)
        throw config::UsageError("predict: missing torus: give --torus, for example 8x8x16");
    Torus torus = rank_torus(settings, nodes->size() * ranks_on_a_node(settings));
    if (torus.size() < 2 || torus.size() > most_replayed_ranks)
        throw config::UsageError(fmt::format("--torus {}: found {} ranks, expected 2 to {}",
                                             torus.describe(), torus.size(), most_replayed_ranks));
    return torus;
}

using Schedule = RouteProgram (*)(const Torus& torus, std::size_t bytes);
// The schedule that is replayed if the torus is too large to simulate the core of each rank; null
// if there is none.
Schedule schedule_of(const std::string& operation) {
    if (operation == "broadcast") return tree_broadcast;
    if (operation == "sum") return line_sum;
    return nullptr;
}

// If the torus is too large, omits operations without a schedule, unless the user gave them.
std::vector<std::string> operations_on(const Torus& torus, const Options& options) {
    std::vector<std::string> operations = options.operations;
    if (torus.size() <= most_predicted_ranks) return operations;
    const auto unknown = [](const std::string& name) { return schedule_of(name) == nullptr; };
    const auto asked = std::find_if(operations.begin(), operations.end(), unknown);
    if (options.operations_given && asked != operations.end())
        throw config::UsageError(
            fmt::format("--operation: found {} on {} ranks, expected broadcast or sum, or "
                        "up to {} ranks",
                        *asked, torus.size(), most_predicted_ranks));
    std::erase_if(operations, unknown);
    return operations;
}

Rank farthest(const Torus& torus) {
    Rank far = 1;
    for (Rank rank = 1; rank < torus.size(); ++rank)
        if (torus.distance(0, rank) > torus.distance(0, far)) far = rank;
    return far;
}

Rank nearest(const Torus& torus) {
    Rank near = 1;
    for (Rank rank = 1; rank < torus.size(); ++rank)
        if (torus.distance(0, rank) < torus.distance(0, near)) near = rank;
    return near;
}

Figure exactly(double value) {
    return {value, value, {value}};
}
Figure microseconds(double nanoseconds) {
    return exactly(nanoseconds / 1e3);
}

// A measure: its columns, and its figures for one size.
struct PredictedMeasure {
    std::vector<Column> columns;
    std::function<std::vector<Figure>(std::size_t bytes)> figures;
};

PredictedMeasure messages(const Torus& torus, Prediction& ours) {
    const Rank near = nearest(torus), far = farthest(torus);
    return {
        {{"a message", "neighbour", "us", Column::Draw::line, 0},
         {"a message", fmt::format("{} hops", torus.distance(0, far)), "us", Column::Draw::line, 1},
         {"a message", "stream", "MB/s", Column::Draw::no, 0}},
        [=, &ours](std::size_t bytes) {
            const double each = ours.stream(near, bytes);
            return std::vector{microseconds(ours.latency(near, bytes)),
                               microseconds(ours.latency(far, bytes)),
                               exactly(double(bytes) / each * 1e9 / megabyte)};
        }};
}

PredictedMeasure halo(const Torus& torus, Prediction& ours) {
    return {{{"halo", fmt::format("{} ways", 2 * torus.dimensions()), "us", Column::Draw::line, 2}},
            [&ours](std::size_t bytes) { return std::vector{microseconds(ours.halo(bytes))}; }};
}

using PeerAlgorithm = std::pair<std::string, RouteProgram (*)(int ranks, std::size_t bytes)>;

// Our time, the others' times, and the ratio to the best of them. If `ours` is null, our time comes
// from our schedules.
PredictedMeasure predict_collective(const Torus& torus, const Model& model, Prediction* ours,
                                    const std::string& operation, int colour, double most_bytes,
                                    const std::vector<PeerAlgorithm>& peers, int calls) {
    PredictedMeasure measure;
    measure.columns.push_back({operation, "torusmp", "us", Column::Draw::line, colour});
    int mark = colour;
    for (const auto& [name, make] : peers)
        measure.columns.push_back({operation, name, "us", Column::Draw::dashes, mark += paints});
    measure.columns.push_back({operation, "ratio", "", Column::Draw::no, colour});
    const auto replayed = [=, &torus, &model](const RouteProgram& once) {
        return time_on_routes(torus, model, repeated(once, torus.size(), calls)) / calls;
    };
    measure.figures = [=, &torus](std::size_t bytes) {
        if (double(bytes) * torus.size() * torus.size() > most_bytes)
            return std::vector<Figure>(peers.size() + 2,
                                       Figure{std::numeric_limits<double>::quiet_NaN(),
                                              std::numeric_limits<double>::quiet_NaN(),
                                              {}});
        const double own = ours ? ours->collective(operation, "automatic", bytes, calls)
                                : replayed(schedule_of(operation)(torus, bytes));
        std::vector<Figure> figures = {microseconds(own)};
        double best = std::numeric_limits<double>::infinity();
        for (const auto& peer : peers) {
            const double time = replayed(peer.second(torus.size(), bytes));
            best = std::min(best, time);
            figures.push_back(microseconds(time));
        }
        figures.push_back(exactly(own / best));
        return figures;
    };
    return measure;
}

PredictedMeasure measure_of(const std::string& name, const Options& options, const Torus& torus,
                            const Model& model, Prediction* ours) {
    const double endless = std::numeric_limits<double>::infinity();
    const auto call = [&](const std::string& operation, int colour, double most,
                          const std::vector<PeerAlgorithm>& peers) {
        return predict_collective(torus, model, ours, operation, colour, most, peers,
                                  options.calls);
    };
    if (name == "latency") return messages(torus, *ours);
    if (name == "halo") return halo(torus, *ours);
    if (name == "broadcast")
        return call("broadcast", 3, endless, {{"binomial", binomial_broadcast}});
    if (name == "sum") {
        std::vector<PeerAlgorithm> peers = {{"doubling", recursive_doubling_sum}};
        if (ours) peers.emplace_back("ring", ring_sum);  // as many messages as pairs of ranks
        return call("sum", 4, endless, peers);
    }
    if (name == "scatter")
        return call("scatter", 5, endless,
                    {{"one by one", scatter_one_by_one}, {"binomial", binomial_scatter}});
    return call("alltoall", 6, options.operations_given ? endless : most_of_alltoall,
                {{"pairwise", pairwise_alltoall}});
}

Table predict_wilson(const Torus& torus, Prediction& ours) {
    Table table;
    table.key = "lattice";
    table.x_label = "sites of a rank's lattice along each dimension";
    table.linear = true;
    table.columns = {{"wilson", "iteration", "us", Column::Draw::line, 0},
                     {"wilson", "communication", "%", Column::Draw::line, 1},
                     {"wilson", "a rank", "Gflop/s", Column::Draw::line, 2}};
    for (const int extent : {4, 6, 8, 12}) {
        const auto iteration = ours.wilson(extent);
        table.rows.push_back(
            {std::size_t(extent),
             {microseconds(iteration.whole),
              exactly(100 * (iteration.whole - iteration.computation) / iteration.whole),
              exactly(iteration.flops / iteration.whole)},
             fmt::format("{}^4", extent)});
    }
    table.title =
        fmt::format("An iteration of wilson on {}: the lattice of each rank", torus.describe());
    table.notes = {"Communication: the part of the iteration that is not computation of the rank."};
    return table;
}

std::string resident() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return base::format_size(std::uint64_t(usage.ru_maxrss) * 1024 & ~std::uint64_t{0xfffff});
}

}  // namespace

std::string models_text() {
    std::string text;
    for (const NamedModel& named : named_models()) {
        const Model model = read_model(named.text, std::string(named.name));
        text += fmt::format("{}\n  {}\n", model.name, model.about);
        for (const ModelKey& key : model_keys()) {
            const auto source = model.sources.find(std::string(key.name));
            text += fmt::format("  {:<18} {:>8.6g} {:<8} {}\n", key.name, key.get(model), key.unit,
                                source == model.sources.end() ? "" : source->second);
        }
    }
    return text;
}

Table predict(const Options& options, Progress& progress) {
    const auto began = std::chrono::steady_clock::now();
    const Torus torus = torus_to_predict(options);
    const auto operations = operations_on(torus, options);
    const Model model = load_model(options.model);
    std::optional<Prediction> ours;
    if (torus.size() <= most_predicted_ranks) {
        progress.step(fmt::format("the start of {} ranks", torus.size()));
        ours.emplace(torus, model);
    }
    Table table;
    if (operations == std::vector<std::string>{"wilson"}) {
        progress.step("wilson");
        table = predict_wilson(torus, *ours);
    } else {
        std::vector<PredictedMeasure> measures;
        for (const std::string& name : operations)
            measures.push_back(measure_of(name, options, torus, model, ours ? &*ours : nullptr));
        for (const PredictedMeasure& measure : measures)
            table.columns.insert(table.columns.end(), measure.columns.begin(),
                                 measure.columns.end());
        progress.expect(measures.size() * options.sizes.size());
        for (const std::size_t bytes : options.sizes) {
            Row row{bytes, {}};
            for (std::size_t i = 0; i < measures.size(); ++i) {
                progress.step(fmt::format("{} of {}", operations[i], base::format_size(bytes)));
                const auto figures = measures[i].figures(bytes);
                row.figures.insert(row.figures.end(), figures.begin(), figures.end());
            }
            table.rows.push_back(std::move(row));
        }
        table.title = fmt::format("{}: predicted times", torus.describe());
        table.y_label = "time, us";
        if (ours)
            table.notes = {
                "Ours: the library itself, all ranks in this process, in simulated time."};
        else
            table.notes = {
                "Ours: the behaviour of the library for small messages, replayed as a schedule,",
                fmt::format("because there are more than {} ranks.", most_predicted_ranks)};
        const char* const rest[] = {
            "Collectives: from the start of all ranks to the end of the last, for each of --calls; "
            "sizes of",
            "scatter and alltoall are those of a block.",
            "The others: messages that kernels route along shortest paths. Ratio: our time "
            "divided by",
            "their best time; below 1, ours is faster. -: omitted; request it with --operation."};
        table.notes.insert(table.notes.end(), std::begin(rest), std::end(rest));
    }
    table.title += fmt::format(" ({})", model.name.empty() ? options.model : model.name);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const std::string packets = ours ? fmt::format(" {} packets,", ours->packets()) : "";
    table.notes.push_back(fmt::format("{} ranks in one process:{} {:.1f} s, {} in all.",
                                      torus.size(), packets, took.count(), resident()));
    return table;
}

}  // namespace torusmp::bench
