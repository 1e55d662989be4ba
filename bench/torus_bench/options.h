// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-bench, the same for the program that starts the ranks and for the
// ranks.
//
// Plain values, called from main() only. Throws config::UsageError and config::ConfigError, each
// with one whole message.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace torusmp::bench {

enum class Command {
    latency,
    bandwidth,
    sweep,
    aggregate,
    relay,
    overlap,
    efficiency,
    collectives,
    steps,
    forward,
    simulate,
    predict,
    fit,
    plot,
    report
};
// Those that are no ranks.
constexpr bool starts_nothing(Command command) {
    return command >= Command::simulate;
}

std::string_view name_of(Command command);

struct Options {
    Command command = Command::aggregate;
    bool help = false;
    bool version = false;

    std::optional<int> ranks;               // -np
    config::LoadRequest settings;           // --config, --torus, --set
    std::vector<std::string> for_launcher;  // these again, as words for torus-run

    std::vector<std::size_t> sizes;  // bytes, ascending
    std::vector<std::size_t> exact;  // sweep: of them, those that others stand beside
    double seconds = 0.1;            // per figure
    int window = 64;                 // messages in flight one way
    std::optional<int> peer;         // of rank 0; default: a neighbour
    std::optional<double> wire;      // aggregate: what a link carries, MB/s
    bool raw = false;                // a bare socket beside ours
    std::optional<int> from;  // aggregate: only it sends; forward: it passes on; simulate: the root
    std::vector<std::string> operations;  // collectives, predict: what is called
    bool operations_given = false;        // by the user
    std::vector<std::string> algorithms;  // of each; empty: see --help
    bool list_algorithms = false;         // and nothing else
    int calls = 1;                        // predict: of a collective, without a barrier between
    std::string model;                    // predict: a name or a file
    std::string peers;                    // of compare-peers: others' figures; empty: none
    std::vector<std::string> files;       // fit, plot
    std::string json;                     // file; empty: none
    std::string plot;
    std::string csv;

    // report
    std::string output;             // the page
    double budget = 300;            // seconds for the whole of it
    bool seconds_given = false;     // then the budget does not matter
    std::vector<std::string> only;  // parts; empty: all
    std::string compare;            // an older record; empty: none
    bool again = false;             // measure what is recorded already, too
};

Options parse_command_line(int argc, const char* const* argv);
std::string help_text();
// The algorithms of these collectives, a line each.
std::string algorithms_text(const std::vector<std::string>& operations);

// From `first` to `last`, each `factor` times the one before; `last` belongs to it if it is hit.
std::vector<std::size_t> size_series(std::size_t first, std::size_t last, int factor);
// Each of the sizes, and what is so many bytes below and above it; ascending, none below 1.
std::vector<std::size_t> perturbed(const std::vector<std::size_t>& sizes, int by);

}  // namespace torusmp::bench
