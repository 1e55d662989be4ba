// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_check/options.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "config/load.h"
#include "job/settings.h"

namespace po = boost::program_options;

namespace torusmp::check {

using config::UsageError;

namespace {

constexpr const char* examples = R"(
Examples:
  torus-check --config cluster.toml                 test every cable
  torus-check --config cluster.toml --json -        the same for a script
  torus-check --discover cluster.toml --hosts n0,n1,n2,n3
                                                    write a geometry file from the cabling
  torus-check --config cluster.toml --here n0 --set launch.through=torus
                                                    where no network but the torus joins the hosts
  torus-check --config cluster.toml --watch /var/lib/torusmp/links
                                                    what has changed at this host's links since the
                                                    last time; for timers and prologues

Every host sends its name out of every device and tells what it heard; then every cable is measured,
both ways. A table names each cable that is crossed, swapped, misplaced, missing, slow, lossy or has
a small MTU, by host and device. Nothing needs to be configured on the links: they only have to be
up. Test a machine while no job runs on it.

Exit codes: 0 all cables are good (or a file was written), 1 something is wrong, 2 a setting or an
option is wrong.
)";

}  // namespace

po::options_description make_options() {
    po::options_description options("Options");
    config::add_common_options(options);
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    options.add_options()  //
        ("discover", text("FILE"),
         "write a geometry file from what is found on the cables; - is standard output")      //
        ("hosts", text("A,B,C"), "the hosts to ask with --discover, instead of nodes.hosts")  //
        ("devices", text("GLOBS"),
         "with --discover and --watch: only devices like these, for example \"enp*,eth1\"")  //
        ("watch", text("FILE"),
         "look at the links of this host alone, and tell what has changed since FILE was "
         "written")                                                                           //
        ("agent", text("COMMAND"), "short for --set launch.agent=COMMAND")                    //
        ("program", text("PATH"), "torus-check on the other hosts; otherwise the same path")  //
        ("torus-run", text("PATH"),
         "torus-run on the other hosts, with launch.through=torus; otherwise beside torus-check")  //
        ("here", text("NAME"), "which of the hosts this one is, if its own name differs")  //
        ("probes", text("N")->default_value("500"), "packets to send on each device")      //
        ("speed", text("MBIT"), "expected speed of links; otherwise what most have")       //
        ("mtu", text("BYTES"), "expected MTU of links; otherwise what most have")          //
        ("timeout", text("TIME")->default_value("30s"), "how long to wait for hosts")      //
        ("all", "list good cables too")                                                    //
        ("json", text("FILE"), "write the same as JSON; - is standard output, instead of the text");
    return options;
}

int print_help(const po::options_description& options) {
    std::ostringstream text;
    text << options;
    fmt::print(
        "Usage: torus-check [options]\nTests every cable of a geometry file at once.\n\n{}{}",
        text.str(), examples);
    return config::exit_ok;
}

std::optional<int> number_option(const po::variables_map& given, const char* option, int low,
                                 int high) {
    if (!given.count(option)) return std::nullopt;
    const std::string text = given[option].as<std::string>();
    const auto value = base::parse_integer(text);
    if (!value || *value < low || *value > high)
        throw UsageError(fmt::format("--{} is \"{}\": expected a whole number from {} to {}",
                                     option, base::printable(text), low, high));
    return int(*value);
}

std::chrono::milliseconds timeout_option(const po::variables_map& given) {
    const std::string text = given["timeout"].as<std::string>();
    const auto time = base::parse_time(text);
    if (!time || *time < std::chrono::milliseconds(1) || *time > std::chrono::hours(24))
        throw UsageError(
            fmt::format("--timeout is \"{}\": expected a time like 30s", base::printable(text)));
    return std::chrono::ceil<std::chrono::milliseconds>(*time);
}

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    return parts;
}

std::function<bool(const std::string&)> wanted_devices(const po::variables_map& given) {
    const std::vector<std::string> globs = given.count("devices")
                                               ? split_list(given["devices"].as<std::string>())
                                               : std::vector<std::string>{"*"};
    return [globs](const std::string& device) {
        return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
            return ::fnmatch(glob.c_str(), device.c_str(), 0) == 0;
        });
    };
}

config::Settings load_settings(const po::variables_map& given) {
    config::LoadRequest request = config::request_from(given);
    if (given.count("agent"))
        request.flags.push_back({"launch.agent", given["agent"].as<std::string>(), "--agent"});
    return config::load(job::schema(), request);
}

void check_options(const po::variables_map& given) {
    if (given.count("hosts") && !given.count("discover"))
        throw UsageError("--hosts goes with --discover");
    if (given.count("devices") && !given.count("discover") && !given.count("watch"))
        throw UsageError("--devices goes with --discover or --watch");
    if (!given.count("watch")) return;
    if (given["watch"].as<std::string>().empty())
        throw UsageError("--watch needs a file to remember the links in");
    for (const char* option :
         {"discover", "hosts", "agent", "program", "torus-run", "json", "speed", "mtu"})
        if (given.count(option))
            throw UsageError(fmt::format(
                "--{} does not go with --watch, which looks at this host alone", option));
}

}  // namespace torusmp::check
