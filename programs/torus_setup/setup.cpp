// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "base/printing.h"
#include "base/text.h"
#include "config/geometry.h"
#include "config/load.h"
#include "config/options.h"
#include "core/transport/machine.h"
#include "job/settings.h"
#include "launch/agent.h"
#include "launch/settings.h"
#include "programs/torus_setup/changes.h"
#include "programs/torus_setup/facts.h"
#include "programs/torus_setup/hosts.h"
#include "programs/torus_setup/ip_check.h"
#include "programs/torus_setup/keys.h"
#include "programs/torus_setup/own_host.h"
#include "programs/torus_setup/picture.h"
#include "programs/torus_setup/trial.h"

namespace torusmp::torus_setup {

namespace {

namespace fs = std::filesystem;
using config::UsageError;

// Enough to hear the other end of a cable; the check counts what is lost.
constexpr const char* probes_to_discover = "50";

class Setup {
  public:
    explicit Setup(const Options& options) : options_(options) {
        if (!options_.hosts.empty()) return;
        if (fs::exists(options_.file)) options_.hosts = host_names(load());
        if (options_.hosts.empty())
            throw UsageError(
                "missing hosts: give their names or addresses, for example "
                "\"torus-setup a b c d\"");
    }

    int run() {
        settings_.emplace(load_launch());
        if (options_.undo) return undo();
        if (options_.does(Step::look) || options_.does(Step::up) || options_.does(Step::discover) ||
            options_.does(Step::apply))
            if (!look()) return config::exit_failure;
        if (options_.does(Step::up) && !bring_up()) return config::exit_failure;
        if (options_.does(Step::discover) && !discover()) return config::exit_failure;
        if (options_.does(Step::apply) && !apply()) return config::exit_failure;
        if (options_.dry_run) return config::exit_ok;
        // Programs take detours around faulty cables.
        const bool good = !options_.does(Step::check) || test_cables(options_, geometry_);
        if (options_.does(Step::check)) check_ip();
        if (options_.does(Step::run) && !run_first_program(options_, geometry_, good))
            return config::exit_failure;
        return good ? config::exit_ok : config::exit_failure;
    }

  private:
    // ---- Hosts ----

    config::Settings load_launch() const {
        config::LoadRequest request{options_.flags, {}};
        if (!options_.agent.empty())
            request.flags.push_back({"launch.agent", options_.agent, "--agent"});
        config::Settings settings = config::load(job::schema(), request);
        if (options_.here && settings[launch::setting::through] != launch::Through::torus)
            throw UsageError("--here requires --set launch.through=torus");
        return settings;
    }

    config::Settings load() const {
        return config::load(job::schema(), {options_.flags, geometry_});
    }

    // Makes the calls on every host and prints one line for each host that has calls. Returns true
    // if all succeeded. `line` makes the line of a host that did.
    bool on_hosts(const std::vector<std::string>& calls,
                  const std::function<std::string(std::size_t, const Reply&)>& line) {
        bool good = true;
        replies_ =
            run_on_hosts(*settings_, options_.here, options_.hosts, calls, options_.timeout,
                         [&](std::size_t host, const Reply& reply) {
                             if (calls[host].empty()) return;
                             if (reply.trouble.empty()) {
                                 if (const std::string text = line(host, reply); !text.empty())
                                     fmt::print("  {}: {}\n", options_.hosts[host], text);
                             } else {
                                 fmt::print(stderr, "torus-setup: {}\n", reply.trouble);
                                 good = false;
                             }
                             std::fflush(stdout);
                         });
        return good;
    }

    // Asks for consent; what will be changed has been printed.
    bool consent(const char* question) const {
        if (options_.yes) return true;
        if (::isatty(STDIN_FILENO) != 1)
            throw std::runtime_error(
                "nothing was changed: standard input is not a terminal to "
                "answer on. Give --yes to make these changes");
        fmt::print("{} [y/N] ", question);
        std::fflush(stdout);
        std::string answer;
        std::getline(std::cin, answer);
        if (answer == "y" || answer == "yes") return true;
        fmt::print("Not changed.\n");
        return false;
    }

