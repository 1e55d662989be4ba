// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/familiar.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "config/options.h"

namespace torusmp::launch {
namespace {

namespace po = boost::program_options;
using config::UsageError;
using Words = std::vector<std::string>;

// "socket:PE=2" of Open MPI: only the word itself has a meaning here.
std::string first_word(const std::string& value) {
    return value.substr(0, value.find(':'));
}

[[noreturn]] void refuse(const char* option, const std::string& value, const char* expected) {
    throw UsageError(fmt::format("{} {}: expected {}", option, base::printable(value), expected));
}

// What launch.bind is for a word of --bind-to.
const char* binding_of(const std::string& value) {
    static const std::map<std::string, const char*> known{
        {"none", "none"},   {"slot", "auto"},    {"core", "core"},   {"hwthread", "core"},
        {"socket", "numa"}, {"package", "numa"}, {"numa", "numa"},   {"l3cache", "numa"},
        {"node", "none"},   {"board", "none"},   {"machine", "none"}};
    const auto found = known.find(first_word(value));
    if (found == known.end())
        refuse("--bind-to", value, "core, socket (or numa), node (or none) or slot");
    return found->second;
}

// What launch.bind is for a word of --map-by; null: it says nothing of that.
const char* mapping_of(const std::string& value) {
    const std::string word = first_word(value);
    if (word == "socket" || word == "package" || word == "numa" || word == "l3cache") return "numa";
    if (word == "slot" || word == "core" || word == "hwthread" || word == "none") return nullptr;
    if (word == "node")
        throw UsageError(
            "--map-by node: the torus says which ranks a host has: consecutive ones, as many as "
            "nodes.ranks_per_node; expected slot, core, socket (or numa) or none");
    refuse("--map-by", value, "slot, core, socket (or numa) or none");
}

std::string text_of(const po::variables_map& given, const char* option) {
    std::string text = given[option].as<std::string>();
    if (text.empty()) throw UsageError(fmt::format("--{} is empty: expected a name", option));
    return text;
}

void read_files(const po::variables_map& given, Options& options) {
    const bool folder = given.count("output-filename") != 0;
    for (const char* pattern : {"outfile-pattern", "errfile-pattern"})
        if (folder && given.count(pattern) != 0)
            throw UsageError(fmt::format(
                "--output-filename and --{} both say where output goes: expected one of them",
                pattern));
    if (folder) {
        const std::string name = text_of(given, "output-filename");
        options.files = {name + "/rank.%r/stdout", name + "/rank.%r/stderr"};
    }
    if (given.count("outfile-pattern")) options.files.output = text_of(given, "outfile-pattern");
    if (given.count("errfile-pattern")) options.files.errors = text_of(given, "errfile-pattern");
    for (const std::string* pattern : {&options.files.output, &options.files.errors})
        for (std::size_t at = 0; (at = pattern->find('%', at)) != std::string::npos; at += 2)
            if (at + 1 == pattern->size() ||
                std::string_view("rh%").find((*pattern)[at + 1]) == std::string_view::npos)
                throw UsageError(
                    fmt::format("'{}': expected %r (the rank), %h (its host) or %% behind a %",
                                base::printable(*pattern)));
}

void read_windows(const po::variables_map& given, Options& options) {
    if (given.count("xterm") && given.count("gdb"))
        throw UsageError("--xterm and --gdb both open windows: expected one of them");
    for (const auto& [option, window] : {std::pair{"gdb", Window::gdb}, {"xterm", Window::xterm}})
        if (given.count(option)) {
            options.window = window;
            options.in_windows = text_of(given, option);
        }
}

}  // namespace

void describe_familiar_options(po::options_description& options) {
    auto add = options.add_options();
    add("output-filename", po::value<std::string>()->value_name("FOLDER"),
        "what each rank prints goes to FOLDER/rank.N/stdout and stderr, and nowhere else");
    add("outfile-pattern", po::value<std::string>()->value_name("PATTERN"),
        "standard output of each rank goes to this file; %r is its number, %h its host (also "
        "-outfile-pattern)");
    add("errfile-pattern", po::value<std::string>()->value_name("PATTERN"),
        "the same for standard error (also -errfile-pattern)");
    add("map-by", po::value<std::string>()->value_name("HOW"),
        "slot or core: ranks side by side, as always; socket or numa: spread over them, as "
        "--bind-to does");
    add("bind-to", po::value<std::string>()->value_name("HOW"),
        "core, socket (numa), node (none) or slot (auto): --bind by the words of other launchers");
    add("report-bindings", po::bool_switch(), "say on which processors each rank may run");
    add("ppn", po::value<int>()->value_name("N"),
        "ranks on each host (also -ppn); must agree with the geometry file, if there is one");
    add("gdb", po::value<std::string>()->value_name("RANKS"),
        "start these ranks under gdb, as 0,4-7 or all, each in a window of tmux, or of xterm where "
        "there is a display");
    add("xterm", po::value<std::string>()->value_name("RANKS"),
        "start these ranks in a window of xterm each");
    add("mca", po::value<Words>()->value_name("KEY=VALUE"),
        "does nothing, and says so; for scripts (also -mca KEY VALUE)");
    add("genvall", po::bool_switch(), "likewise: the environment is carried along anyway");
}

// "-np 8" is what MPI users type; Program_options accepts one letter after one dash.
std::string spell(const std::string& word) {
    static const std::map<std::string, std::string> known{
        {"-np", "--np"},
        {"-host", "--host"},
        {"-hosts", "--host"},
        {"-hostfile", "--hostfile"},
        {"-machinefile", "--hostfile"},
        {"--machinefile", "--hostfile"},
        {"-f", "--hostfile"},
        {"-x", "--export"},
        {"-wdir", "--wdir"},
        {"-wd", "--wdir"},
        {"--wd", "--wdir"},
        {"-env", "--env"},
        {"-genv", "--genv"},
        {"-genvlist", "--genvlist"},
        {"-genvall", "--genvall"},
        {"-oversubscribe", "--oversubscribe"},
        {"-allow-run-as-root", "--allow-run-as-root"},
        {"-l", "--tag-output"},
        {"-prepend-rank", "--tag-output"},
        {"--prepend-rank", "--tag-output"},
        {"-tag-output", "--tag-output"},
        {"-output-filename", "--output-filename"},
        {"-outfile-pattern", "--outfile-pattern"},
        {"-errfile-pattern", "--errfile-pattern"},
        {"-map-by", "--map-by"},
        {"-bind-to", "--bind-to"},
        {"-report-bindings", "--report-bindings"},
        {"-ppn", "--ppn"},
        {"-perhost", "--ppn"},
        {"-mca", "--mca"},
        {"-gdb", "--gdb"},
        {"-xterm", "--xterm"},
        {"-timeout", "--timeout"},
    };
    const std::size_t end = std::min(word.find('='), word.size());
    const auto found = known.find(word.substr(0, end));
    return found == known.end() ? word : found->second + word.substr(end);
}

bool takes_pair(const std::string& word) {
    return word == "--env" || word == "--genv" || word == "--mca";
}

void read_familiar_options(const po::variables_map& given, Options& options) {
    if (given.count("bind") && given.count("bind-to"))
        throw UsageError("--bind and --bind-to both bind the ranks: expected one of them");
    const char* bind = nullptr;
    if (given.count("map-by")) bind = mapping_of(text_of(given, "map-by"));
    if (given.count("bind-to")) bind = binding_of(text_of(given, "bind-to"));
    if (bind != nullptr && !given.count("bind"))
        options.settings.flags.push_back(
            {"launch.bind", bind, given.count("bind-to") ? "--bind-to" : "--map-by"});
    if (given.count("ppn")) {
        options.ranks_per_host = given["ppn"].as<int>();
        if (options.ranks_per_host < 1)
            throw UsageError(fmt::format("-ppn {}: expected a number of ranks, 1 or more",
                                         options.ranks_per_host));
    }
    options.report_bindings = given["report-bindings"].as<bool>();
    if (given.count("mca"))
        for (const std::string& what : given["mca"].as<Words>())
            options.ignored.push_back(fmt::format(
                "-mca {} does nothing here, it belongs to Open MPI; torus-info --explain says what "
                "can be set",
                base::printable(what)));
    if (given["genvall"].as<bool>())
        options.ignored.push_back("-genvall does nothing: the environment is carried along anyway");
    read_files(given, options);
    read_windows(given, options);
}

std::vector<int> parse_rank_list(const std::string& text, const std::string& option, int ranks) {
    std::vector<int> found;
    const auto wrong = [&](const std::string& part) {
        throw UsageError(
            fmt::format("{} {}: found '{}', expected ranks from 0 to {}, as 0,2-3, or "
                        "all",
                        option, base::printable(text), base::printable(part), ranks - 1));
    };
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t dash = part.find('-');
        auto first = base::parse_integer(part.substr(0, dash));
        auto last = dash == std::string::npos ? first : base::parse_integer(part.substr(dash + 1));
        if (part == "all") first = 0, last = ranks - 1;
        if (!first || !last || *first < 0 || *last >= ranks || *first > *last) wrong(part);
        for (auto rank = *first; rank <= *last; ++rank) found.push_back(int(rank));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace torusmp::launch
