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

namespace torusmp::torus_run {
namespace {

namespace po = boost::program_options;
using config::UsageError;
using Words = std::vector<std::string>;

// "ppr:2:node" and "socket:PE=2" (Open MPI) are words between colons.
Words words_of(const std::string& value) {
    std::istringstream parts(value);
    Words words;
    for (std::string word; std::getline(parts, word, ':');) words.push_back(word);
    return words;
}

int positive(const std::string& text, const char* option, const std::string& value) {
    const auto number = base::parse_integer(text);
    if (!number || *number < 1 || *number > 1 << 20)
        throw UsageError(fmt::format("{} {}: expected a positive number, found '{}'", option,
                                     base::printable(value), base::printable(text)));
    return int(*number);
}

[[noreturn]] void refuse(const char* option, const std::string& value, const char* expected) {
    throw UsageError(fmt::format("{} {}: expected {}", option, base::printable(value), expected));
}

// The value of launch.bind for a value of --bind-to.
const char* binding_of(const std::string& value) {
    static const std::map<std::string, const char*> known{
        {"none", "none"},   {"slot", "auto"},    {"core", "core"},   {"hwthread", "core"},
        {"socket", "numa"}, {"package", "numa"}, {"numa", "numa"},   {"l3cache", "numa"},
        {"node", "none"},   {"board", "none"},   {"machine", "none"}};
    Words words = words_of(value);
    // Ranks may always share cores.
    if (words.size() == 2 && (words[1] == "overload-allowed" || words[1] == "if-supported"))
        words.pop_back();
    const auto found = words.size() == 1 ? known.find(words[0]) : known.end();
    if (found == known.end())
        refuse("--bind-to", value, "core, socket (or numa), node (or none) or slot");
    return found->second;
}

struct Mapping {
    const char* bind = nullptr;  // value of launch.bind; null if not affected
    int ranks_per_host = 0, cores_each = 0;
};

Mapping mapping_of(const std::string& value) {
    constexpr const char* expected =
        "slot, core, socket (or numa), ppr:N:node or none, and :PE=N for cores of each rank";
    Words words = words_of(value);
    if (words.empty()) refuse("--map-by", value, expected);
    Mapping mapping;
    const std::string what = words[0];
    std::size_t next = 1;
    if (what == "ppr") {
        if (words.size() < 3 || words[2] != "node")
            refuse("--map-by", value, "ppr:N:node, with N ranks on each host");
        mapping.ranks_per_host = positive(words[1], "--map-by", value);
        next = 3;
    } else if (what == "socket" || what == "package" || what == "numa" || what == "l3cache") {
        mapping.bind = "numa";
    } else if (what == "node") {
        throw UsageError(
            "--map-by node: not supported, because the torus places consecutive ranks on each host "
            "(torus.ranks_per_node; expected slot, core, socket, numa, ppr:N:node or none)");
    } else if (what != "slot" && what != "core" && what != "hwthread" && what != "none") {
        refuse("--map-by", value, expected);
    }
    for (; next < words.size(); ++next) {
        const std::string& word = words[next];
        if (word.starts_with("PE=") || word.starts_with("pe="))
            mapping.cores_each = positive(word.substr(3), "--map-by", value);
        else if (word != "OVERSUBSCRIBE" && word != "oversubscribe")
            refuse("--map-by", value, expected);
    }
    return mapping;
}

void give_ranks_per_host(Options& options, int number, const std::string& option) {
    if (options.ranks_per_host != 0 && options.ranks_per_host != number)
        throw UsageError(fmt::format("{} and {} disagree on the ranks of each host",
                                     options.ranks_per_host_option, option));
    options.ranks_per_host = number;
    options.ranks_per_host_option = option;
}

void give_cores(Options& options, int number, const char* option) {
    options.settings.flags.push_back({"launch.cpus_per_rank", std::to_string(number), option});
}

// "--display map,bind" and "--output tag" (Open MPI 5).
void read_lists(const po::variables_map& given, Options& options) {
    const auto each = [&](const char* option, const char* expected, const auto& take) {
        if (!given.count(option)) return;
        const std::string value = given[option].as<std::string>();
        std::istringstream parts(value);
        for (std::string word; std::getline(parts, word, ',');)
            if (!take(word)) refuse(fmt::format("--{}", option).c_str(), value, expected);
    };
    each("display", "map, allocation or bind", [&](const std::string& word) {
        const bool map = word == "map" || word == "allocation";
        const bool bind = word == "bind" || word == "bindings";
        options.display_map = options.display_map || map;
        options.report_bindings = options.report_bindings || bind;
        return map || bind;
    });
    each("output",
         "tag; --output-filename FOLDER writes files, and for time stamps pipe the output to ts",
         [&](const std::string& word) {
             options.tag_output = options.tag_output || word == "tag";
             return word == "tag";
         });
}

void read_launcher(const po::variables_map& given, Options& options) {
    if (given.count("launcher")) {
        const std::string name = given["launcher"].as<std::string>();
        if (name != "ssh" && name != "rsh")
            refuse("-launcher", name,
                   "ssh or rsh; --agent COMMAND takes any other command, and srun starts programs "
                   "without torus-run");
        options.settings.flags.push_back({"launch.agent", name, "-launcher"});
    }
    if (given.count("prefix") && options.torus_run.empty())
        options.torus_run = given["prefix"].as<std::string>() + "/bin/torus-run";
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
                "--output-filename and --{} exclude each other: both redirect output", pattern));
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
        throw UsageError("--xterm and --gdb exclude each other: both open windows");
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
        "write the output of each rank only to FOLDER/rank.N/stdout and stderr");
    add("outfile-pattern", po::value<std::string>()->value_name("PATTERN"),
        "write standard output of each rank to this file; %r is the rank, %h its host (also "
        "-outfile-pattern)");
    add("errfile-pattern", po::value<std::string>()->value_name("PATTERN"),
        "write standard error of each rank to this file (also -errfile-pattern)");
    add("map-by", po::value<std::string>()->value_name("HOW"),
        "slot or core: place ranks side by side (default); socket or numa: spread ranks over "
        "sockets or NUMA nodes; ppr:N:node: like -ppn N; with :PE=N, like --cpus-per-rank N");
    add("bind-to", po::value<std::string>()->value_name("HOW"),
        "like --bind, with the names of other launchers: core, socket (numa), node (none) or slot "
        "(auto)");
    add("report-bindings", po::bool_switch(), "print the processors each rank is bound to");
    add("display-map", po::bool_switch(),
        "print the ranks of each host (also --display-allocation, -print-rank-map)");
    add("ppn", po::value<int>()->value_name("N"),
        "ranks on each host; sets torus.ranks_per_node (also -ppn, -N, -npernode, -perhost)");
    add("cpus-per-rank", po::value<int>()->value_name("N"),
        "cores of each rank (short for --set launch.cpus_per_rank=N; also -cpus-per-proc)");
    add("display", po::value<std::string>()->value_name("WHAT"),
        "map: like --display-map; bind: like --report-bindings");
    add("output", po::value<std::string>()->value_name("WHAT"), "tag: like --tag-output");
    add("launcher", po::value<std::string>()->value_name("NAME"),
        "ssh or rsh: short for --agent NAME (also -launcher, -bootstrap)");
    add("prefix", po::value<std::string>()->value_name("FOLDER"),
        "where torusmp is installed on the other hosts: short for --torus-run "
        "FOLDER/bin/torus-run");
    add("quiet", po::bool_switch(), "do not report ignored options (also -q)");
    add("gdb", po::value<std::string>()->value_name("RANKS"),
        "start these ranks (0,4-7 or all) under gdb, each in a window of tmux, or of xterm if "
        "there is a display (also -gdb, for all ranks)");
    add("xterm", po::value<std::string>()->value_name("RANKS"),
        "start each of these ranks in a window of xterm");
    add("mca", po::value<Words>()->value_name("KEY=VALUE"),
        "ignored with a warning (Open MPI compatibility; also -mca KEY VALUE)");
    add("genvall", po::bool_switch(),
        "accepted for compatibility; ranks always get the environment");
}

