// SPDX-License-Identifier: BSD-3-Clause
// The command line of torus-bench, for the process that starts the ranks and for the ranks.
//
// Plain values; called from main() only. Throws config::UsageError and config::ConfigError, each
// with one complete message.
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
    io,
    put,
    get,
    accumulate,
    cas,
    simulate,
    predict,
    fit,
    plot,
    report
};
// Commands that do not start ranks.
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
    std::vector<std::string> for_launcher;  // the same options, as arguments for torus-run

    std::vector<std::size_t> sizes;  // bytes, ascending
    std::vector<std::size_t> exact;  // sweep: the sizes that get neighbours
    double seconds = 0.1;            // per figure
    int window = 64;                 // messages in flight one way
    std::optional<int> peer;         // of rank 0; default: a neighbour
    std::optional<double> wire;      // aggregate: capacity of a link, MB/s
    bool raw = false;                // also measure a bare socket
    // The only sender of `aggregate`, the forwarding rank of `forward`, or the root of `simulate`.
    std::optional<int> from;
    std::vector<std::string> operations;  // collectives, predict: the operations
    bool operations_given = false;        // by the user
    std::vector<std::string> algorithms;  // of each; if empty, see --help
    bool busbw = false;                   // also algbw and busbw of collectives
    bool list_algorithms = false;         // print them and exit
    // The calls of a collective that `predict` makes without a barrier between them.
    int calls = 1;
    std::string folder;              // io: where its files are
    std::size_t row = 0;             // io: bytes of a row of strided accesses
    std::string model;               // predict: a name or a file
    std::string peers;               // file of compare-peers; empty if none
    std::vector<std::string> files;  // fit, plot
    std::string json;                // file; empty if none
    std::string plot;
    std::string csv;

    // report
    std::string output;             // the page
    double budget = 300;            // seconds for the whole report
    bool seconds_given = false;     // the budget is ignored
    std::vector<std::string> only;  // parts; empty for all
    std::string compare;            // an older record; empty if none
    bool again = false;             // also measure recorded parts
};

Options parse_command_line(int argc, const char* const* argv);
std::string help_text();
// The algorithms of these collectives, one per line.
std::string algorithms_text(const std::vector<std::string>& operations);

// From `first` to `last`, each `factor` times the previous one; includes `last` only if hit
// exactly.
std::vector<std::size_t> size_series(std::size_t first, std::size_t last, int factor);
// Each of the sizes, and the sizes `by` bytes below and above it; ascending, at least 1.
std::vector<std::size_t> perturbed(const std::vector<std::size_t>& sizes, int by);

}  // namespace torusmp::bench
