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

namespace torusmp::torus_check {

using config::UsageError;

namespace {

constexpr const char* examples = R"(
Examples:
  torus-check --config cluster.toml                 test every cable
  torus-check --config cluster.toml --json -        the same for a script
  torus-check --discover cluster.toml --hosts n0,n1,n2,n3
                                                    write a geometry file from the cabling
  torus-check --config cluster.toml --diff          name the cables that have changed
  torus-check --config cluster.toml --here n0 --set launch.through=torus
                                                    test hosts that only the torus connects
  torus-check --config cluster.toml --watch /var/lib/torusmp/links
                                                    report changes at the links of this host since
                                                    the last run, for timers and prologues

Every host sends its name on every device and reports the names that it receives. Then torus-check
measures every cable in both directions. A table lists each cable that is crossed, swapped,
misplaced, missing, slow or lossy, or has a small MTU, with host and device. The devices must be up;
they need no addresses. Run torus-check while no job uses the machine.

Exit code:
  0  all cables are good, or the file was written
  1  a fault was found
  2  an option or a setting is wrong
)";

}  // namespace

po::options_description make_options() {
    po::options_description options("Options");
    config::add_common_options(options);
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    options.add_options()  //
        ("discover", text("FILE"),
         "find the cabling and write a geometry file; - is standard output")  //
        ("diff", po::bool_switch(),
         "compare the cables found now with those of the geometry file")                  //
        ("hosts", text("A,B,C"), "with --discover: hosts to ask (default: nodes.hosts)")  //
        ("devices", text("GLOBS"),
         "with --discover, --diff and --watch: use only these devices, for example "
         "\"enp*,eth1\"")  //
        ("watch", text("FILE"),
         "check only the links of this host, and report changes since FILE was written")  //
        ("agent", text("COMMAND"), "short for --set launch.agent=COMMAND")                //
        ("program", text("PATH"),
         "path of torus-check on the other hosts (default: the path on this host)")  //
        ("torus-run", text("PATH"),
         "with launch.through=torus: path of torus-run on the other hosts (default: beside "
         "torus-check)")                                                                     //
        ("here", text("NAME"), "name of this host in nodes.hosts, if it differs")            //
        ("probes", text("N")->default_value("500"), "packets to send on each device")        //
        ("speed", text("MBIT"), "expected speed of links (default: the most common speed)")  //
        ("mtu", text("BYTES"), "expected MTU of links (default: the most common MTU)")       //
        ("timeout", text("TIME")->default_value("30s"), "longest time to wait for a host")   //
        ("all", "list good cables too")                                                      //
        ("json", text("FILE"), "write the report as JSON; - is standard output");
    return options;
}

int print_help(const po::options_description& options) {
    std::ostringstream text;
    text << options;
    fmt::print("Tests every cable of a geometry file.\n\nUsage: torus-check [options]\n\n{}{}",
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
        throw UsageError(fmt::format("--timeout is \"{}\": expected a time, for example 30s",
                                     base::printable(text)));
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
        throw UsageError("--hosts requires --discover");
    const bool diff = given["diff"].as<bool>();
    if (given.count("devices") && !given.count("discover") && !given.count("watch") && !diff)
        throw UsageError("--devices requires --discover, --diff or --watch");
    if (diff)
        for (const char* option : {"discover", "watch", "json", "speed", "mtu"})
            if (given.count(option))
                throw UsageError(fmt::format("--diff and --{} exclude each other", option));
    if (!given.count("watch")) return;
    if (given["watch"].as<std::string>().empty())
        throw UsageError("--watch: expected a file that keeps the state of the links");
    for (const char* option :
         {"discover", "hosts", "agent", "program", "torus-run", "json", "speed", "mtu"})
        if (given.count(option))
            throw UsageError(fmt::format(
                "--{} cannot be used with --watch, which checks only this host", option));
}

}  // namespace torusmp::torus_check
