#include "launch/torus_run/options.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <sstream>

#include "config/options.h"

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

}  // namespace

Options parse_options(int argc, const char* const* argv) {
    const po::options_description description = describe_options();
    const Split words = split(argc, argv, description);
    const po::variables_map given = read("torus-run", words.ours, description);

    Options options;
    options.command = words.command;
    options.help = given.count("help") != 0;
    options.version = given.count("version") != 0;
    options.tag_output = given["tag-output"].as<bool>();
    options.verbose = given["verbose"].as<bool>();
    options.settings = config::request_from(given);
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
           "  torus-run -np 4 --set transport.tokens=8 --timeout 600 ./app\n\n"
           "Standard input goes to rank 0. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,\n"
           "SIGTSTP and SIGCONT are passed on; a second SIGINT or SIGTERM kills the job.\n"
           "Exit code: 0 when every rank ends with 0; else the code of the first rank that failed\n"
           "(128 + the signal that killed it); 2 when nothing was started because of a wrong\n"
           "option or setting; 124 after --timeout.\n";
    return text.str();
}

}  // namespace torusmp::launch