    // ---- look ----

    bool look() {
        if (ask_hosts() || (copy_keys() && ask_hosts())) return complete();
        fmt::print(stderr, "torus-setup: nothing was changed\n");
        return false;
    }

    // Copies the keys if the user agrees. Returns true if all hosts that did not answer have the
    // user's key now.
    bool copy_keys() const {
        const auto commands =
            commands_for_keys((*settings_)[launch::setting::agent], options_.hosts, replies_);
        if (commands.empty() || options_.dry_run || ::isatty(STDIN_FILENO) != 1) return false;
        fmt::print(
            "These commands copy the key of this user to the hosts, and ask for passwords:\n");
        for (const auto& command : commands) fmt::print("  {}\n", fmt::join(command, " "));
        return consent("Run them?") && std::all_of(commands.begin(), commands.end(), succeeds);
    }

    bool ask_hosts() {
        fmt::print("Asking {} hosts\n", options_.hosts.size());
        const std::string call = "look " + launch::quote_for_shell(beside_this("torus-check"));
        facts_.resize(options_.hosts.size());
        return on_hosts(all(call), [&](std::size_t host, const Reply& reply) {
            facts_[host] = parse_facts(reply.lines);
            if (options_.service) facts_[host].service = *options_.service;
            return fmt::format("answers; network by {}{}", facts_[host].service,
                               facts_[host].changed ? "; was set up before" : "");
        });
    }

    // Prints a line for each host that cannot be set up.
    bool complete() const {
        bool good = true;
        const auto refuse = [&](std::size_t host, const std::string& why) {
            fmt::print(stderr, "torus-setup: {}: {}\n", options_.hosts[host], why);
            good = false;
        };
        std::map<std::string, std::size_t> names;
        for (std::size_t host = 0; host < facts_.size(); ++host) {
            const Facts& facts = facts_[host];
            if (!facts.lacks.empty())
                refuse(host, fmt::format("{} is missing. Install the same torusmp there, at the "
                                         "same place",
                                         facts.lacks));
            const auto [first, is_new] = names.insert({short_name(facts), host});
            if (!is_new)
                refuse(host,
                       fmt::format("it calls itself {}, as {} does. Give it another name: "
                                   "\"hostnamectl set-hostname NAME\"",
                                   base::printable(first->first), options_.hosts[first->second]));
            if (!config::legal_host_name(first->first))
                refuse(host,
                       fmt::format("it calls itself \"{}\", which cannot be the name of a host. "
                                   "Give it another name: \"hostnamectl set-hostname NAME\"",
                                   base::printable(first->first)));
        }
        return good;
    }

    static std::string short_name(const Facts& facts) {
        return facts.name.substr(0, facts.name.find('.'));
    }

    bool wanted(const std::string& device) const {
        if (options_.devices.empty()) return true;
        std::istringstream globs(options_.devices);
        for (std::string glob; std::getline(globs, glob, ',');)
            if (::fnmatch(glob.c_str(), device.c_str(), 0) == 0) return true;
        return false;
    }

    // ---- up ----

    bool bring_up() {
        std::vector<std::string> calls = all({}), lines;
        for (std::size_t host = 0; host < facts_.size(); ++host) {
            std::string down;
            for (const HostDevice& device : facts_[host].devices)
                if (!device.up && wanted(device.name))
                    down += " " + launch::quote_for_shell(device.name);
            if (down.empty()) continue;
            lines.push_back(fmt::format("  {}:{}\n", options_.hosts[host], down));
            calls[host] = "begin\nbring_up" + down;
        }
        if (lines.empty()) return true;
        fmt::print("Devices to bring up, to find their cables:\n{}", fmt::join(lines, ""));
        fmt::print("Those without a cable go down again.\n");
        if (options_.dry_run) return true;
        if (!consent("Bring them up?")) return false;
        return on_hosts(calls, [](std::size_t, const Reply&) { return "devices are up"; });
    }

    // ---- discover ----

