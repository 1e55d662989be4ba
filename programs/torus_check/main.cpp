// torus-check: tests every cable of a geometry file at once, or writes the file from the cabling.
#include <fmt/format.h>
#include <fnmatch.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/printing.h"
#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/network.h"
#include "config/options.h"
#include "config/raw.h"
#include "core/transport/machine.h"
#include "job/settings.h"
#include "launch/settings.h"
#include "programs/torus_check/cable_survey.h"
#include "programs/torus_check/coordinator.h"
#include "programs/torus_check/discover.h"
#include "programs/torus_check/probe.h"
#include "programs/torus_check/reach.h"
#include "programs/torus_check/report.h"
#include "programs/torus_check/verdict.h"

namespace po = boost::program_options;
using namespace torusmp;
using config::UsageError;

namespace {

constexpr int large_probes = 8;  // of MTU size; more might overrun small buffers

constexpr const char* examples = R"(
Examples:
  torus-check --config cluster.toml                 test every cable
  torus-check --config cluster.toml --json -        the same for a script
  torus-check --discover cluster.toml --hosts n0,n1,n2,n3
                                                    write a geometry file from the cabling

Every host sends its name out of every device and tells what it heard. A table names each cable
that is crossed, swapped, misplaced, missing, slow, lossy or has a small MTU, by host and device.
Nothing needs to be configured on the links: they only have to be up.

Exit codes: 0 all cables are good (or a file was written), 1 something is wrong, 2 a setting or an
option is wrong.
)";

po::options_description make_options() {
    po::options_description options("Options");
    config::add_common_options(options);
    const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
    options.add_options()  //
        ("discover", text("FILE"),
         "write a geometry file from what is found on the cables; - is standard output")      //
        ("hosts", text("A,B,C"), "the hosts to ask with --discover, instead of nodes.hosts")  //
        ("devices", text("GLOBS"),
         "with --discover: only devices like these, for example \"enp*,eth1\"")               //
        ("agent", text("COMMAND"), "short for --set launch.agent=COMMAND")                    //
        ("program", text("PATH"), "torus-check on the other hosts; otherwise the same path")  //
        ("probes", text("N")->default_value("500"), "packets to send on each device")         //
        ("speed", text("MBIT"), "expected speed of links; otherwise what most have")          //
        ("mtu", text("BYTES"), "expected MTU of links; otherwise what most have")             //
        ("timeout", text("TIME")->default_value("30s"), "how long to wait for hosts")         //
        ("all", "list good cables too")                                                       //
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

// ---- Options ----

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

config::Settings load_settings(const po::variables_map& given) {
    config::LoadRequest request = config::request_from(given);
    if (given.count("agent"))
        request.flags.push_back({"launch.agent", given["agent"].as<std::string>(), "--agent"});
    return config::load(job::schema(), request);
}

std::vector<std::string> hosts_to_discover(const po::variables_map& given,
                                           const config::Settings& settings) {
    std::vector<std::string> hosts = host_names(settings);
    if (given.count("hosts")) hosts = split_list(given["hosts"].as<std::string>());
    if (hosts.empty()) throw UsageError("--discover needs hosts to ask: expected --hosts a,b,c");
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
            fmt::format("cannot find out where torus-check is: {}", std::strerror(errno)));
    return path.data();
}

// One line on a terminal, overwritten each time and cleared at the end. Elsewhere only the hosts
// that keep the others waiting are named, once.
class Terminal {
  public:
    explicit Terminal(std::chrono::milliseconds timeout)
        : shown_(::isatty(STDERR_FILENO) == 1), timeout_(timeout) {}
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    check::Progress progress() {
        return [this](const char* what, std::size_t done, std::size_t of, const char* things,
                      const std::string& late) { show(what, done, of, things, late); };
    }
    ~Terminal() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }
    void show(const char* what, std::size_t done, std::size_t of, const char* things,
              const std::string& late) {
        if (shown_) {
            fmt::print(stderr, "\r\033[K{}: {} of {} {}{}{}", what, done, of, things,
                       late.empty() ? "" : ", waiting for ", late);
            std::fflush(stderr);
        } else if (!late.empty() && late != told_) {
            fmt::print(stderr, "torus-check: {}: waiting for {}, at most {} (--timeout)\n", what,
                       late, base::format_time(timeout_));
            told_ = late;
        }
    }

  private:
    bool shown_;
    std::chrono::milliseconds timeout_;
    std::string told_;
};

