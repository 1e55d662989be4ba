// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "config/options.h"
#include "programs/torus_run/front/familiar.h"
#include "programs/torus_run/front/order.h"

namespace torusmp::torus_run {
namespace {

namespace po = boost::program_options;
using config::UsageError;

constexpr int most_ranks = 1 << 20;
constexpr double longest_timeout = 1e9;
constexpr int most_restarts = 1'000'000;

using Words = std::vector<std::string>;

// Options that each program of a job can set for itself.
po::options_description describe_program_options() {
    po::options_description options("Options of one program");
    auto add = options.add_options();
    add("np,n", po::value<int>()->value_name("N"),
        "number of ranks (also -np N; default: one per place in the torus, or one per core). With "
        "more ranks than hosts, each host gets several; with fewer, the job uses a box of the "
        "torus, or the hosts named first");
    add("wdir", po::value<std::string>()->value_name("FOLDER"),
        "working directory of the ranks (default: torus-run's own; also -wdir, -wd)");
    add("export", po::value<Words>()->value_name("NAME[=VALUE]"),
        "set a variable for the ranks; without VALUE, export the variable of this shell (also -x "
        "NAME[=VALUE])");
    add("env", po::value<Words>()->value_name("NAME=VALUE"),
        "set a variable for the ranks (also -env NAME VALUE)");
    return options;
}

po::options_description describe_options() {
    po::options_description options("Options");
    auto add = options.add_options();
    add("host", po::value<std::string>()->value_name("LIST"),
        "hosts to run on, for example a,b:2: some hosts of the geometry file, or a list that "
        "replaces nodes.hosts (also -host, -H)");
    add("hostfile", po::value<std::string>()->value_name("FILE"),
        "file with one host per line (also -hostfile, -machinefile, -f)");
    add("genv", po::value<Words>()->value_name("NAME=VALUE"),
        "set a variable for all programs (also -genv NAME VALUE)");
    add("genvlist", po::value<std::string>()->value_name("NAMES"),
        "export these variables to all programs, separated by commas (also -genvlist)");
    add("bind", po::value<std::string>()->value_name("HOW"),
        "bind each rank to: auto, core, numa or none (short for --set launch.bind=HOW)");
    add("agent", po::value<std::string>()->value_name("COMMAND"),
        "start programs on other hosts with COMMAND HOST PROGRAM ARGUMENTS; {host} and, over the "
        "torus, {address} in COMMAND are replaced (default: ssh; short for --set "
        "launch.agent=COMMAND)");
    add("here", po::value<std::string>()->value_name("HOST"),
        "name of this host in nodes.hosts, if it differs from the host name");
    add("torus-run", po::value<std::string>()->value_name("PATH"),
        "path of torus-run on the other hosts (default: the path on this host)");
    add("keep-going", po::bool_switch(),
        "keep the other ranks running when a rank dies, and notify them");
    add("with-ft", po::value<std::string>()->value_name("KIND"),
        "ulfm or mpi: same as --keep-going (Open MPI compatibility); no: the default");
    add("restart-on-death", po::value<int>()->value_name("N"),
        "when a rank, a daemon or a host dies, end all ranks and start them again, at most N "
        "times; "
        "other hosts replace dead ones");
    add("spares", po::value<std::string>()->value_name("HOSTS"),
        "hosts to leave free for restarts: their number, or their names as a,b (short for --set "
        "nodes.spares=HOSTS)");
    add("without", po::value<std::string>()->value_name("HOSTS"),
        "hosts of the geometry file that the job must not use, as a,b; the others form a smaller "
        "torus or, if they cannot, a graph");
    add("tag-output", po::bool_switch(),
        "prefix each line of output with \"[rank] \" (also -l, -prepend-rank)");
    add("timeout", po::value<double>()->value_name("SECONDS"), "end the job after SECONDS");
    add("reports", po::value<std::string>()->value_name("FOLDER"),
        "write a report of each rank to FOLDER on SIGUSR1, and when a wait has lasted for "
        "watchdog.after");
    add("monitor", po::bool_switch(),
        "watch a running job: run torus-top with the remaining arguments; must be the first word");
    add("verbose", po::bool_switch(), "print what is started, where, and how it ends (also -v)");
    add("oversubscribe", po::bool_switch(),
        "accepted for compatibility; ranks may always share cores");
    add("allow-run-as-root", po::bool_switch(), "accepted for compatibility; has no effect");
    describe_familiar_options(options);
    config::add_common_options(options);
    options.add(describe_program_options());
    return options;
}

std::string take_pair(const Words& words, std::size_t& i) {
    const std::string& name = words[i++];
    if (name.find('=') != std::string::npos || i == words.size()) return name;
    return name + "=" + words[i++];
}

// Whether the option takes the next argument as its value.
bool takes_next(const po::options_description& options, const std::string& word) {
    const bool is_long = word.starts_with("--");
    if (word.find('=') != std::string::npos) return false;
    if (!is_long && word.size() != 2) return false;  // -n8
    const po::option_description* option =
        options.find_nothrow(is_long ? word.substr(2) : word, false);
    return option && option->semantic()->max_tokens() > 0;
}

bool is_rank_list(const std::string& word) {
    return word == "all" || word.find_first_not_of("0123456789,-") == std::string::npos;
}

// The arguments of one program: torus-run's options, then the program's command.
struct Split {
    Words ours, command;
};

Split split(const Words& all, const po::options_description& options) {
    Split words;
    std::size_t i = 0;
    while (i < all.size()) {
        const std::string word = spell(all[i]);
        if (word == "--") {
            ++i;
            break;
        }
        if (word.size() < 2 || word[0] != '-') break;
        refuse_foreign(all[i]);
        words.ours.push_back(word);
        ++i;
        // MPICH's -gdb takes no ranks: all of them.
        if (all[i - 1] == "-gdb" && (i == all.size() || !is_rank_list(all[i]))) {
            words.ours.back() += "=all";
            continue;
        }
        if (i == all.size() || !takes_next(options, word)) continue;
        words.ours.push_back(takes_pair(word) ? take_pair(all, i) : all[i++]);
    }
    words.command.assign(all.begin() + std::ptrdiff_t(i), all.end());
    return words;
}

// Only mpirun and mpiexec treat ":" as the end of a program; torus-run passes it to the program.
std::vector<Words> split_programs(int argc, const char* const* argv) {
    const std::string_view path = argc > 0 ? argv[0] : "";
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const bool several = name.starts_with("mpirun") || name.starts_with("mpiexec");
    std::vector<Words> programs(1);
    for (int i = 1; i < argc; ++i) {
        if (several && std::string_view(argv[i]) == ":")
            programs.emplace_back();
        else
            programs.back().emplace_back(argv[i]);
    }
    return programs;
}

po::variables_map read(const char* program, const std::vector<std::string>& words,
                       const po::options_description& options) {
    std::vector<const char*> argv{program};
    for (const std::string& word : words) argv.push_back(word.c_str());
    return config::parse_options(int(argv.size()), argv.data(), options);
}

// torus-run starts itself through an agent with "--daemon MILLISECONDS [NAME VERSION]" and no other
// options.
std::optional<std::chrono::milliseconds> daemon_timeout(int argc, const char* const* argv) {
    if ((argc != 3 && argc != 5) || std::string(argv[1]) != "--daemon") return std::nullopt;
    const auto timeout = base::parse_integer(argv[2]);
    if (!timeout || *timeout < 1)
        throw UsageError(
            fmt::format("--daemon {}: expected milliseconds. torus-run uses this "
                        "option to start its daemon on another host",
                        argv[2]));
    return std::chrono::milliseconds(*timeout);
}

Words words_of(const po::variables_map& given, const char* option) {
    return given.count(option) ? given[option].as<Words>() : Words();
}

// A name without a value gets the value in this environment; nothing if it is not set.
void carry_variable(Words& environment, const std::string& name) {
    if (const char* value = std::getenv(name.c_str()))
        set_variable(environment, fmt::format("{}={}", name, value));
}

void check_variable(const std::string& variable, const char* option) {
    if (variable.empty() || variable.front() == '=' || variable.front() == '-')
        throw UsageError(fmt::format("{} {}: expected the name of a variable", option, variable));
}

// Handles "-genv NAME=VALUE" and "-env NAME=VALUE".
void set_variables(Words& environment, const Words& variables, const char* option) {
    for (const std::string& variable : variables) {
        check_variable(variable, option);
        if (variable.find('=') == std::string::npos)
            throw UsageError(fmt::format("{0} {1}: expected {0} NAME VALUE", option, variable));
        set_variable(environment, variable);
    }
}

Words job_variables(const po::variables_map& given) {
    Words environment;
    if (given.count("genvlist")) {
        std::istringstream names(given["genvlist"].as<std::string>());
        for (std::string name; std::getline(names, name, ',');) carry_variable(environment, name);
    }
    set_variables(environment, words_of(given, "genv"), "-genv");
    return environment;
}

ProgramOptions read_program(const po::variables_map& given, const Words& command,
                            const Words& of_the_job) {
    ProgramOptions program;
    program.command = command;
    program.environment = of_the_job;
    for (const std::string& variable : words_of(given, "export")) {
        check_variable(variable, "-x");
        if (variable.find('=') == std::string::npos)
            carry_variable(program.environment, variable);
        else
            set_variable(program.environment, variable);
    }
    set_variables(program.environment, words_of(given, "env"), "-env");
    if (given.count("wdir")) {
        program.folder = given["wdir"].as<std::string>();
        if (program.folder.empty()) throw UsageError("-wdir is empty: expected a folder");
    }
    if (given.count("np")) {
        program.ranks = given["np"].as<int>();
        if (*program.ranks < 1 || *program.ranks > most_ranks)
            throw UsageError(fmt::format("-np {}: expected a number of ranks from 1 to {}",
                                         *program.ranks, most_ranks));
    }
    return program;
}

// After the first ":" only options of a single program are accepted.
ProgramOptions read_further_program(const Words& all, const po::options_description& everything,
                                    const Words& of_the_job) {
    const po::options_description own = describe_program_options();
    const Split words = split(all, everything);
    for (const std::string& word : words.ours) {
        const std::string name = word.substr(0, word.find('='));
        if (name.starts_with("--") && everything.find_nothrow(name.substr(2), false) &&
            !own.find_nothrow(name.substr(2), false))
            throw UsageError(
                fmt::format("{} applies to the whole job: put it before the first program", name));
    }
    if (words.command.empty())
        throw UsageError(
            "missing program: expected one between two \":\" and after the last \":\"");
    return read_program(read("torus-run", words.ours, own), words.command, of_the_job);
}

std::vector<HostSlots> read_hosts(const po::variables_map& given) {
    if (given.count("host") && given.count("hostfile"))
        throw UsageError("-host and -hostfile exclude each other: both name the hosts");
    if (given.count("host")) return parse_host_list(given["host"].as<std::string>(), "-host");
    if (given.count("hostfile"))
        return read_host_file(given["hostfile"].as<std::string>(), "-hostfile");
    return {};
}

void read_fault_tolerance(const po::variables_map& given, Options& options) {
    if (!given.count("with-ft")) return;
    const std::string kind = given["with-ft"].as<std::string>();
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), kind) != names.end();
    };
    if (is_one_of({"ulfm", "mpi", "yes", "true", "1"}))
        options.keep_going = true;
    else if (!is_one_of({"no", "none", "false", "0"}))
        throw UsageError(
            fmt::format("--with-ft {}: expected ulfm, mpi or no", base::printable(kind)));
}