    std::string cable_devices() const {
        if (!options_.devices.empty()) return options_.devices;
        std::set<std::string> names;
        for (const Facts& facts : facts_)
            for (const HostDevice& device : facts.devices) names.insert(device.name);
        return fmt::format("{}", fmt::join(names, ","));
    }

    bool discover() {
        const std::string devices = cable_devices();
        if (devices.empty())
            throw std::runtime_error(
                "no host has a device for cables: all Ethernet devices carry a "
                "default route or this connection. Name them with --devices");
        fmt::print("Finding the cables\n");
        const TemporaryFile found(options_.file + ".new");
        std::vector<std::string> words{beside_this("torus-check"),
                                       "--discover",
                                       found.name,
                                       "--hosts",
                                       fmt::format("{}", fmt::join(options_.hosts, ",")),
                                       "--devices",
                                       devices,
                                       "--probes",
                                       probes_to_discover};
        add_launch(words, options_);
        // It fails for faulty cables too, but writes the file; the check reports them again.
        (void)succeeds(words);
        const std::string text = read_file(found.name);
        if (text.empty()) {
            fmt::print(stderr,
                       "torus-setup: no geometry file was written, for the reason above. {}\n",
                       options_.dry_run ? "A dry run does not bring devices up; cables of devices "
                                          "that are down are found without --dry-run"
                                        : "Correct the cables and try again; --undo restores the "
                                          "hosts");
            return false;
        }
        geometry_ = found.name;
        show_machine();
        return keep_geometry(text);
    }

    bool keep_geometry(const std::string& text) {
        const bool there = fs::exists(options_.file);
        const bool same = there && read_file(options_.file) == text;
        if (options_.dry_run) {
            fmt::print("File to write here: {}\n", options_.file);
            // The plan of the file that would be written.
            if (options_.does(Step::apply)) plan();
            return true;
        }
        geometry_ = options_.file;
        if (same) return true;
        if (there) {
            fmt::print("{} describes another machine; it will be kept as {}.old\n", options_.file,
                       options_.file);
            if (!consent("Replace it?")) return false;
            fs::rename(options_.file, options_.file + ".old");
        }
        base::write_text_file(options_.file, text);
        fmt::print("Wrote {}\n", options_.file);
        return true;
    }

    void show_machine() const {
        const config::Settings settings = load();
        const auto torus = node_torus(settings);
        fmt::print("\nA {}{}:\n{}\n", torus->graph() ? "" : "torus of ", torus->describe(),
                   draw(*torus, host_names(settings)));
    }

    // ---- apply ----

    // By node, since the order of the hosts in the file may differ.
    std::size_t place_of(const std::string& host) const {
        const auto found = std::find(options_.hosts.begin(), options_.hosts.end(), host);
        if (found == options_.hosts.end())
            throw std::runtime_error(
                fmt::format("{} names the host {}, which was not given. Give all "
                            "hosts, or find the cables again (--step discover)",
                            geometry_, host));
        return std::size_t(found - options_.hosts.begin());
    }

    // Calls by node, in the order of options_.hosts.
    std::vector<std::string> by_host(const std::vector<std::string>& calls) const {
        std::vector<std::string> ordered = all({});
        for (std::size_t node = 0; node < nodes_.size(); ++node)
            ordered[place_of(nodes_[node])] = calls[node];
        return ordered;
    }

    void plan() {
        const config::Settings settings = load();
        config::NetplanOptions netplan = config::default_netplan();
        netplan.to_links = transport::reaches_link_addresses(settings);
        netplan.mtu = options_.mtu;
        plans_.clear();
        for (int node = 0; node < int(host_names(settings).size()); ++node)
            plans_.push_back(config::plan_node(settings, node, netplan));
        names_ = block_of_names(plans_);
        changes_.clear();
        for (const config::NodePlan& node : plans_) {
            const Facts& facts = facts_[place_of(node.host)];
            changes_.push_back(plan_changes(node, config::find_netplan_format(facts.service),
                                            names_, read_file(geometry_), facts));
        }
        nodes_ = host_names(settings);
        show_changes();
    }

