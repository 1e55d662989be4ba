// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/options.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "config/options.h"
#include "programs/torus_run/monitor/records.h"

namespace torusmp::torus_top {
namespace {

namespace po = boost::program_options;
using config::UsageError;

po::options_description describe_options() {
    po::options_description options("Options");
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    options.add_options()                                        //
        ("list", "list the jobs that can be watched, and exit")  //
        ("show", text("WHAT")->default_value("ranks"),
         "first view, and view of --once and --csv: ranks, hosts, links or plane")   //
        ("interval", text("TIME")->default_value("1s"), "time between two samples")  //
        ("once", "print one interval as text, and exit")                             //
        ("json", "print one interval as one line of JSON, and exit")                 //
        ("csv", "print one interval as CSV, and exit (--show ranks or links)")       //
        ("serve", text("ADDRESS:PORT"),
         "serve a page for browsers, /api/state in JSON and /metrics in OpenMetrics, and print its "
         "address with a token; PORT 0 takes a free port")           //
        ("to-others", "with --serve: allow other hosts to connect")  //
        ("token", text("FILE"),
         "with --serve: keep the token in FILE, readable only by its owner (default: a new "
         "token at each start)")  //
        ("record", text("FILE"),
         "write all samples to FILE; without a terminal, until the job ends")    //
        ("replay", text("FILE"), "show the recording in FILE instead of a job")  //
        ("speed", text("FACTOR")->default_value("1"),
         "with --replay: play FACTOR times as fast")  //
        ("help,h", "print this help and exit")        //
        ("version", "print the version and exit");
    return options;
}

Page page_of(const std::string& name) {
    if (name == "ranks") return Page::ranks;
    if (name == "hosts") return Page::nodes;
    if (name == "links") return Page::links;
    if (name == "plane") return Page::plane;
    throw UsageError(fmt::format("--show is \"{}\": expected ranks, hosts, links or plane",
                                 base::printable(name)));
}

std::chrono::milliseconds interval_of(const std::string& text) {
    using std::chrono::milliseconds;
    const auto time = base::parse_time(text);
    if (!time || *time < milliseconds(torus_run::shortest_interval) ||
        *time > milliseconds(torus_run::longest_interval))
        throw UsageError(fmt::format("--interval is \"{}\": expected a time from 50ms to 1h",
                                     base::printable(text)));
    return std::chrono::ceil<milliseconds>(*time);
}

// Reads "127.0.0.1:8080" or "[::1]:8080".
void read_address(const std::string& text, Options& options) {
    const std::size_t colon = text.rfind(':');
    const std::int64_t port =
        colon == std::string::npos ? -1 : base::parse_integer(text.substr(colon + 1)).value_or(-1);
    std::string address = text.substr(0, colon);
    if (address.size() > 2 && address.front() == '[' && address.back() == ']')
        address = address.substr(1, address.size() - 2);
    in_addr four{};
    in6_addr six{};
    const bool is_four = inet_pton(AF_INET, address.c_str(), &four) == 1;
    const bool is_six = inet_pton(AF_INET6, address.c_str(), &six) == 1;
    if (port < 0 || port > 65535 || (!is_four && !is_six))
        throw UsageError(fmt::format(
            "--serve {}: expected an address of this host and a port, like 127.0.0.1:8080",
            base::printable(text)));
    const bool loopback =
        (is_four && (ntohl(four.s_addr) >> 24) == 127) || (is_six && IN6_IS_ADDR_LOOPBACK(&six));
    if (!loopback && !options.open_to_others)
        throw UsageError(
            fmt::format("--serve {}: other hosts could connect. Use a loopback address such as "
                        "127.0.0.1, or add "
                        "--to-others",
                        text));
    options.address = address;
    options.port = int(port);
}

double speed_of(const std::string& text) {
    std::istringstream in(text);
    double speed = 0;
    if (!(in >> speed) || !in.eof() || !(speed >= 0 && speed <= 1e6))
        throw UsageError(
            fmt::format("--speed is \"{}\": expected a number (0: as fast as possible)",
                        base::printable(text)));
    return speed;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
    po::options_description all = describe_options();
    po::options_description hidden;
    hidden.add_options()("job", po::value<std::string>());
    po::positional_options_description positional;
    positional.add("job", 1);
    all.add(hidden);
    const po::variables_map given = config::parse_options(argc, argv, all, positional);

    Options options;
    options.help = given.count("help") != 0;
    options.version = given.count("version") != 0;
    if (given.count("job")) {
        const std::string text = given["job"].as<std::string>();
        const auto job = base::parse_integer(text);
        if (!job || *job < 1 || *job > 1 << 30)
            throw UsageError(fmt::format("{}: expected a job number from torus-top --list",
                                         base::printable(text)));
        options.job = pid_t(*job);
    }
    options.page = page_of(given["show"].as<std::string>());
    options.interval = interval_of(given["interval"].as<std::string>());
    options.speed = speed_of(given["speed"].as<std::string>());
    options.open_to_others = given.count("to-others") != 0;
    int forms = 0;
    for (const auto& [name, form] : {std::pair{"once", Options::Form::once},
                                     {"json", Options::Form::json},
                                     {"csv", Options::Form::csv},
                                     {"serve", Options::Form::serve},
                                     {"list", Options::Form::list}})
        if (given.count(name)) {
            options.form = form;
            ++forms;
        }
    if (forms > 1) throw UsageError("expected one of --list, --once, --json, --csv and --serve");
    if (options.form == Options::Form::serve)
        read_address(given["serve"].as<std::string>(), options);
    else if (options.open_to_others)
        throw UsageError("--to-others requires --serve");
    if (given.count("token")) options.token_file = given["token"].as<std::string>();
    if (!options.token_file.empty() && options.form != Options::Form::serve)
        throw UsageError("--token requires --serve");
    if (options.form == Options::Form::csv && options.page != Page::ranks &&
        options.page != Page::links)
        throw UsageError("--csv requires --show ranks or --show links");
    if (given.count("record")) options.record = given["record"].as<std::string>();
    if (given.count("replay")) options.replay = given["replay"].as<std::string>();
    if (!options.replay.empty() && (options.job || !options.record.empty()))
        throw UsageError("--replay shows a file and cannot be combined with JOB or --record");
    return options;
}

std::string help_text() {
    std::ostringstream text;
    text << "Shows a running job: the states of its ranks and the traffic on its links.\n\n"
            "Usage: torus-top [options] [JOB]\n\n"
         << describe_options()
         << "\n"
            "Examples:\n"
            "  torus-top                            the only job that runs, or a list of them\n"
            "  torus-top 4711                       one of several\n"
            "  torus-top --once --show links        its links, as text\n"
            "  torus-top --json | jq .totals        for a script\n"
            "  torus-top --serve 127.0.0.1:8080     a page for the browser, and metrics\n"
            "  torus-top --record job.rec --once    and later: torus-top --replay job.rec\n\n"
            "JOB is the process id of its torus-run. torus-top runs on the host where torus-run "
            "was\n"
            "started, as the same user. It can be started and ended at any time and does not "
            "slow\nthe job down. On the screen, h lists the keys.\n\n"
            "Exit code: 0; 1 if the job cannot be watched; 2 if an option is wrong.\n";
    return text.str();
}

}  // namespace torusmp::torus_top
