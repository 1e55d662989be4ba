// SPDX-License-Identifier: BSD-3-Clause
// torus-check: tests all cables of a geometry file, or writes the file from the cabling.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/printing.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/network.h"
#include "config/options.h"
#include "config/raw.h"
#include "core/transport/machine.h"
#include "job/settings.h"
#include "launch/agent.h"
#include "launch/settings.h"
#include "programs/reach/reach.h"
#include "programs/torus_check/cable_survey.h"
#include "programs/torus_check/cabling.h"
#include "programs/torus_check/coordinator.h"
#include "programs/torus_check/discover.h"
#include "programs/torus_check/firewall.h"
#include "programs/torus_check/options.h"
#include "programs/torus_check/probe.h"
#include "programs/torus_check/report.h"
#include "programs/torus_check/verdict.h"
#include "programs/torus_check/watch.h"

namespace po = boost::program_options;
using namespace torusmp;
using config::UsageError;

namespace {

constexpr int large_probes = 8;  // of MTU size; more might overrun small buffers

std::vector<std::string> hosts_to_discover(const po::variables_map& given,
                                           const config::Settings& settings) {
    std::vector<std::string> hosts = host_names(settings);
    if (given.count("hosts")) hosts = torus_check::split_list(given["hosts"].as<std::string>());
    if (hosts.empty()) throw UsageError("--discover requires hosts: give them with --hosts a,b,c");
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (!config::legal_host_name(hosts[i]))
            throw UsageError(fmt::format("--hosts: \"{}\" cannot be the name of a host",
                                         base::printable(hosts[i])));
        if (std::count(hosts.begin(), hosts.begin() + std::ptrdiff_t(i), hosts[i]))
            throw UsageError(fmt::format("--hosts names {} twice", hosts[i]));
    }
    return hosts;
}

// ---- The test ----

std::string own_path() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length <= 0)
        throw std::runtime_error(
            fmt::format("cannot find the path of torus-check: {}", std::strerror(errno)));
    return path.data();
}

// Prints one line on a terminal, overwritten each time and cleared at the end. Without a terminal,
// prints only the hosts that are still awaited, once.
class Terminal {
  public:
    explicit Terminal(std::chrono::milliseconds timeout)
        : shown_(::isatty(STDERR_FILENO) == 1), timeout_(timeout) {}
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    torus_check::Progress progress() {
        return [this](const char* what, std::size_t done, std::size_t of, const char* things,
                      const std::string& late) { show(what, done, of, things, late); };
    }
    ~Terminal() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }
    void show(const char* what, std::size_t done, std::size_t of, const char* things,
              const std::string& late) {
        if (shown_) {
            if (what != what_ || done < done_) {
                what_ = what;
                since_ = std::chrono::steady_clock::now();
            }
            done_ = done;
            const auto elapsed = std::chrono::steady_clock::now() - since_;
            fmt::print(stderr, "\r\033[K{}: {} of {} {}, {}{}{}", what, done, of, things,
                       base::progress_text(done, of, elapsed), late.empty() ? "" : ", waiting for ",
                       late);
            std::fflush(stderr);
        } else if (!late.empty() && late != reported_) {
            fmt::print(stderr, "torus-check: {}: waiting for {}, at most {} (--timeout)\n", what,
                       late, base::format_time(timeout_));
            reported_ = late;
        }
    }

  private:
    bool shown_;
    std::chrono::milliseconds timeout_;
    std::string reported_, what_;
    std::size_t done_ = 0;
    std::chrono::steady_clock::time_point since_{};  // when `what_` began
};

torus_check::SurveyPlan make_plan(const po::variables_map& given, const config::Settings& settings,
                                  const std::vector<std::string>& hosts) {
    torus_check::SurveyPlan plan;
    plan.hosts = hosts;
    plan.timeout = torus_check::timeout_option(given);
    torus_check::Job job;
    job.nonce = torus_run::random_nonce();
    // Outside well-known and ephemeral ports. Another job would have to pick the same port, and has
    // a different nonce.
    job.port = torus_run::probe_port(job.nonce);
    job.nodes = int(hosts.size());
    job.routes = settings[config::setting::forward] == config::Forward::kernel;
    // Absolute, because an agent starts in another folder.
    if (!settings.file().empty())
        job.geometry = std::filesystem::absolute(settings.file()).string();
    for (std::size_t node = 0; node < hosts.size(); ++node) {
        job.node = int(node);
        plan.jobs.push_back(job);
    }
    return plan;
}

std::optional<int> own_place(const po::variables_map& given,
                             const std::vector<std::string>& hosts) {
    return reach::own_place(
        hosts, given.count("here") ? std::optional(given["here"].as<std::string>()) : std::nullopt);
}