// Placement compares the names with those of the geometry file.
Words read_left_out(const std::string& text) {
    Words names;
    std::istringstream parts(text);
    for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
    if (names.empty() || text.back() == ',' || std::ranges::count(names, std::string()) != 0)
        throw UsageError(
            fmt::format("--without {}: expected hosts, for example a,b", base::printable(text)));
    return names;
}

void read_restarts(const po::variables_map& given, Options& options) {
    if (given.count("spares"))
        options.settings.flags.push_back(
            {"nodes.spares", given["spares"].as<std::string>(), "--spares"});
    if (!given.count("restart-on-death")) return;
    options.restarts = given["restart-on-death"].as<int>();
    if (options.restarts < 0 || options.restarts > most_restarts)
        throw UsageError(
            fmt::format("--restart-on-death {}: expected a number of restarts from 0 to {}",
                        options.restarts, most_restarts));
    if (options.keep_going)
        throw UsageError(
            "--keep-going and --restart-on-death exclude each other: after a death the other ranks "
            "continue, or all ranks start again");
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
    if (const auto timeout = daemon_timeout(argc, argv)) {
        Options options;
        options.daemon_timeout = timeout;
        if (argc == 5) {
            options.join = argv[3];
            options.join_version = std::uint64_t(base::parse_integer(argv[4]).value_or(0));
        }
        return options;
    }
    const po::options_description description = describe_options();
    const std::vector<Words> programs = split_programs(argc, argv);
    const Split words = split(programs.front(), description);
    const po::variables_map given = read("torus-run", words.ours, description);

    Options options;
    const Words of_the_job = job_variables(given);
    options.programs.push_back(read_program(given, words.command, of_the_job));
    for (std::size_t i = 1; i < programs.size(); ++i)
        options.programs.push_back(read_further_program(programs[i], description, of_the_job));
    options.hosts = read_hosts(given);
    if (given["monitor"].as<bool>())
        throw UsageError("--monitor must be the first word: it watches a running job");
    options.help = given.count("help") != 0;
    options.version = given.count("version") != 0;
    options.tag_output = given["tag-output"].as<bool>();
    options.verbose = given["verbose"].as<bool>();
    options.keep_going = given["keep-going"].as<bool>();
    if (given.count("without")) options.without = read_left_out(given["without"].as<std::string>());
    if (given.count("here")) options.here = given["here"].as<std::string>();
    if (given.count("torus-run")) options.torus_run = given["torus-run"].as<std::string>();
    options.settings = config::request_from(given);
    read_familiar_options(given, options);
    if (given.count("reports")) {
        options.reports = given["reports"].as<std::string>();
        if (options.reports.empty()) throw UsageError("--reports is empty: expected a folder");
    }
    read_fault_tolerance(given, options);
    read_restarts(given, options);
    if (given.count("agent"))
        options.settings.flags.push_back(
            {"launch.agent", given["agent"].as<std::string>(), "--agent"});
    if (given.count("bind"))
        options.settings.flags.push_back(
            {"launch.bind", given["bind"].as<std::string>(), "--bind"});
    if (given.count("timeout")) {
        options.timeout_seconds = given["timeout"].as<double>();
        // Written so that NaN is rejected too.
        if (!(options.timeout_seconds > 0 && options.timeout_seconds <= longest_timeout))
            throw UsageError(fmt::format("--timeout {}: expected a positive number of seconds",
                                         options.timeout_seconds));
    }
    return options;
}

