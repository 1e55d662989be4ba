// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/options.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "config/options.h"
#include "programs/torus_run/monitor/records.h"

namespace torusmp::top {
namespace {

namespace po = boost::program_options;
using config::UsageError;

po::options_description describe_options() {
    po::options_description options("Options");
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    options.add_options()                                       //
        ("list", "list the jobs that can be watched, and end")  //
        ("show", text("WHAT")->default_value("ranks"),
         "what to begin with, and what --once and --csv write: ranks, hosts, links or plane")  //
        ("interval", text("TIME")->default_value("1s"), "between two looks")                   //
        ("once", "look for one interval, write it as text, and end")                           //
        ("json", "the same as JSON, on one line")                                              //
        ("csv", "the same as CSV: --show ranks or links")                                      //
        ("serve", text("ADDRESS:PORT"),
         "a page for browsers, /api/state in JSON and /metrics in OpenMetrics; PORT 0: any that is "
         "free")  //
        ("to-others",
         "with --serve: let other hosts connect, if they have the token that is printed")  //
        ("record", text("FILE"),
         "write all that is told of the job to FILE; without a terminal until the job ends")   //
        ("replay", text("FILE"), "show what FILE has, instead of a job")                       //
        ("speed", text("FACTOR")->default_value("1"), "with --replay: so many times as fast")  //
        ("help,h", "print this help")                                                          //
        ("version", "print the version");
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
    if (!time || *time < milliseconds(launch::shortest_interval) ||
        *time > milliseconds(launch::longest_interval))
        throw UsageError(fmt::format("--interval is \"{}\": expected a time from 50ms to 1h",
                                     base::printable(text)));
    return std::chrono::ceil<milliseconds>(*time);
}

// "127.0.0.1:8080", "[::1]:8080"
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
        throw UsageError(fmt::format(
            "--serve {}: other hosts would reach it: expected a loopback address, as 127.0.0.1, or "
            "--to-others as well",
            text));
    options.address = address;
    options.port = int(port);
}

double speed_of(const std::string& text) {
    std::istringstream in(text);
    double speed = 0;
    if (!(in >> speed) || !in.eof() || !(speed >= 0 && speed <= 1e6))
        throw UsageError(fmt::format("--speed is \"{}\": expected a number, 0 for at once",
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
            throw UsageError(
                fmt::format("{}: expected the number of a job, as torus-top --list shows it",
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
        throw UsageError("--to-others goes with --serve");
    if (options.form == Options::Form::csv && options.page != Page::ranks &&
        options.page != Page::links)
        throw UsageError("--csv writes --show ranks or --show links");
    if (given.count("record")) options.record = given["record"].as<std::string>();
    if (given.count("replay")) options.replay = given["replay"].as<std::string>();
    if (!options.replay.empty() && (options.job || !options.record.empty()))
        throw UsageError("--replay shows a file: expected no job, and no --record");
    return options;
}

std::string help_text() {
    std::ostringstream text;
    text << "torus-top shows a running job: what its ranks do, and what goes over its links.\n\n"
            "torus-top [options] [JOB]\n\n"
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
            "started, as the same user, and may come and go at any time: the job is not slowed\n"
            "down. On the screen, h lists the keys.\n\n"
            "Exit code: 0; 1 if the job cannot be watched; 2 if an option is wrong.\n";
    return text.str();
}

}  // namespace torusmp::top