std::unique_ptr<reach::Reach> make_reach(const po::variables_map& given,
                                         const config::Settings& settings,
                                         const std::vector<std::string>& hosts) {
    const std::string program =
        given.count("program") ? given["program"].as<std::string>() : own_path();
    reach::Plan plan{hosts, {program, "--probe"}, {}, {}, given.count("discover") == 0};
    if (settings[launch::setting::through] == launch::Through::network) {
        for (const char* option : {"here", "torus-run"})
            if (given.count(option))
                throw UsageError(fmt::format("--{} requires --set launch.through=torus", option));
    } else {
        plan.here = own_place(given, hosts);
        plan.torus_run =
            given.count("torus-run")
                ? given["torus-run"].as<std::string>()
                : std::filesystem::path(own_path()).replace_filename("torus-run").string();
    }
    return reach::reach_hosts(settings, std::move(plan));
}

// Only the devices named in the geometry file send; all listen.
void restrict_devices(const config::Settings& settings, torus_check::SurveyPlan& plan) {
    const routing::Torus torus = *node_torus(settings);
    for (int node = 0; node < torus.size(); ++node)
        for (int i = 0; i < 2 * torus.link_dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            const std::string device = config::link_device(settings, node, direction);
            if (torus.neighbour(node, direction) && !device.empty())
                plan.jobs[std::size_t(node)].devices.push_back(device);
        }
}

// A host that was not reached is skipped, because this has already been reported.
void compare_settings(const config::Settings& settings,
                      const std::vector<torus_check::HostResult>& results,
                      torus_check::CheckReport& report) {
    std::vector<config::HostFacts> facts;
    for (const torus_check::HostResult& result : results) {
        if (!result.trouble.empty()) return;
        facts.push_back(result.facts);
    }
    report.messages = transport::check_machine(settings, facts, config::read_locations(settings),
                                               config::file_hash(settings.file()));
    report.notes = transport::machine_notes(settings, facts);
}

torus_check::Survey survey_hosts(const po::variables_map& given, const config::Settings& settings,
                                 const torus_check::SurveyPlan& plan,
                                 const torus_check::SurveyOptions& options) {
    Terminal terminal(plan.timeout);
    const torus_check::Progress progress = terminal.progress();
    const auto reach = make_reach(given, settings, plan.hosts);
    torus_check::Coordinator coordinator(plan, *reach, progress);
    coordinator.ask_hosts();
    return torus_check::survey_cables(coordinator, settings, options);
}

int test_cables(const po::variables_map& given) {
    const config::Settings settings = torus_check::load_settings(given);
    if (host_names(settings).empty())
        throw UsageError(
            "missing hosts: give a geometry file with nodes.hosts (--config FILE), or write one "
            "with --discover FILE --hosts a,b,c");
    torus_check::SurveyPlan plan = make_plan(given, settings, host_names(settings));
    restrict_devices(settings, plan);
    torus_check::SurveyOptions options;
    options.expectation = {torus_check::number_option(given, "speed", 1, 10'000'000),
                           torus_check::number_option(given, "mtu", 68, 65536), 0.003};
    options.small_probes = *torus_check::number_option(given, "probes", 1, 100000);
    options.large_probes = large_probes;
    const torus_check::Survey survey = survey_hosts(given, settings, plan, options);
    torus_check::CheckReport report;
    report.hosts = host_names(settings);
    compare_settings(settings, survey.hosts, report);
    report.notes.insert(report.notes.end(), survey.notes.begin(), survey.notes.end());
    for (const torus_check::HostResult& host : survey.hosts)
        report.troubles.push_back(host.trouble);
    report.cables = survey.cables;
    report.outlook = torus_check::outlook_for_jobs(settings, report.cables);
    const std::string json = given.count("json") ? given["json"].as<std::string>() : "";
    if (json == "-")
        fmt::print("{}", torus_check::report_json(report));
    else
        fmt::print("{}", torus_check::report_text(report, given.count("all") != 0));
    if (!json.empty() && json != "-") base::write_text_file(json, torus_check::report_json(report));
    return report.good() ? config::exit_ok : config::exit_failure;
}

// ---- Discovery ----

std::vector<torus_check::HostResult> probe_connections(const po::variables_map& given,
                                                       const config::Settings& settings,
                                                       const torus_check::SurveyPlan& plan) {
    Terminal terminal(plan.timeout);
    const torus_check::Progress progress = terminal.progress();
    const auto reach = make_reach(given, settings, plan.hosts);
    torus_check::Coordinator coordinator(plan, *reach, progress);
    coordinator.ask_hosts();
    const int probes = *torus_check::number_option(given, "probes", 1, 100000);
    const auto before = coordinator.ask_reports();
    const auto reports = coordinator.send_round([probes](int) {
        return torus_check::Round{0, probes, large_probes, true, {}};
    });
    std::vector<torus_check::HostResult> hosts = coordinator.hosts();
    for (std::size_t node = 0; node < hosts.size(); ++node) hosts[node].report = reports[node];
    const auto blocked = torus_check::blocked_devices(before, coordinator.ask_reports());
    for (std::size_t node = 0; node < hosts.size(); ++node) hosts[node].blocked = blocked[node];
    return hosts;
}

