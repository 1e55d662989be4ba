// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/options.h"

namespace po = boost::program_options;

namespace torusmp::torus_setup {

using config::UsageError;

namespace {

constexpr const char* examples = R"(
Steps:
  look      ask each host for its devices and its network service
  up        bring up the devices that may have cables
  discover  find every cable, choose the shape and write the geometry file
  apply     set addresses, names and routes, now and after each restart
  check     test every cable with torus-check
  run       run a first program on all hosts

Examples:
  torus-setup a b c d                       all steps, with a question before each change
  torus-setup --dry-run a b c d             print the changes, and change nothing
  torus-setup --yes --output lab.toml 192.168.1.11 192.168.1.12
                                            all steps without questions
  torus-setup --step apply --output lab.toml
                                            only one step, with an existing geometry file
  torus-setup --set launch.through=torus --agent 'ssh -A {address}' a b c d
                                            where only the cables join the hosts
  torus-setup --undo a b c d                restore each host as it was

Each host must answer ssh without a password, as root or with sudo, and needs torusmp installed.
Originals of changed files and a journal of all changes are in /var/lib/torusmp/setup of each host.
A setup that was interrupted can be repeated or undone.

Exit codes: 0 success, 1 failure, 2 an option is wrong.
)";

constexpr std::array<std::pair<const char*, Step>, 6> steps{{{"look", Step::look},
                                                             {"up", Step::up},
                                                             {"discover", Step::discover},
                                                             {"apply", Step::apply},
                                                             {"check", Step::check},
                                                             {"run", Step::run}}};

po::options_description make_options() {
    po::options_description options("Options");
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    options.add_options()  //
        ("output", text("FILE")->default_value("torus.toml"),
         "geometry file to write; steps after discover read it")                               //
        ("step", text("look|up|discover|apply|check|run"), "do only this step")                //
        ("dry-run", "print the changes with the text of each file, and change nothing")        //
        ("yes,y", "make the changes without asking")                                           //
        ("undo", "restore each host as it was before the first torus-setup")                   //
        ("devices", text("GLOBS"), "use only these devices for cables, for example \"enp*\"")  //
        ("service", text("networkd|ifupdown|netplan|networkmanager|none"),
         "keep the addresses with networkd, ifupdown, netplan, networkmanager or none (default: "
         "what each host starts at boot)")                                                  //
        ("mtu", text("BYTES"), "also set the MTU of the links")                             //
        ("program", text("PATH"), "first program to run (default: torus-halo-exchange)")    //
        ("agent", text("COMMAND"), "command that runs a program on a host (default: ssh)")  //
        ("here", text("NAME"),
         "with --set launch.through=torus: name of this host among them, if it differs")    //
        ("timeout", text("TIME")->default_value("60s"), "longest time to wait for a host")  //
        ("set", po::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"),
         "change a setting of torus-check and torus-run; may be repeated")  //
        ("help,h", "print this help and exit")                              //
        ("version", "print the version and exit");
    return options;
}

std::vector<std::string> checked_hosts(const std::vector<std::string>& hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (!config::legal_host_name(hosts[i]))
            throw UsageError(
                fmt::format("\"{}\" cannot be the name of a host", base::printable(hosts[i])));
        if (std::count(hosts.begin(), hosts.begin() + std::ptrdiff_t(i), hosts[i]))
            throw UsageError(fmt::format("the host {} is named twice", hosts[i]));
    }
    return hosts;
}

Step parse_step(const std::string& name) {
    for (const auto& [known, step] : steps)
        if (name == known) return step;
    throw UsageError(
        fmt::format("--step is \"{}\": expected look, up, discover, apply, check or run",
                    base::printable(name)));
}

std::string parse_service(const std::string& name) {
    if (name != "none" && !config::find_netplan_format(name))
        throw UsageError(
            fmt::format("--service is \"{}\": expected networkd, ifupdown, netplan, "
                        "networkmanager or none",
                        base::printable(name)));
    return name;
}

int parse_mtu(const std::string& text) {
    const auto mtu = base::parse_integer(text);
    if (!mtu || *mtu < 1280 || *mtu > 65535)
        throw UsageError(
            fmt::format("--mtu is \"{}\": expected 1280 to 65535 bytes", base::printable(text)));
    return int(*mtu);
}

std::chrono::milliseconds parse_timeout(const std::string& text) {
    const auto time = base::parse_time(text);
    if (!time || *time < std::chrono::seconds(1) || *time > std::chrono::hours(24))
        throw UsageError(
            fmt::format("--timeout is \"{}\": expected a time of 1s or more, for example 60s",
                        base::printable(text)));
    return std::chrono::ceil<std::chrono::milliseconds>(*time);
}

}  // namespace

Options parse(int argc, const char* const* argv) {
    po::options_description all = make_options();
    all.add_options()("host", po::value<std::vector<std::string>>());
    po::positional_options_description words;
    words.add("host", -1);
    const po::variables_map given = config::parse_options(argc, argv, all, words);
    const auto text = [&](const char* name) {
        return given.count(name) ? given[name].as<std::string>() : std::string();
    };
    Options options;
    options.help = given.count("help") != 0;
    options.version = given.count("version") != 0;
    if (given.count("host"))
        options.hosts = checked_hosts(given["host"].as<std::vector<std::string>>());
    options.file = text("output");
    if (options.file.empty() || options.file == "-")
        throw UsageError("--output: expected the name of a file");
    if (given.count("step")) options.only = parse_step(text("step"));
    options.dry_run = given.count("dry-run") != 0;
    options.yes = given.count("yes") != 0;
    options.undo = given.count("undo") != 0;
    if (options.undo && options.only) throw UsageError("--undo and --step exclude each other");
    options.agent = text("agent");
    if (given.count("here")) options.here = text("here");
    options.devices = text("devices");
    options.program = text("program");
    if (given.count("service")) options.service = parse_service(text("service"));
    if (given.count("mtu")) options.mtu = parse_mtu(text("mtu"));
    options.timeout = parse_timeout(text("timeout"));
    if (given.count("set"))
        for (const std::string& flag : given["set"].as<std::vector<std::string>>())
            options.flags.push_back(config::parse_set_flag(flag));
    return options;
}

void print_help() {
    std::ostringstream text;
    text << make_options();
    fmt::print(
        "Sets up cabled hosts as one machine: devices, addresses, names, routes and the "
        "geometry file.\n\nUsage: torus-setup [options] HOST...\n\n{}{}",
        text.str(), examples);
}

}  // namespace torusmp::torus_setup