std::string help_text() {
    std::ostringstream text;
    text << "Starts the ranks of a job and waits until they end.\n\n"
            "Usage: torus-run [options] PROGRAM [ARGUMENTS]\n"
            "       mpirun [options] PROGRAM [ARGUMENTS] : [options] PROGRAM [ARGUMENTS]\n\n"
         << describe_options()
         << "\n"
            "Examples:\n"
            "  torus-run -np 8 --torus 2x2x2 ./halo_exchange\n"
            "  torus-run --config geometry.toml --tag-output ./app in.xml\n"
            "  torus-run -np 4 --set transport.tokens=8 --timeout 600 ./app\n"
            "  torus-run --config cluster.toml --agent 'ssh -p 2222' ./app\n"
            "  mpirun -np 2 -x OMP_NUM_THREADS=4 ./ocean : -np 6 -wdir sky ./atmosphere\n\n"
            "If the geometry file lists hosts (nodes.hosts), the ranks of each node start on its "
            "host.\n"
            "The agent (default: ssh) starts torus-run there; everything else goes over the "
            "agent's\n"
            "standard input and output. Ranks get the environment, working directory and settings\n"
            "of this torus-run. With launch.through = \"torus\", each host is started by a "
            "neighbour,\n"
            "so only neighbours must resolve each other's names. An agent with {address}\n"
            "works without names: {address} is the IPv6 address that answers on the link.\n\n"
            "Rank 0 reads standard input. torus-run forwards SIGINT, SIGTERM, SIGHUP, SIGQUIT, "
            "SIGUSR1,\n"
            "SIGUSR2, SIGTSTP and SIGCONT; a second SIGINT or SIGTERM kills the job.\n\n"
            "Exit code:\n"
            "  0    every rank ended with 0\n"
            "  1    every rank ended with 0, but output was lost because the disk was full\n"
            "  2    nothing was started: an option, setting, host or limit is wrong\n"
            "  124  --timeout expired\n"
            "  else the code of the first rank that failed (128 + the number of the signal that\n"
            "       killed or stopped it)\n"
            "With --keep-going, ranks that were killed and hosts that were lost count only if no\n"
            "rank ended with 0.\n"
            "With --restart-on-death, the exit code is that of the last start.\n";
    return text.str();
}

}  // namespace torusmp::torus_run
