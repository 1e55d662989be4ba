// SPDX-License-Identifier: BSD-3-Clause
// torus-bench: measures messages on the torus through the public QMP API.
#include <fmt/format.h>
#include <qmp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/figures/facts_text.h"
#include "bench/figures/figures.h"
#include "bench/figures/plot.h"
#include "bench/figures/read_figures.h"
#include "bench/predict/command.h"
#include "bench/report/peers.h"
#include "bench/report/record.h"
#include "bench/report/report.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/beside.h"
#include "bench/torus_bench/facts.h"
#include "bench/torus_bench/link_traffic.h"
#include "bench/torus_bench/options.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/simulate.h"
#include "bench/torus_bench/start.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/options.h"
#include "job/settings.h"

using namespace torusmp;
using namespace torusmp::bench;

namespace {

// QMP numbers nodes with the first dimension fastest, the torus with the last. With reversed
// dimensions every node number is its rank, and neighbours in the grid are neighbours by cable.
void declare_grid(const routing::Torus& torus) {
    std::vector<int> extents(torus.extents().begin(), torus.extents().end());
    std::reverse(extents.begin(), extents.end());
    check(QMP_declare_logical_topology(extents.data(), int(extents.size())),
          "QMP_declare_logical_topology");
}

Table run_benchmark(const Context& context) {
    switch (context.options.command) {
        case Command::latency:
            return measure_latency(context);
        case Command::bandwidth:
            return measure_bandwidth(context);
        case Command::sweep:
            return measure_sweep(context);
        case Command::aggregate:
            return measure_aggregate(context);
        case Command::relay:
            return measure_relay(context);
        case Command::overlap:
            return measure_overlap(context);
        case Command::efficiency:
            return measure_efficiency(context);
        case Command::collectives:
            return measure_collectives(context);
        case Command::steps:
            return measure_steps(context);
        case Command::forward:
            return measure_forward(context);
        case Command::io:
            return measure_io(context);
        case Command::put:
        case Command::get:
        case Command::accumulate:
        case Command::cas:
            return measure_windows(context);
        case Command::simulate:
        case Command::predict:
        case Command::fit:
        case Command::plot:
        case Command::report:
            break;  // measures nothing: see run()
    }
    throw std::logic_error("a command without a benchmark");
}

void print_and_write(const Options& options, const std::vector<Fact>& facts, const Table& table,
                     const std::vector<LinkTraffic>& links) {
    fmt::print("\n{}{}{}", as_text(table), links.empty() ? "" : "\n", as_text(links));
    if (!options.json.empty())
        write_whole(options.json, as_json(name_of(options.command), facts, table, links));
    if (!options.csv.empty()) write_whole(options.csv, as_csv(table));
    if (!options.plot.empty()) draw({table, summarize(facts)}, options.plot);
}

// Draws recorded figures again; several files in one picture.
void draw_again(const Options& options) {
    std::vector<Recorded> recorded;
    for (const std::string& file : options.files) recorded.push_back(read_figures(file));
    const Table table = overlay(options.files, recorded);
    if (!options.csv.empty()) write_whole(options.csv, as_csv(table));
    draw({table, summarize(recorded.front().facts)}, options.plot);
}

// Runs commands that do not start ranks.
void run_alone(const Options& options) {
    check_files(options);
    switch (options.command) {
        case Command::simulate:
            return print_and_write(options, {{"version", TORUSMP_VERSION}}, simulate(options), {});
        case Command::predict: {
            if (options.model == "list") {
                fmt::print("{}", models_text());
                return;
            }
            const Table table = [&] {
                Progress progress(isatty(STDERR_FILENO) == 1);
                return predict(options, progress);
            }();
            return print_and_write(
                options, {{"version", TORUSMP_VERSION}, {"model", options.model}}, table, {});
        }
        case Command::fit:
            fmt::print("{}", fit(options));
            return;
        default:
            return draw_again(options);
    }
}

// Adds the figures of other libraries given by --peers.
void add_peers(Table& table, const Options& options, bool links) {
    if (options.peers.empty()) return;
    const Recorded peers = read_peers(options.peers, PeerJob{ranks(), links});
    if (put_beside(table, name_of(options.command), peers.table) > 0) return;
    table.notes.push_back(
        fmt::format("{} contains no comparable figures of other libraries for {} ranks {}.",
                    options.peers, ranks(), links ? "over links" : "on one host"));
}

void measure_as_rank(const Options& options, const Started& started) {
    const config::Settings settings = config::load_for_rank(job::schema());
    const routing::Torus torus = rank_torus(settings, ranks());
    declare_grid(torus);
    const std::vector<Fact> facts =
        rank() == 0 ? gather_facts(settings, torus) : std::vector<Fact>{};
    if (rank() == 0) {
        fmt::print("{}", describe(facts));
        std::fflush(stdout);
    }
    const LinkCounts counts;
    const Beside beside;
    Table table = [&] {
        Progress progress(started.terminal && rank() == 0);
        return run_benchmark({options, torus, progress});
    }();
    const double others = beside.processors();
    const std::vector<LinkTraffic> links = counts.gather();
    if (rank() != 0) return;
    if (std::string note = beside_note(others); !note.empty())
        table.notes.insert(table.notes.begin(), std::move(note));
    add_peers(table, options, !links.empty());
    print_and_write(options, facts, table, links);
}

// A single rank cannot end a job in an orderly way, because the others would wait for it.
int run_as_rank(const Options& options, const Started& started, int argc, char** argv) {
    if (!started.by_itself) refuse_launcher_options(options);
    // QMP gets only the name of the program, because it does not know the options of torus-bench.
    std::vector<char*> program = {argv[0], nullptr};
    (void)argc;
    const Session session(1, program.data());
    try {
        measure_as_rank(options, started);
    } catch (const config::UsageError& error) {
        if (rank() == 0) fmt::print(stderr, "torus-bench: {}\n", error.what());
        return config::exit_usage;
    } catch (const AgreedError& error) {
        if (rank() == 0) fmt::print(stderr, "torus-bench: {}\n", error.what());
        return config::exit_failure;
    } catch (const std::exception& error) {
        fmt::print(stderr, "torus-bench: rank {}: {}\n", rank(), error.what());
        std::fflush(stdout);
        QMP_abort(config::exit_failure);
    }
    return config::exit_ok;
}

int run(int argc, char** argv) {
    const auto started = started_as_rank();
    const Options options = parse_command_line(argc, argv);
    if (options.help) {
        fmt::print("{}", help_text());
        return config::exit_ok;
    }
    if (options.version) {
        config::print_version("torus-bench");
        return config::exit_ok;
    }
    if (options.list_algorithms) {
        fmt::print("{}", algorithms_text(options.operations));
        return config::exit_ok;
    }
    if (options.command == Command::report) {
        if (started)
            throw config::UsageError(
                "report: started by a launcher; start it directly, because it starts the ranks of "
                "each part itself");
        return report(options);
    }
    if (starts_nothing(options.command)) {
        run_alone(options);
        return config::exit_ok;
    }
    if (!started) {
        if (!options.peers.empty()) read_peers(options.peers);
        start_ranks(options, argc, argv);
    }
    return run_as_rank(options, *started, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    return config::run_program("torus-bench", [&] { return run(argc, argv); });
}
