// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "config/binding.h"
#include "config/geometry.h"
#include "config/host.h"
#include "config/network.h"
#include "config/options.h"
#include "core/transport/common/settings.h"
#include "job/settings.h"
#include "launch/agent.h"
#include "launch/environment.h"
#include "launch/implementations.h"
#include "launch/settings.h"
#include "programs/torus_run/daemon/rank_start.h"
#include "programs/torus_run/front/familiar.h"
#include "programs/torus_run/front/meeting.h"
#include "programs/torus_run/front/placement.h"
#include "programs/torus_run/front/program.h"

namespace torusmp::torus_run {
namespace {

using config::UsageError;

std::string host_name() {
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

// ---- the ranks ----

// The size of the torus; without a torus the slots of the listed hosts, or one rank per core.
int rank_count(const Options& options, const config::Settings& settings) {
    if (const auto asked = ranks_asked(options)) return *asked;
    if (!settings[config::setting::dims].empty())
        return node_torus(settings)->size() * ranks_on_a_node(settings);
    int slots = 0;
    for (const HostSlots& host : options.hosts)
        slots += options.ranks_per_host != 0 ? options.ranks_per_host : host.slots;
    if (options.hosts.empty()) slots = options.ranks_per_host;
    return slots ? slots : config::discover_cores().usable_cores();
}

// The line of the geometry file that names a host, if the file lists hosts one per line.
std::string where_host_is_named(const config::Settings& settings,
                                const config::Locations& locations, std::size_t node) {
    const config::Origin& origin = settings.origin(config::setting::hosts);
    const auto found = locations.find(fmt::format("nodes.hosts.{}", node));
    return origin.kind == config::Origin::Kind::file && found != locations.end() ? found->second
                                                                                 : origin.where;
}

// Without a list of hosts, this host takes the role of all nodes of the torus.
std::vector<HostPlan> plan_hosts(const config::Settings& settings, const std::string& self,
                                 int ranks) {
    std::vector<HostPlan> hosts;
    const config::Locations locations =
        host_names(settings).empty() ? config::Locations() : config::read_locations(settings);
    for (const std::string& name : host_names(settings))
        hosts.push_back({name,
                         where_host_is_named(settings, locations, hosts.size()),
                         is_this_host(name, self),
                         {}});
    if (hosts.empty()) hosts.push_back({self, "", true, {}});
    for (int rank = 0; rank < ranks; ++rank) {
        const int node = host_names(settings).empty() ? 0 : node_of(settings, rank);
        hosts[std::size_t(node)].ranks.push_back(rank);
    }
    return hosts;
}

void check_own_host(const std::vector<HostPlan>& hosts, const std::string& self) {
    const HostPlan* own = nullptr;
    for (const HostPlan& host : hosts) {
        if (host.here && own)
            throw UsageError(
                fmt::format("{}: nodes.hosts names \"{}\" and \"{}\", which are both this host "
                            "({}): expected a different host for each node",
                            host.where, own->name, host.name, self));
        if (host.here) own = &host;
    }
}

// ---- the environment ----

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

// Variables of another launcher or an outer torus-run do not apply to the ranks of this job.
bool belongs_to_an_outer_job(std::string_view name) {
    if (name.starts_with("PMIX_")) return true;
    for (const char* ours : {launch::env_bootstrap, launch::env_connected, launch::env_rank,
                             launch::env_size, launch::env_local_rank, launch::env_program,
                             launch::env_launcher, launch::env_line_output, launch::env_restart,
                             launch::env_torus_run, launch::env_parents, launch::env_meeting})
        if (name == ours) return true;
    return std::getenv(launch::env_rank) != nullptr && is_of_a_meeting(name);
}

std::string find_own(const Program& program) {
    const char* path = std::getenv("PATH");
    for (const std::string& variable : program.environment)
        if (variable.starts_with("PATH=")) path = variable.c_str() + 5;
    return find_program(program.path, path, program.folder);
}

// Each language has its own variable for line buffering; the user's setting takes precedence. C and
// C++ read env_line_output when the library is loaded; see launch/connect.cpp.
void add_line_output(std::vector<std::string>& environment) {
    environment.push_back(fmt::format("{}=1", launch::env_line_output));
    for (const char* name : {"GFORTRAN_UNBUFFERED_PRECONNECTED", "PYTHONUNBUFFERED"})
        if (std::getenv(name) == nullptr) environment.push_back(fmt::format("{}=1", name));
}

// The user's own values replace the variables in `meeting`.
std::vector<std::string> plan_environment(const config::Settings& settings,
                                          const std::vector<std::string>& meeting) {
    std::vector<std::string> added = config::export_environment(settings);
    if (settings[launch::setting::output] == launch::Output::lines) add_line_output(added);
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view name = name_of(*entry);
        bool replaced = belongs_to_an_outer_job(name);
        for (const std::string& variable : added) replaced = replaced || name_of(variable) == name;
        if (!replaced) all.emplace_back(*entry);
    }
    all.insert(all.end(), added.begin(), added.end());
    inherit(all, meeting);
    return all;
}

}  // namespace

namespace {

void check_agent(const config::Settings& settings) {
    try {
        launch::split_words(settings[launch::setting::agent]);
    } catch (const launch::AgentError& error) {
        const std::string& where = settings.origin(launch::setting::agent).where;
        throw UsageError(where.empty() ? error.what() : fmt::format("{}: {}", where, error.what()));
    }
}

// Several programs take consecutive ranks, one rank each by default.
std::vector<Program> plan_programs(const Options& options) {
    std::vector<Program> programs;
    int first = 0;
    for (const ProgramOptions& given : options.programs) {
        Program program{first, given.command.front(), given.command, given.environment, {}};
        if (!given.folder.empty()) {
            program.folder = std::filesystem::absolute(given.folder);
            program.environment.push_back("PWD=" + program.folder);
        }
        programs.push_back(std::move(program));
        first += given.ranks.value_or(1);
    }
    return programs;
}

// The threads of each rank, by OMP_NUM_THREADS of the program that has most; 0 if not set.
int threads_of(const std::vector<Program>& programs) {
    int most = 0;
    for (const Program& program : programs) {
        const char* value = std::getenv("OMP_NUM_THREADS");
        for (const std::string& variable : program.environment)
            if (variable.starts_with("OMP_NUM_THREADS="))
                value = variable.c_str() + variable.find('=') + 1;
        // "4,2": of the outermost parallel region.
        const std::string_view text = value ? value : "";
        const auto threads = base::parse_integer(text.substr(0, text.find(',')));
        if (threads && *threads > 0 && *threads <= 4096) most = std::max(most, int(*threads));
    }
    return most;
}

// The part of the job that is common to all hosts.
HostJob plan_common(const Options& options, const config::Settings& settings, int ranks,
                    const std::vector<std::string>& meeting, const Restart& restart) {
    HostJob common;
    common.size = ranks;
    common.secret = launch::random_secret();
    common.programs = plan_programs(options);
    common.environment = plan_environment(settings, meeting);
    if (options.restarts != 0)
        common.environment.push_back(fmt::format("{}={}", launch::env_restart, restart.number));
    const config::Bind bind = settings[launch::setting::bind];
    common.cores_each = settings[launch::setting::cpus_per_rank];
    common.bind = config::policy_with(bind, common.cores_each);
    if (common.cores_each > 0 && bind == config::Bind::none)
        throw UsageError(
            fmt::format("launch.cpus_per_rank = {} and launch.bind = none contradict each other: "
                        "expected one of them",
                        common.cores_each));
    if (common.cores_each == 0 && bind == config::Bind::automatic)
        common.cores_each = threads_of(common.programs);
    common.keep_going = options.keep_going;
    common.window = options.window;
    if (options.window != Window::none)
        common.in_windows = parse_rank_list(
            options.in_windows, options.window == Window::gdb ? "--gdb" : "--xterm", ranks);
    common.timeout = settings[transport::setting::timeout];
    return common;
}

// Windows open on the user's own display, or in the tmux that torus-run was started in.
void check_windows(const Job& job) {
    if (job.common.window == Window::none) return;
    const bool gdb = job.common.window == Window::gdb;
    const auto is_set = [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr && *value != '\0';
    };
    if (!is_set("DISPLAY") && !(gdb && is_set("TMUX")))
        throw UsageError(gdb ? "--gdb cannot open windows: start torus-run inside tmux, or set "
                               "DISPLAY to an X display"
                             : "--xterm cannot open windows: set DISPLAY to an X display");
    for (const HostPlan& host : job.hosts)
        for (const int rank : host.ranks)
            if (!host.here && std::binary_search(job.common.in_windows.begin(),
                                                 job.common.in_windows.end(), rank))
                throw UsageError(fmt::format(
                    "{}: rank {} is on host {}; windows open only for ranks on this host",
                    gdb ? "--gdb" : "--xterm", rank, host.name));
}

// -ppn must agree with the geometry.
void check_ranks_per_host(const Options& options, const Job& job) {
    if (options.ranks_per_host == 0) return;
    for (const HostPlan& host : job.hosts)
        if (int(host.ranks.size()) > options.ranks_per_host ||
            (job.hosts.size() > 1 && int(host.ranks.size()) != options.ranks_per_host))
            throw UsageError(fmt::format("{}: host {} has {} ranks: expected -np to agree with it",
                                         options.ranks_per_host_option, host.name,
                                         host.ranks.size()));
}

}  // namespace

namespace {

std::string path_of_stream(const Job& job, int rank, int stream) {
    const std::string& pattern = job.files.of(stream);
    const auto host = std::find_if(job.hosts.begin(), job.hosts.end(), [rank](const auto& it) {
        return std::binary_search(it.ranks.begin(), it.ranks.end(), rank);
    });
    std::string path;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            path += pattern[i];
            continue;
        }
        const char what = pattern[++i];
        path += what == 'r' ? std::to_string(rank) : what == 'h' ? host->name : "%";
    }
    return path;
}

}  // namespace

