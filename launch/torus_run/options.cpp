#include "launch/torus_run/options.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <sstream>

namespace torusmp::launch {
namespace {

namespace po = boost::program_options;

constexpr int most_ranks = 1 << 20;

po::options_description describe_options() {
    po::options_description options("Options");
    auto add = options.add_options();
    add("np,n", po::value<int>()->value_name("N"),
        "ranks to start (also -np N); default: as many as the torus has, or one for each core");
    add("torus", po::value<std::string>()->value_name("AxBxC"),
        "nodes along each dimension: short for --set torus.dims=AxBxC");
    add("config", po::value<std::string>()->value_name("FILE"), "geometry file");
    add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
        "one setting, as in the geometry file; may be repeated");
    add("bind", po::value<std::string>()->value_name("HOW"),
        "what a rank is bound to: core, numa, none or auto: short for --set launch.bind=HOW");
    add("tag-output", po::bool_switch(), "put \"[rank] \" before each line that a rank prints");
    add("timeout", po::value<double>()->value_name("SECONDS"), "end the job after this time");
    add("verbose", po::bool_switch(), "say what is started, where, and how it ends");
    add("help,h", po::bool_switch(), "this text");
    return options;
}

// "-np 8" is what MPI users type; Program_options knows one letter after one dash.
std::string spell(const std::string& word) {
    if (word == "-np") return "--np";
    if (word.starts_with("-np=")) return "-" + word;
    return word;
}

// Whether the option takes the next word as its value.
bool takes_next(const po::options_description& options, const std::string& word) {
    if (word.find('=') != std::string::npos) return false;
    const bool is_long = word.starts_with("--");
    if (!is_long && word.size() != 2) return false;  // -n8
    const std::string name = is_long ? word.substr(2) : word;
    const po::option_description* option = options.find_nothrow(name, false);
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

po::variables_map read(const po::options_description& options,
                       const std::vector<std::string>& words) {
    namespace style = po::command_line_style;
    constexpr int no_guessing = style::unix_style & ~style::allow_guessing;
    po::variables_map values;
    try {
        po::store(po::command_line_parser(words).options(options).style(no_guessing).run(), values);
        po::notify(values);
    } catch (const po::error& error) {
        throw UsageError(fmt::format("{}; torus-run --help lists the options", error.what()));
    }
    return values;
}

std::vector<config::Flag> settings_flags(const po::variables_map& values) {
    std::vector<config::Flag> flags;
    if (values.count("set"))
        for (const std::string& text : values["set"].as<std::vector<std::string>>())
            flags.push_back(config::parse_set_flag(text));
    // The short forms come last, so they win.
    if (values.count("torus"))
        flags.push_back({"torus.dims", values["torus"].as<std::string>(), "--torus"});
    if (values.count("bind"))
        flags.push_back({"launch.bind", values["bind"].as<std::string>(), "--bind"});
    return flags;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
    const po::options_description description = describe_options();
    const Split words = split(argc, argv, description);
    const po::variables_map values = read(description, words.ours);

    Options options;
    options.command = words.command;
    options.help = values["help"].as<bool>();
    options.tag_output = values["tag-output"].as<bool>();
    options.verbose = values["verbose"].as<bool>();
    options.settings.flags = settings_flags(values);
    if (values.count("config")) options.settings.file = values["config"].as<std::string>();
    if (values.count("np")) {
        options.ranks = values["np"].as<int>();
        if (*options.ranks < 1 || *options.ranks > most_ranks)
            throw UsageError(fmt::format("-np {}: expected a number of ranks from 1 to {}",
                                         *options.ranks, most_ranks));
    }
    if (values.count("timeout")) {
        options.timeout_seconds = values["timeout"].as<double>();
        if (!(options.timeout_seconds > 0) || options.timeout_seconds > 1e9)
            throw UsageError(fmt::format("--timeout {}: expected seconds, more than 0",
                                         options.timeout_seconds));
    }
    return options;
}

std::string help_text() {
    std::ostringstream text;
    text
        << "Starts the ranks of one job and stays with them to the end.\n\n"
           "torus-run [options] PROGRAM [its arguments]\n\n"
        << describe_options()
        << "\n"
           "Examples:\n"
           "  torus-run -np 8 --torus 2x2x2 ./halo_exchange\n"
           "  torus-run --config geometry.toml --tag-output ./app in.xml\n"
           "  torus-run -np 4 --set transport.tokens=8 --timeout 600 ./app\n\n"
           "Standard input goes to rank 0. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, "
           "SIGTSTP\n"
           "and SIGCONT are passed on; a second SIGINT or SIGTERM kills the job.\n"
           "Exit code: 0 when every rank ends with 0; else the code of the first rank that failed\n"
           "(128 + the signal that killed it); 2 when nothing was started; 124 after --timeout.\n";
    return text.str();
}

}  // namespace torusmp::launch