check::SurveyPlan make_plan(const po::variables_map& given, const config::Settings& settings,
                            const std::vector<std::string>& hosts) {
    check::SurveyPlan plan;
    plan.hosts = hosts;
    plan.timeout = timeout_option(given);
    check::Job job;
    job.nonce = check::random_nonce();
    // Away from well-known and ephemeral ports; another job would have to pick the same port, and
    // still has another nonce.
    job.port = 20000 + (job.nonce[0] << 8 | job.nonce[1]) % 12000;
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

std::unique_ptr<check::Reach> make_reach(const po::variables_map& given,
                                         const config::Settings& settings,
                                         const std::vector<std::string>& hosts) {
    const std::string program =
        given.count("program") ? given["program"].as<std::string>() : own_path();
    return check::reach_by_agents(settings[launch::setting::agent], program, hosts);
}

// Only the devices named in the geometry file send; all listen.
void restrict_devices(const config::Settings& settings, check::SurveyPlan& plan) {
    const routing::Torus torus = *node_torus(settings);
    for (int node = 0; node < torus.size(); ++node)
        for (int i = 0; i < 2 * torus.dimensions(); ++i) {
            const auto direction = routing::Direction::from_index(i);
            const std::string device = config::link_device(settings, node, direction);
            if (torus.neighbour(node, direction) && !device.empty())
                plan.jobs[std::size_t(node)].devices.push_back(device);
        }
}

// Nothing for a host that could not be asked: that has been reported already.
void compare_settings(const config::Settings& settings,
                      const std::vector<check::HostResult>& results, check::CheckReport& report) {
    std::vector<config::HostFacts> facts;
    for (const check::HostResult& result : results) {
        if (!result.trouble.empty()) return;
        facts.push_back(result.facts);
    }
    report.messages = transport::check_machine(settings, facts, config::read_locations(settings),
                                               config::file_hash(settings.file()));
    report.notes = transport::machine_notes(settings, facts);
}

check::Survey survey_hosts(const po::variables_map& given, const config::Settings& settings,
                           const check::SurveyPlan& plan, const check::SurveyOptions& options) {
    Terminal terminal(plan.timeout);
    const check::Progress progress = terminal.progress();
    const auto reach = make_reach(given, settings, plan.hosts);
    check::Coordinator coordinator(plan, *reach, progress);
    coordinator.ask_hosts();
    return check::survey_cables(coordinator, settings, options);
}

int test_cables(const po::variables_map& given) {
    const config::Settings settings = load_settings(given);
    if (host_names(settings).empty())
        throw UsageError(
            "no hosts are named: expected a geometry file with nodes.hosts (--config FILE), or "
            "--discover FILE --hosts a,b,c to write one");
    check::SurveyPlan plan = make_plan(given, settings, host_names(settings));
    restrict_devices(settings, plan);
    check::SurveyOptions options;
    options.expectation = {number_option(given, "speed", 1, 10'000'000),
                           number_option(given, "mtu", 68, 65536), 0.003};
    options.small_probes = *number_option(given, "probes", 1, check::most_probes);
    options.large_probes = large_probes;
    const check::Survey survey = survey_hosts(given, settings, plan, options);
    check::CheckReport report;
    report.hosts = host_names(settings);
    compare_settings(settings, survey.hosts, report);
    report.notes.insert(report.notes.end(), survey.notes.begin(), survey.notes.end());
    for (const check::HostResult& host : survey.hosts) report.troubles.push_back(host.trouble);
    report.cables = survey.cables;
    report.outlook = check::outlook_for_jobs(settings, report.cables);
    const std::string json = given.count("json") ? given["json"].as<std::string>() : "";
    if (json == "-")
        fmt::print("{}", check::report_json(report));
    else
        fmt::print("{}", check::report_text(report, given.count("all") != 0));
    if (!json.empty() && json != "-") base::write_text_file(json, check::report_json(report));
    return report.good() ? config::exit_ok : config::exit_failure;
}

// ---- Discovery ----

std::vector<check::HostResult> who_hears_whom(const po::variables_map& given,
                                              const config::Settings& settings,
                                              const check::SurveyPlan& plan) {
    Terminal terminal(plan.timeout);
    const check::Progress progress = terminal.progress();
    const auto reach = make_reach(given, settings, plan.hosts);
    check::Coordinator coordinator(plan, *reach, progress);
    coordinator.ask_hosts();
    const int probes = *number_option(given, "probes", 1, check::most_probes);
    const auto reports = coordinator.send_round([probes](int) {
        return check::Round{0, probes, large_probes, true, {}};
    });
    std::vector<check::HostResult> hosts = coordinator.hosts();
    for (std::size_t node = 0; node < hosts.size(); ++node) hosts[node].report = reports[node];
    return hosts;
}

int discover_torus(const po::variables_map& given) {
    const config::Settings settings = load_settings(given);
    const std::vector<std::string> hosts = hosts_to_discover(given, settings);
    const std::vector<std::string> globs = given.count("devices")
                                               ? split_list(given["devices"].as<std::string>())
                                               : std::vector<std::string>{"*"};
    const auto wanted = [&](const std::string& device) {
        return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
            return ::fnmatch(glob.c_str(), device.c_str(), 0) == 0;
        });
    };
    const bool own_agent =
        settings.origin(launch::setting::agent).kind != config::Origin::Kind::default_value;
    const check::Discovery found =
        check::discover(hosts, who_hears_whom(given, settings, make_plan(given, settings, hosts)),
                        wanted, own_agent ? settings[launch::setting::agent] : "");
    for (const std::string& note : found.notes) fmt::print(stderr, "torus-check: {}\n", note);
    if (!found.torus)
        throw std::runtime_error(
            fmt::format("the {} cables found between {} hosts make no torus: {}. No file was "
                        "written",
                        found.cables, hosts.size(), found.reason));
    for (const std::string& hole : found.holes) fmt::print(stderr, "torus-check: {}\n", hole);
    const int code = found.holes.empty() ? config::exit_ok : config::exit_failure;
    const std::string path = given["discover"].as<std::string>();
    if (path == "-") {
        fmt::print("{}", found.geometry);
        return code;
    }
    base::write_text_file(path, found.geometry);
    fmt::print("{}: a torus of {}, {} cables{}\n", path, found.torus->torus.describe(),
               found.cables,
               found.holes.empty() ? "" : fmt::format(", {} with faults", found.holes.size()));
    return code;
}

int run(int argc, const char* const* argv) {
    // Only torus-check itself passes this option, alone.
    if (argc == 2 && std::string_view(argv[1]) == "--probe") return check::run_probe();
    const po::options_description options = make_options();
    const po::variables_map given = config::parse_options(argc, argv, options);
    if (given.count("help")) return print_help(options);
    if (given.count("version")) {
        config::print_version("torus-check");
        return config::exit_ok;
    }
    for (const char* option : {"hosts", "devices"})
        if (given.count(option) && !given.count("discover"))
            throw UsageError(fmt::format("--{} goes with --discover", option));
    ::signal(SIGPIPE, SIG_IGN);  // the end of its output tells that an agent is gone
    return given.count("discover") ? discover_torus(given) : test_cables(given);
}

}  // namespace

int main(int argc, char** argv) {
    return config::run_program("torus-check", [&] { return run(argc, argv); });
}