int discover_torus(const po::variables_map& given) {
    const config::Settings settings = torus_check::load_settings(given);
    const std::vector<std::string> hosts = hosts_to_discover(given, settings);
    const auto wanted = torus_check::wanted_devices(given);
    const bool own_agent =
        settings.origin(launch::setting::agent).kind != config::Origin::Kind::default_value;
    const auto results = probe_connections(given, settings, make_plan(given, settings, hosts));
    const torus_check::Discovery found = torus_check::discover(
        hosts, results, wanted, own_agent ? settings[launch::setting::agent] : "",
        given.count("devices") != 0, settings[launch::setting::through] == launch::Through::torus);
    for (const std::string& note : found.notes) fmt::print(stderr, "torus-check: {}\n", note);
    if (found.geometry.empty() || !found.holes.empty())
        for (std::size_t node = 0; node < hosts.size(); ++node)
            for (const std::string& device : results[node].blocked)
                fmt::print(stderr, "torus-check: {}\n",
                           torus_check::describe_block(hosts[node], device));
    if (found.geometry.empty())
        throw std::runtime_error(fmt::format("{}. No file was written", found.reason));
    for (const std::string& hole : found.holes) fmt::print(stderr, "torus-check: {}\n", hole);
    const int code = found.holes.empty() ? config::exit_ok : config::exit_failure;
    const std::string path = given["discover"].as<std::string>();
    if (path == "-") {
        fmt::print("{}", found.geometry);
        return code;
    }
    base::write_text_file(path, found.geometry);
    fmt::print("{}: a {}, {} {}{}\n", path, found.shape, found.cables,
               found.cables == 1 ? "cable" : "cables",
               found.holes.empty() ? "" : fmt::format(", {} with faults", found.holes.size()));
    return code;
}

int compare_cabling(const po::variables_map& given) {
    const config::Settings settings = torus_check::load_settings(given);
    const std::vector<std::string> hosts = host_names(settings);
    if (hosts.empty() || !config::node_torus(settings))
        throw UsageError("--diff requires a geometry file with hosts: give --config FILE");
    const auto results = probe_connections(given, settings, make_plan(given, settings, hosts));
    for (std::size_t node = 0; node < hosts.size(); ++node)
        if (!results[node].trouble.empty())
            throw std::runtime_error(fmt::format("host {} was not asked: {}. Nothing was compared",
                                                 hosts[node], results[node].trouble));
    const torus_check::Cabling before = torus_check::cabling_of(settings);
    const torus_check::Cabling now =
        torus_check::cabling_found(hosts, results, torus_check::wanted_devices(given), before);
    const auto changes = torus_check::changes_of_cabling(before, now);
    for (const std::string& change : changes) fmt::print("{}\n", change);
    if (!changes.empty()) return config::exit_failure;
    fmt::print("{} hosts, {} {}: as in the file\n", hosts.size(), now.size(),
               now.size() == 1 ? "cable" : "cables");
    return config::exit_ok;
}

// ---- Health ----

// The links of this host: by the geometry file, by --devices, or both.
std::vector<std::string> links_to_watch(const po::variables_map& given,
                                        const config::Settings& settings) {
    std::vector<std::string> found;
    if (given.count("devices")) {
        const auto wanted = torus_check::wanted_devices(given);
        for (const config::Device& device : config::this_host().devices)
            if (!device.loopback && wanted(device.name)) found.push_back(device.name);
        if (found.empty())
            throw UsageError(fmt::format("--devices {}: no device of this host matches",
                                         base::printable(given["devices"].as<std::string>())));
        return found;
    }
    if (host_names(settings).empty())
        throw UsageError(
            "--watch requires the links of this host: give a geometry file with nodes.hosts and "
            "[links] (--config FILE), or --devices GLOBS");
    const auto node = own_place(given, host_names(settings));
    if (!node)
        throw UsageError("this host is not in nodes.hosts: give --here NAME or --devices GLOBS");
    found = config::link_devices(settings, *node);
    if (found.empty())
        throw UsageError(
            fmt::format("[links] has no devices for {}: add them, or give --devices GLOBS",
                        host_names(settings)[std::size_t(*node)]));
    return found;
}

int watch(const po::variables_map& given) {
    torus_check::WatchOptions options;
    options.state_file = given["watch"].as<std::string>();
    options.devices = links_to_watch(given, torus_check::load_settings(given));
    options.all = given.count("all") != 0;
    return torus_check::watch_links(options);
}

int run(int argc, const char* const* argv) {
    // Only torus-check itself passes this option, alone.
    if (argc == 2 && std::string_view(argv[1]) == "--probe") return torus_check::run_probe();
    const po::options_description options = torus_check::make_options();
    const po::variables_map given = config::parse_options(argc, argv, options);
    if (given.count("help")) return torus_check::print_help(options);
    if (given.count("version")) {
        config::print_version("torus-check");
        return config::exit_ok;
    }
    torus_check::check_options(given);
    ::signal(SIGPIPE, SIG_IGN);  // the end of its output shows that an agent has ended
    if (given.count("watch")) return watch(given);
    if (given["diff"].as<bool>()) return compare_cabling(given);
    return given.count("discover") ? discover_torus(given) : test_cables(given);
}

}  // namespace

int main(int argc, char** argv) {
    return config::run_program("torus-check", [&] { return run(argc, argv); });
}