    // The names of the hosts still lead where they did, so ssh does not depend on the torus.
    std::string block_of_names(std::vector<config::NodePlan> plans) const {
        for (config::NodePlan& plan : plans) {
            plan.host = short_name(facts_[place_of(plan.host)]) + ".torus";
        }
        return config::as_hosts(plans);
    }

    void show_changes() const {
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            fmt::print("Changes of {}:\n{}", nodes_[node],
                       describe(changes_[node], options_.dry_run));
            if (facts_[place_of(nodes_[node])].service == "none")
                fmt::print(
                    "  {} starts no known network service: these addresses end with a restart "
                    "(--service names one)\n",
                    nodes_[node]);
        }
        fmt::print("Names for {}:\n{}", "/etc/hosts", names_);
    }

    bool apply() {
        if (options_.dry_run && options_.does(Step::discover)) return true;  // shown with the file
        plan();
        if (options_.dry_run) return true;
        if (!consent("Make these changes?")) return false;
        std::vector<std::string> calls;
        for (const Changes& changes : changes_) calls.push_back(as_calls(changes));
        fmt::print("Setting up {} hosts\n", nodes_.size());
        if (on_hosts(by_host(calls), [](std::size_t, const Reply&) { return "set up"; }))
            return true;
        fmt::print(stderr,
                   "torus-setup: not all hosts are set up. Repeat the command, or restore them "
                   "with --undo\n");
        return false;
    }

    // ---- undo ----

    int undo() {
        if (options_.dry_run) {
            const bool good =
                on_hosts(all("if [ -e $kept/journal ]; then sed 's/^/@ /' $kept/journal; fi"),
                         [](std::size_t, const Reply& reply) {
                             return fmt::format("changes to undo: {}\n    {}", reply.lines.size(),
                                                fmt::join(reply.lines, "\n    "));
                         });
            return good ? config::exit_ok : config::exit_failure;
        }
        fmt::print("Restoring {} hosts\n", options_.hosts.size());
        const bool good = on_hosts(all("undo"), [](std::size_t, const Reply& reply) {
            std::string text = "nothing to undo", stays;
            for (const std::string& line : reply.lines) {
                if (line.starts_with("changes ") && line != "changes 0")
                    text = fmt::format("restored; undid {} changes", line.substr(8));
                if (line.starts_with("stays "))
                    stays += fmt::format(
                        "; {} stays up, because hosts may be reached over it (\"ip link set {} "
                        "down\")",
                        line.substr(6), line.substr(6));
                if (line.starts_with("edited "))
                    fmt::print(
                        "  {} was edited since; the edited file is in "
                        "/var/lib/torusmp/edited\n",
                        line.substr(7));
            }
            return text + stays;
        });
        if (!good)
            fmt::print(stderr,
                       "torus-setup: not all hosts are restored. Repeat the command when they "
                       "answer\n");
        return good ? config::exit_ok : config::exit_failure;
    }

    std::vector<std::string> all(const std::string& call) const {
        return std::vector<std::string>(options_.hosts.size(), call);
    }

    // ---- check ----

    // Only in a whole setup: before, the addresses need not be there.
    void check_ip() {
        if (options_.only) return;
        const config::Settings settings = load();
        const IpCheck check(settings, plans_);
        if (!on_hosts(by_host(check.calls()), [](std::size_t, const Reply&) { return ""; })) return;
        std::vector<Reply> replies;
        for (const std::string& host : nodes_) replies.push_back(replies_[place_of(host)]);
        for (const std::string& trouble : check.troubles(replies))
            fmt::print(stderr, "torus-setup: warning: {}\n", trouble);
    }

    Options options_;
    std::string geometry_ = options_.file;
    std::optional<config::Settings> settings_;  // without a geometry file: how to reach the hosts
    std::vector<Facts> facts_;                  // by options_.hosts
    std::vector<Reply> replies_;
    std::vector<std::string> nodes_;       // hosts in the order of the file
    std::vector<config::NodePlan> plans_;  // by node
    std::vector<Changes> changes_;         // by node
    std::string names_;
};

}  // namespace

int set_up(const Options& options) {
    return Setup(options).run();
}

}  // namespace torusmp::torus_setup