std::function<std::string(int, int)> files_of(const Job& job) {
    if (!job.files.any()) return nullptr;
    return [&job](int rank, int stream) { return path_of_stream(job, rank, stream); };
}

Job plan_job(const Options& options, const Restart& restart) {
    if (options.programs.front().command.empty())
        throw UsageError("missing program; usage: torus-run [options] PROGRAM [ARGUMENTS]");
    Job job;
    job.host = options.here.empty() ? host_name() : options.here;
    job.settings = place_job(options, job.host, restart);
    const int ranks = rank_count(options, job.settings);
    rank_torus(job.settings, ranks);  // throws if the torus and the number of ranks do not agree
    job.hosts = plan_hosts(job.settings, job.host, ranks);
    check_ranks_per_host(options, job);
    check_own_host(job.hosts, job.host);
    job.common =
        plan_common(options, job.settings, ranks, meeting_point(job.hosts, job.host), restart);
    const bool here = std::any_of(job.hosts.begin(), job.hosts.end(),
                                  [](const HostPlan& host) { return host.here; });
    for (const Program& program : job.common.programs)
        if (here) job.own_paths.push_back(find_own(program));
    job.working_directory = std::filesystem::current_path();
    job.torus_run = options.torus_run.empty() ? own_path() : options.torus_run;
    check_agent(job.settings);
    job.tag_output = options.tag_output;
    job.verbose = options.verbose;
    job.files = options.files;
    job.report_bindings = options.report_bindings;
    check_windows(job);
    job.reports = options.reports;
    job.restart = restart.number;
    job.restarts = options.restarts;
    // Parents know on which hosts their children are.
    job.movable = host_names(job.settings).size() < host_names(job.settings.whole()).size() &&
                  std::getenv(launch::env_parents) == nullptr;
    job.timeout = std::chrono::milliseconds(std::llround(options.timeout_seconds * 1000));
    return job;
}

std::string describe_map(const Job& job) {
    std::string text;
    for (const HostPlan& host : job.hosts)
        text += fmt::format("torus-run: {}: rank{} {}\n", host.name,
                            host.ranks.size() == 1 ? "" : "s", fmt::join(host.ranks, ", "));
    return text;
}

}  // namespace torusmp::torus_run
