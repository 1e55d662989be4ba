#include "launch/torus_run/options.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <sstream>

#include "config/options.h"
#include "config/units.h"

namespace torusmp::launch {
namespace {

namespace po = boost::program_options;
using config::UsageError;

constexpr int most_ranks = 1 << 20;
constexpr double longest_timeout = 1e9;

po::options_description describe_options() {
    po::options_description options("Options");
    auto add = options.add_options();
    add("np,n", po::value<int>()->value_name("N"),
        "ranks to start (also -np N); default: as many as the torus has, or one for each core");
    add("bind", po::value<std::string>()->value_name("HOW"),
        "what a rank is bound to: auto, core, numa or none; short for --set launch.bind=HOW");
    add("agent", po::value<std::string>()->value_name("COMMAND"),
        "what starts a program on another host, as COMMAND HOST PROGRAM ARGUMENTS, or with {host} "
        "or, over the torus, {address} in it; short for --set launch.agent=COMMAND");
    add("here", po::value<std::string>()->value_name("HOST"),
        "which of nodes.hosts this host is, where it calls itself otherwise");
    add("torus-run", po::value<std::string>()->value_name("PATH"),
        "where torus-run is on the other hosts; default: where it is on this one");
    add("keep-going", po::bool_switch(),
        "let the other ranks go on when one dies, and tell them of it");
    add("tag-output", po::bool_switch(), "put \"[rank] \" before each line that a rank prints");
    add("timeout", po::value<double>()->value_name("SECONDS"), "end the job after this time");
    add("verbose", po::bool_switch(), "say what is started, where, and how it ends");
    config::add_common_options(options);
    return options;
}

// "-np 8" is what MPI users type; Program_options knows one letter after one dash.
std::string spell(const std::string& word) {
    return word == "-np" || word.starts_with("-np=") ? "-" + word : word;
}

// Whether the option takes the next word as its value.
bool takes_next(const po::options_description& options, const std::string& word) {
    const bool is_long = word.starts_with("--");
    if (word.find('=') != std::string::npos) return false;
    if (!is_long && word.size() != 2) return false;  // -n8
    const po::option_description* option =
        options.find_nothrow(is_long ? word.substr(2) : word, false);
    return option && option->semantic()->max_tokens() > 0;
}

struct Split {
    std::vector<std::string> ours, command;
};

Split split(int argc, const char* const* argv, const po::options_description& options) {
    Split words;
    int i = 1;
    while (i < argc) {
        const std::string word = spell(argv[i]);
        if (word == "--") {
            ++i;
            break;
        }
        if (word.size() < 2 || word[0] != '-') break;
        words.ours.push_back(word);
        ++i;
        if (takes_next(options, word) && i < argc) words.ours.emplace_back(argv[i++]);
    }
    words.command.assign(argv + i, argv + argc);
    return words;
}

po::variables_map read(const char* program, const std::vector<std::string>& words,
                       const po::options_description& options) {
    std::vector<const char*> argv{program};
    for (const std::string& word : words) argv.push_back(word.c_str());
    return config::parse_options(int(argv.size()), argv.data(), options);
}

// "--keeper MILLISECONDS" alone is how a torus-run starts another one over an agent.
std::optional<std::chrono::milliseconds> keeper_timeout(int argc, const char* const* argv) {
    if (argc != 3 || std::string(argv[1]) != "--keeper") return std::nullopt;
    const auto timeout = config::parse_integer(argv[2]);
    if (!timeout || *timeout < 1)
        throw UsageError(
            fmt::format("--keeper {}: expected milliseconds; torus-run uses this "
                        "option by itself, to start its part on another host",
                        argv[2]));
    return std::chrono::milliseconds(*timeout);
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
    if (const auto timeout = keeper_timeout(argc, argv)) {
        Options options;
        options.keeper_timeout = timeout;
        return options;
    }
    const po::options_description description = describe_options();
    const Split words = split(argc, argv, description);
    const po::variables_map given = read("torus-run", words.ours, description);

    Options options;
    options.command = words.command;
    options.help = given.count("help") != 0;
    options.version = given.count("version") != 0;
    options.tag_output = given["tag-output"].as<bool>();
    options.verbose = given["verbose"].as<bool>();
    options.keep_going = given["keep-going"].as<bool>();
    if (given.count("here")) options.here = given["here"].as<std::string>();
    if (given.count("torus-run")) options.torus_run = given["torus-run"].as<std::string>();
    options.settings = config::request_from(given);
    if (given.count("agent"))
        options.settings.flags.push_back(
            {"launch.agent", given["agent"].as<std::string>(), "--agent"});
    if (given.count("bind"))
        options.settings.flags.push_back(
            {"launch.bind", given["bind"].as<std::string>(), "--bind"});
    if (given.count("np")) {
        options.ranks = given["np"].as<int>();
        if (*options.ranks < 1 || *options.ranks > most_ranks)
            throw UsageError(fmt::format("-np {}: expected a number of ranks from 1 to {}",
                                         *options.ranks, most_ranks));
    }
    if (given.count("timeout")) {
        options.timeout_seconds = given["timeout"].as<double>();
        // Written so that "nan" fails too.
        if (!(options.timeout_seconds > 0 && options.timeout_seconds <= longest_timeout))
            throw UsageError(fmt::format("--timeout {}: expected seconds, more than 0",
                                         options.timeout_seconds));
    }
    return options;
}

std::string help_text() {
    std::ostringstream text;
    text
        << "torus-run starts the ranks of one job and stays with them to the end.\n\n"
           "torus-run [options] PROGRAM [its arguments]\n\n"
        << describe_options()
        << "\n"
           "Examples:\n"
           "  torus-run -np 8 --torus 2x2x2 ./halo_exchange\n"
           "  torus-run --config geometry.toml --tag-output ./app in.xml\n"
           "  torus-run -np 4 --set transport.tokens=8 --timeout 600 ./app\n"
           "  torus-run --config cluster.toml --agent 'ssh -p 2222' ./app\n\n"
           "Where the geometry file lists hosts (nodes.hosts), the ranks of each node start "
           "there:\n"
           "the agent, ssh unless said otherwise, starts torus-run on that host, and everything "
           "else\n"
           "goes over its standard input and output. Environment, working directory and settings "
           "are\n"
           "carried along. With launch.through = \"torus\" each host is reached from a neighbour, "
           "and\n"
           "only neighbours need to know each other's names; with {address} in the agent not even\n"
           "they: it stands for the IPv6 address that answers on the link.\n\n"
           "Standard input goes to rank 0. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,\n"
           "SIGTSTP and SIGCONT are passed on; a second SIGINT or SIGTERM kills the job.\n"
           "Exit code: 0 when every rank ends with 0; else the code of the first rank that failed\n"
           "(128 + the signal that killed or stopped it), also when the others went on; 2 when\n"
           "nothing was started because of a wrong option, setting or host; 124 after --timeout.\n";
    return text.str();
}

}  // namespace torusmp::launch
