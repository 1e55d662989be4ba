// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/units.h"
#include "bench/torus_bench/collective_calls.h"
#include "bench/torus_bench/help.h"
#include "config/options.h"

namespace torusmp::bench {
namespace {

namespace po = boost::program_options;
using config::UsageError;

constexpr std::array<std::pair<std::string_view, Command>, 20> commands = {{
    {"latency", Command::latency},
    {"bandwidth", Command::bandwidth},
    {"sweep", Command::sweep},
    {"aggregate", Command::aggregate},
    {"relay", Command::relay},
    {"overlap", Command::overlap},
    {"efficiency", Command::efficiency},
    {"collectives", Command::collectives},
    {"steps", Command::steps},
    {"forward", Command::forward},
    {"io", Command::io},
    {"put", Command::put},
    {"get", Command::get},
    {"accumulate", Command::accumulate},
    {"cas", Command::cas},
    {"simulate", Command::simulate},
    {"predict", Command::predict},
    {"fit", Command::fit},
    {"plot", Command::plot},
    {"report", Command::report},
}};

constexpr std::size_t largest_message = std::size_t(1) << 30;

std::optional<Command> command_named(std::string_view text) {
    for (const auto& [name, command] : commands)
        if (name == text) return command;
    return std::nullopt;
}

Command read_command(const std::vector<std::string>& words) {
    constexpr std::string_view expected =
        "latency, bandwidth, sweep, aggregate, relay, overlap, efficiency, collectives, steps, "
        "forward, io, put, get, accumulate, cas, simulate, predict, fit, plot or report";
    if (words.empty())
        throw UsageError(fmt::format("missing command: expected {}; see --help", expected));
    const auto command = command_named(words[0]);
    if (!command)
        throw UsageError(fmt::format("unknown command '{}': expected {}", words[0], expected));
    const bool takes_files = command == Command::fit || command == Command::plot;
    if (words.size() > 1 && !takes_files)
        throw UsageError(fmt::format("unexpected argument '{}': expected options after '{}'",
                                     words[1], words[0]));
    if (words.size() == 1 && takes_files)
        throw UsageError(fmt::format("{}: expected files written by torus-bench --json", words[0]));
    return *command;
}

int read_number(const po::variables_map& given, const std::string& name, int least, int most) {
    const int value = given[name].as<int>();
    if (value < least || value > most)
        throw UsageError(
            fmt::format("--{} {}: expected a number from {} to {}", name, value, least, most));
    return value;
}

std::size_t read_size(const std::string& range, const std::string& text) {
    const auto size = base::parse_size(text);
    if (!size || *size > largest_message)
        throw UsageError(fmt::format(
            "--sizes {}: '{}' is not a size from 0 to 1GiB, for example 64, 16KiB or 4MiB", range,
            text));
    return std::size_t(*size);
}

std::vector<std::size_t> read_sizes(const po::variables_map& given, Command command) {
    const int factor = read_number(given, "step", 2, 1024);
    if (!given.count("sizes")) switch (command) {
            case Command::latency:
                return size_series(0, 64 << 10, factor);
            case Command::sweep:
                return size_series(1, 8 << 20, factor);
            case Command::relay:
                return {8, 64 << 10};
            case Command::predict:
                return size_series(8, 32 << 10, given["step"].defaulted() ? 16 : factor);
            case Command::collectives:
                return {};  // of the operations, see read_collectives()
            case Command::steps:
                return size_series(8, 4 << 10, given["step"].defaulted() ? 8 : factor);
            case Command::put:
            case Command::get:
            case Command::accumulate:
                return size_series(8, 4 << 20, given["step"].defaulted() ? 8 : factor);
            case Command::cas:
                return {8};
            case Command::forward:
                return size_series(1 << 10, 32 << 10, factor);
            case Command::io:
                return size_series(4 << 10, 16 << 20, given["step"].defaulted() ? 16 : factor);
            default:
                return size_series(1, 4 << 20, factor);
        }
    const auto range = given["sizes"].as<std::string>();
    const auto colon = range.find(':');
    if (colon == std::string::npos)
        throw UsageError(
            fmt::format("--sizes {}: expected FIRST:LAST, for example 1:4MiB or 8KiB:8KiB", range));
    const std::size_t first = read_size(range, range.substr(0, colon));
    const std::size_t last = read_size(range, range.substr(colon + 1));
    if (first > last)
        throw UsageError(fmt::format("--sizes {}: the first size is above the last", range));
    if (first == 0 && command != Command::latency)
        throw UsageError(
            fmt::format("--sizes {}: an empty message has no bandwidth: expected a "
                        "first size of at least 1",
                        range));
    if (command == Command::relay) return {first, last};
    return size_series(first, last, factor);
}

std::vector<std::string> words_of(const std::string& option, const std::string& list) {
    std::vector<std::string> words;
    std::istringstream in(list);
    for (std::string word; std::getline(in, word, ',');) words.push_back(word);
    if (words.empty()) throw UsageError(fmt::format("--{} is empty: expected names", option));
    return words;
}

std::string join_names() {
    std::vector<std::string_view> names;
    for (const CollectiveFacts& operation : collective_operations())
        names.push_back(operation.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

void check_algorithm(const CollectiveFacts& operation, const std::string& algorithm) try {
    operation.algorithm(algorithm);
} catch (const std::invalid_argument& wrong) {
    throw UsageError(fmt::format("--algorithm: {}; --algorithm list explains them", wrong.what()));
}

void check_collective_sizes(const CollectiveFacts& operation, const Options& options) {
    for (const std::size_t bytes : options.sizes)
        if (operation.numbers && bytes % sizeof(double) != 0)
            throw UsageError(
                fmt::format("--sizes: {} adds doubles: found {} bytes, expected multiples of 8, "
                            "for example --sizes 8:4MiB",
                            operation.name, bytes));
}

// The operations of predict.
constexpr std::array<std::string_view, 7> predicted = {"latency", "halo",     "broadcast", "sum",
                                                       "scatter", "alltoall", "wilson"};

void read_prediction(const po::variables_map& given, Options& options) {
    options.operations_given = given.count("operation") > 0;
    options.operations.assign(predicted.begin(), predicted.end() - 1);
    if (options.operations_given)
        options.operations = words_of("operation", given["operation"].as<std::string>());
    if (std::find(options.operations.begin(), options.operations.end(), "sum") !=
        options.operations.end())
        check_collective_sizes(*find_collective("sum"), options);
    for (const std::string& name : options.operations)
        if (std::find(predicted.begin(), predicted.end(), name) == predicted.end())
            throw UsageError(fmt::format("--operation: predict does not support '{}': expected {}",
                                         name, fmt::join(predicted, ", ")));
    if (options.operations.size() > 1 &&
        std::find(options.operations.begin(), options.operations.end(), "wilson") !=
            options.operations.end())
        throw UsageError("--operation: wilson has a separate table and must be given alone");
}

void read_collectives(const po::variables_map& given, Options& options) {
    const bool predicts = options.command == Command::predict;
    for (const char* name : {"operation", "algorithm"})
        if (given.count(name) && options.command != Command::collectives &&
            !(predicts && name == std::string_view("operation")))
            throw UsageError(fmt::format("--{}: found {}, expected collectives", name,
                                         name_of(options.command)));
    if (predicts) read_prediction(given, options);
    if (options.command != Command::collectives) return;
    options.operations = {"broadcast", "sum"};
    if (given.count("operation"))
        options.operations = words_of("operation", given["operation"].as<std::string>());
    if (given.count("algorithm"))
        options.algorithms = words_of("algorithm", given["algorithm"].as<std::string>());
    options.list_algorithms = options.algorithms == std::vector<std::string>{"list"};
    if (options.list_algorithms) {
        options.algorithms.clear();
        // All operations, unless some are given.
        if (!given.count("operation")) options.operations.clear();
    }
    bool blocks = false, sized = false;
    for (const std::string& name : options.operations) {
        const CollectiveFacts* operation = find_collective(name);
        if (!operation)
            throw UsageError(fmt::format("--operation: unknown collective '{}': expected {}", name,
                                         join_names()));
        for (const std::string& algorithm : options.algorithms)
            check_algorithm(*operation, algorithm);
        blocks |= operation->blocks;
        sized |= operation->sized;
        check_collective_sizes(*operation, options);
    }
    if (options.sizes.empty())
        options.sizes = size_series(blocks ? 64 : 8, blocks ? 64 << 10 : 4 << 20,
                                    read_number(given, "step", 2, 1024));
    if (!sized) options.sizes = {0};
}

void check_windows(const Options& options) {
    if (options.command == Command::cas && options.sizes != std::vector<std::size_t>{8})
        throw UsageError("--sizes: cas swaps words of 8 bytes: expected 8:8");
    for (const std::size_t bytes : options.sizes)
        if (options.command == Command::accumulate && bytes % 8 != 0)
            throw UsageError(
                fmt::format("--sizes: accumulate adds words of 8 bytes: found {} bytes, expected "
                            "multiples of 8, for example --sizes 8:4MiB",
                            bytes));
}

void check_steps(const Options& options) {
    if (options.command == Command::steps) check_collective_sizes(*find_collective("sum"), options);
}

void check_file_name(const std::string& option, const std::string& name) {
    if (name.empty()) throw UsageError(fmt::format("{} is empty: expected a file name", option));
}

void read_io(const po::variables_map& given, Options& options) {
    for (const char* name : {"folder", "row"})
        if (!given[name].defaulted() && options.command != Command::io)
            throw UsageError(
                fmt::format("--{}: found {}, expected io", name, name_of(options.command)));
    options.folder = given["folder"].as<std::string>();
    if (options.folder.empty()) throw UsageError("--folder is empty: expected a folder");
    const auto text = given["row"].as<std::string>();
    const auto row = base::parse_size(text);
    if (!row || *row < 1 || *row > largest_message)
        throw UsageError(fmt::format(
            "--row {}: expected a size from 1 to 1GiB, for example 64, 1KiB or 64KiB", text));
    options.row = std::size_t(*row);
}

// Checks options that belong to one command only.
void read_special(const po::variables_map& given, Options& options) {
    const Command command = options.command;
    options.busbw = given["busbw"].as<bool>();
    if (options.busbw && command != Command::collectives)
        throw UsageError(fmt::format("--busbw: found {}, expected collectives", name_of(command)));
    options.raw = given["raw"].as<bool>();
    if (options.raw && (command == Command::relay || command >= Command::overlap))
        throw UsageError(
            fmt::format("--raw: {} cannot be compared with a bare socket: expected latency, "
                        "bandwidth, sweep or aggregate",
                        name_of(command)));
    if (given.count("from")) {
        if (command != Command::aggregate && command != Command::forward &&
            command != Command::simulate)
            throw UsageError(fmt::format(
                "--from: found {}, expected aggregate, forward or simulate", name_of(command)));
        options.from = read_number(given, "from", 0, 1 << 20);
    }
    if (given.count("wire")) {
        options.wire = given["wire"].as<double>();
        const bool drawn = command == Command::aggregate || command == Command::report;
        if (!drawn || !(*options.wire > 0))
            throw UsageError("--wire: expected MB/s above 0, and aggregate or report");
    }
    if (starts_nothing(command) && command != Command::report && given.count("np"))
        throw UsageError(fmt::format("--np: {} starts no ranks", name_of(command)));
    if (given.count("model")) {
        if (command != Command::predict)
            throw UsageError(fmt::format("--model: found {}, expected predict", name_of(command)));
        options.model = given["model"].as<std::string>();
    }
    if (given.count("peers")) {
        if (command != Command::latency && command != Command::bandwidth &&
            command != Command::collectives)
            throw UsageError(fmt::format(
                "--peers: found {}, expected latency, bandwidth or collectives", name_of(command)));
        options.peers = given["peers"].as<std::string>();
        check_file_name("--peers", options.peers);
    }
    if (command == Command::predict && options.model.empty())
        throw UsageError(
            "predict: missing machine: give --model with a file or a name; --model list prints "
            "the names");
    if (command == Command::plot && !given.count("plot"))
        throw UsageError("plot: missing --plot FILE, the file to draw");
    read_collectives(given, options);
    read_io(given, options);
    check_steps(options);
    check_windows(options);
    options.exact = options.sizes;
    if (command == Command::sweep)
        options.sizes = perturbed(options.sizes, read_number(given, "perturb", 0, 1024));
}

void read_report(const po::variables_map& given, Options& options) {
    const bool is_report = options.command == Command::report;
    for (const char* name : {"output", "budget", "only", "compare", "again"})
        if (given.count(name) && !given[name].defaulted() && !is_report)
            throw UsageError(
                fmt::format("--{}: found {}, expected report", name, name_of(options.command)));
    options.seconds_given = !given["seconds"].defaulted();
    if (!is_report) return;
    for (const char* name : {"sizes", "plot", "csv", "peer"})
        if (given.count(name))
            throw UsageError(fmt::format(
                "--{}: report chooses this itself; use --only, --budget or --seconds", name));
    options.budget = given["budget"].as<double>();
    if (!(options.budget > 0) || options.budget > 86400)
        throw UsageError(
            fmt::format("--budget {}: expected seconds above 0 and up to 86400", options.budget));
    options.output = given["output"].as<std::string>();
    check_file_name("--output", options.output);
    if (options.json.empty())
        options.json = std::filesystem::path(options.output).replace_extension(".json");
    if (options.json == options.output)
        throw UsageError(
            fmt::format("--output {}: the samples would go to the same file: expected another "
                        "name, for example report.html",
                        options.output));
    if (given.count("only")) options.only = words_of("only", given["only"].as<std::string>());
    if (given.count("compare")) options.compare = given["compare"].as<std::string>();
    options.again = given["again"].as<bool>();
}

void read_launch(const po::variables_map& given, Options& options) {
    options.settings = config::request_from(given);
    auto& words = options.for_launcher;
    if (given.count("np")) {
        options.ranks = read_number(given, "np", 1, 1 << 20);
        words.insert(words.end(), {"-np", std::to_string(*options.ranks)});
    }
    for (const char* name : {"config", "torus"})
        if (given.count(name))
            words.insert(words.end(), {fmt::format("--{}", name), given[name].as<std::string>()});
    if (given.count("set"))
        for (const std::string& setting : given["set"].as<std::vector<std::string>>())
            words.insert(words.end(), {"--set", setting});
}

}  // namespace

std::string_view name_of(Command command) {
    for (const auto& [name, value] : commands)
        if (value == command) return name;
    return "";
}

std::vector<std::size_t> size_series(std::size_t first, std::size_t last, int factor) {
    std::vector<std::size_t> sizes;
    for (std::size_t size = first; size <= last; size *= std::size_t(factor)) {
        sizes.push_back(size);
        if (size == 0) size = 1, sizes.push_back(1);
    }
    while (!sizes.empty() && sizes.back() > last) sizes.pop_back();
    return sizes;
}

std::vector<std::size_t> perturbed(const std::vector<std::size_t>& sizes, int by) {
    std::vector<std::size_t> all;
    for (const std::size_t size : sizes)
        for (const int change : {-by, 0, +by})
            if (change >= 0 || size > std::size_t(-change))
                all.push_back(size + std::size_t(std::ptrdiff_t(change)));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

Options parse_command_line(int argc, const char* const* argv) {
    const po::options_description visible = command_line_options();
    po::options_description all;
    all.add(visible).add_options()("what", po::value<std::vector<std::string>>());
    po::positional_options_description positional;
    positional.add("what", -1);

    // MPI users type "-np 8"; Program_options accepts only one letter after a dash.
    std::vector<const char*> words(argv, argv + argc);
    for (auto word = words.begin() + 1; word < words.end(); ++word)
        if (std::string_view(*word) == "-np") *word = "--np";
    const auto given = config::parse_options(argc, words.data(), all, positional);

    Options options;
    options.help = given.count("help") > 0;
    options.version = given.count("version") > 0;
    if (options.help || options.version) return options;
    options.command =
        read_command(given.count("what") ? given["what"].as<std::vector<std::string>>()
                                         : std::vector<std::string>{});
    read_launch(given, options);
    if (given.count("what")) {
        options.files = given["what"].as<std::vector<std::string>>();
        options.files.erase(options.files.begin());
    }
    options.sizes = read_sizes(given, options.command);
    read_special(given, options);
    options.calls = read_number(given, "calls", 1, 1000);
    options.window = read_number(given, "window", 1, 4096);
    options.seconds = given["seconds"].as<double>();
    if (!(options.seconds > 0) || options.seconds > 3600)
        throw UsageError(
            fmt::format("--seconds {}: expected a time above 0 and up to 3600", options.seconds));
    if (given.count("peer")) options.peer = read_number(given, "peer", 1, 1 << 20);
    for (auto [name, file] : {std::pair("json", &options.json), std::pair("plot", &options.plot),
                              std::pair("csv", &options.csv)})
        if (given.count(name)) {
            *file = given[name].as<std::string>();
            check_file_name(fmt::format("--{}", name), *file);
        }
    read_report(given, options);
    return options;
}

}  // namespace torusmp::bench