// MPI users type "-np 8", but Program_options accepts only one letter after one dash.
std::string spell(const std::string& word) {
    static const std::map<std::string, std::string> known{
        {"-np", "--np"},
        {"-c", "--np"},
        {"--c", "--np"},
        {"-host", "--host"},
        {"-H", "--host"},
        {"-V", "--version"},
        {"-v", "--verbose"},
        {"-verbose", "--verbose"},
        {"-q", "--quiet"},
        {"-quiet", "--quiet"},
        {"-display-map", "--display-map"},
        {"-display-allocation", "--display-map"},
        {"--display-allocation", "--display-map"},
        {"-print-rank-map", "--display-map"},
        {"-N", "--ppn"},
        {"--N", "--ppn"},
        {"-npernode", "--ppn"},
        {"--npernode", "--ppn"},
        {"-pernode", "--ppn=1"},
        {"--pernode", "--ppn=1"},
        {"-cpus-per-rank", "--cpus-per-rank"},
        {"-cpus-per-proc", "--cpus-per-rank"},
        {"--cpus-per-proc", "--cpus-per-rank"},
        {"-prefix", "--prefix"},
        {"-launcher", "--launcher"},
        {"-bootstrap", "--launcher"},
        {"--bootstrap", "--launcher"},
        {"-launcher-exec", "--agent"},
        {"-bootstrap-exec", "--agent"},
        {"--launcher-exec", "--agent"},
        {"--enable-recovery", "--keep-going"},
        {"-enable-recovery", "--keep-going"},
        {"-disable-auto-cleanup", "--keep-going"},
        {"-with-ft", "--with-ft"},
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
        {"-envall", "--genvall"},
        {"--envall", "--genvall"},
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
        {"-bind-to-core", "--bind-to=core"},
        {"--bind-to-core", "--bind-to=core"},
        {"-bind-to-socket", "--bind-to=socket"},
        {"--bind-to-socket", "--bind-to=socket"},
        {"-bind-to-none", "--bind-to=none"},
        {"--bind-to-none", "--bind-to=none"},
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

void refuse_foreign(const std::string& word) {
    static const char* const one_block =
        "a torus places consecutive ranks on each host; -ppn N sets their number";
    static const char* const no_stdin = "rank 0 reads standard input, other ranks read nothing";
    static const char* const no_slots =
        "ranks may always share cores; -np and -ppn give their number";
    static const std::map<std::string_view, const char*> known{
        {"timestamp-output",
         "pipe the output to ts (package moreutils), for example with "
         "--tag-output"},
        {"iface", "[links] of the geometry file names the devices"},
        {"rankfile", one_block},
        {"rf", one_block},
        {"rr", one_block},
        {"rank-by", one_block},
        {"bynode", one_block},
        {"bycore", "use --map-by core"},
        {"byslot", "ranks are placed by slot by default; leave it out"},
        {"bysocket", "use --map-by socket"},
        {"npersocket", "use -ppn N --map-by socket"},
        {"nolocal", "name the hosts to use with -host"},
        {"nooversubscribe", no_slots},
        {"max-slots", no_slots},
        {"cpu-set", "start torus-run under taskset"},
        {"cpu-list", "start torus-run under taskset"},
        {"use-hwthread-cpus", "ranks are bound to cores; use --bind none to let them share"},
        {"configfile", "write the programs on the command line, separated by \":\""},
        {"app", "write the programs on the command line, separated by \":\""},
        {"do-not-launch", "torus-info reports what would be started"},
        {"preload-binary", "copy the program to the hosts, or share a file system"},
        {"stdin", no_stdin},
        {"s", no_stdin},
        {"path", "give the path of the program, or -x PATH=..."},
        {"genvnone", "ranks always get the environment; use env -i"},
        {"envnone", "ranks always get the environment; use env -i"},
        {"envlist", "use -x NAME for each variable"},
        {"merge-stderr-to-stdout", "use 2>&1"},
        {"print-all-exitcodes", "use --verbose"},
        {"report-pid", "use $! of the shell, or torus-top"},
        {"report-uri", "torus-top finds running jobs"},
        {"debug", "use --gdb RANKS"},
        {"tv", "use --gdb RANKS, or attach the debugger to torus-run"},
        {"tune", "torus-info lists the settings of torusmp; use --set KEY=VALUE"},
        {"am", "torus-info lists the settings of torusmp; use --set KEY=VALUE"},
        {"gmca", "torus-info lists the settings of torusmp; use --set KEY=VALUE"},
        {"rmk", "the geometry file or -host names the hosts"},
        {"order-nodes", "the geometry file orders the hosts"},
        {"ordered-output", "use --tag-output and sort -s -n -k1.2,1"},
        {"info", "use --version"},
        {"usize", "all ranks start together; -np gives their number"},
        {"localhost", "use --here NAME"},
        {"personality", "not needed, whichever MPI library torusmp replaces"},
        {"novm", "a daemon starts on each host that has ranks"},
    };
    std::string_view name = word;
    while (name.starts_with('-')) name.remove_prefix(1);
    const auto found = known.find(name.substr(0, name.find('=')));
    if (found != known.end())
        throw UsageError(fmt::format("{} is not an option of torusmp: {}",
                                     word.substr(0, word.find('=')), found->second));
}

bool takes_pair(const std::string& word) {
    return word == "--env" || word == "--genv" || word == "--mca";
}

void read_familiar_options(const po::variables_map& given, Options& options) {
    if (given.count("bind") && given.count("bind-to"))
        throw UsageError("--bind and --bind-to exclude each other: both bind the ranks");
    const char* bind = nullptr;
    if (given.count("map-by")) {
        const std::string value = text_of(given, "map-by");
        const Mapping mapping = mapping_of(value);
        bind = mapping.bind;
        if (mapping.ranks_per_host != 0)
            give_ranks_per_host(options, mapping.ranks_per_host, "--map-by " + value);
        if (mapping.cores_each != 0) give_cores(options, mapping.cores_each, "--map-by");
    }
    if (given.count("bind-to")) {
        std::string value = text_of(given, "bind-to");
        const Words words = words_of(value);
        // "core:4" (MPICH) is four cores.
        if (words.size() == 2 && words[0] == "core" && base::parse_integer(words[1])) {
            give_cores(options, positive(words[1], "--bind-to", value), "--bind-to");
            value = words[0];
        }
        bind = binding_of(value);
    }
    if (bind != nullptr && !given.count("bind"))
        options.settings.flags.push_back(
            {"launch.bind", bind, given.count("bind-to") ? "--bind-to" : "--map-by"});
    if (given.count("ppn")) {
        const int number = given["ppn"].as<int>();
        if (number < 1)
            throw UsageError(fmt::format("-ppn {}: expected a positive number of ranks", number));
        give_ranks_per_host(options, number, fmt::format("-ppn {}", number));
    }
    if (given.count("cpus-per-rank"))
        give_cores(options, given["cpus-per-rank"].as<int>(), "--cpus-per-rank");
    options.display_map = given["display-map"].as<bool>();
    options.quiet = given["quiet"].as<bool>();
    options.report_bindings = given["report-bindings"].as<bool>();
    if (given.count("mca"))
        for (const std::string& what : given["mca"].as<Words>())
            options.ignored.push_back(fmt::format(
                "-mca {} is ignored: it is a setting of Open MPI. torus-info lists the settings of "
                "torusmp",
                base::printable(what)));
    if (given["genvall"].as<bool>())
        options.ignored.push_back("-genvall has no effect: ranks always get the environment");
    read_lists(given, options);
    read_launcher(given, options);
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

}  // namespace torusmp::torus_run
