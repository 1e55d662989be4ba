// SPDX-License-Identifier: BSD-3-Clause
// torus-info: prints the links, the settings that a job would use, and this host.
#include <fmt/format.h>

#include <cstdio>
#include <sstream>
#include <string_view>

#include "base/printing.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/options.h"
#include "config/raw.h"
#include "job/settings.h"
#include "programs/torus_info/explain.h"
#include "programs/torus_info/netplan.h"
#include "programs/torus_info/path.h"
#include "programs/torus_info/report.h"

namespace po = boost::program_options;
using namespace torusmp::config;
using namespace torusmp::torus_info;

namespace {

constexpr const char* examples = R"(
Examples:
  torus-info                                        the defaults, and this host
  torus-info --config cluster.toml                  check and explain a geometry file
  torus-info --config cluster.toml --here           with this host and where its ranks run
  torus-info --torus 2x2x2 --np 8                   where 8 ranks would run
  torus-info --set transport.tokens=8 --json -      the same for a script
  torus-info --explain transport.eager_limit        what one key is for
  torus-run --config cluster.toml torus-info --path /scratch/x   where a file would live
  torus-info netplan --config cluster.toml          addresses and routes; see netplan --help

Exit codes: 0 success, 1 failure, 2 a setting or an option is wrong.
)";

po::options_description make_options() {
    po::options_description options("Options");
    add_common_options(options);
    options.add_options()  //
        ("np,n", po::value<std::string>()->value_name("N"),
         "number of ranks (default: the size of the torus, or the number of cores)")  //
        ("here",
         "also show this host and where its ranks run (always shown if no hosts are named)")  //
        ("json", po::value<std::string>()->value_name("FILE"),
         "write JSON to FILE; - prints it instead of the text")                      //
        ("explain", po::value<std::string>()->value_name("KEY"), "explain one key")  //
        ("path", po::value<std::string>()->value_name("FILE"),
         "explain how ranks would reach a file; under torus-run, on every host of the job")  //
        ("reference", "explain all keys, as a page in Markdown");
    return options;
}

int print_help(const po::options_description& options) {
    std::ostringstream text;
    text << options;
    fmt::print(
        "Explains a geometry file: its links, the effective settings with their origins, and this "
        "host.\n\nUsage: torus-info [options]\n       torus-info netplan [options]\n\n{}{}",
        text.str(), examples);
    return exit_ok;
}

std::optional<int> asked_ranks(const po::variables_map& given) {
    if (!given.count("np")) return std::nullopt;
    const std::string text = given["np"].as<std::string>();
    const auto ranks = torusmp::base::parse_integer(text);
    if (!ranks || *ranks < 1 || *ranks > max_ranks)
        throw UsageError(fmt::format("--np is \"{}\": expected a whole number from 1 to {}",
                                     torusmp::base::printable(text), max_ranks));
    return int(*ranks);
}

int explain(const std::string& name, const Settings& settings) {
    const AnySetting* setting = settings.schema().find(name);
    if (!setting)
        throw UsageError(fmt::format("--explain: unknown key '{}'{}",
                                     torusmp::base::printable(name),
                                     settings.schema().suggest(name)));
    fmt::print("{}", explain_setting(*setting, settings));
    return exit_ok;
}

int run(int argc, const char* const* argv) {
    const po::options_description options = make_options();
    const po::variables_map given = parse_options(argc, argv, options);
    if (given.count("help")) return print_help(options);
    if (given.count("version")) {
        print_version("torus-info");
        return exit_ok;
    }
    if (given.count("reference")) {
        fmt::print("{}", reference_page(torusmp::job::schema()));
        return exit_ok;
    }
    // Inside a job it shows the settings of the job's ranks.
    const Settings settings = load_for_rank(torusmp::job::schema(), request_from(given));
    if (given.count("explain")) return explain(given["explain"].as<std::string>(), settings);
    if (given.count("path")) return explain_path(given["path"].as<std::string>(), settings);
    const Report report = make_report(settings, asked_ranks(given));
    const std::string json = given.count("json") ? given["json"].as<std::string>() : "";
    if (json == "-") {
        fmt::print("{}", report_json(report));
        return exit_ok;
    }
    if (given.count("json")) torusmp::base::write_text_file(json, report_json(report));
    fmt::print("{}", report_text(report, given.count("here") > 0));
    return exit_ok;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "netplan")
        return run_program("torus-info netplan", [&] { return run_netplan(argc - 1, argv + 1); });
    return run_program("torus-info", [&] { return run(argc, argv); });
}
