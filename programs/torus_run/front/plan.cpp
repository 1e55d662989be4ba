// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "config/geometry.h"
#include "config/host.h"
#include "config/load.h"
#include "config/network.h"
#include "config/options.h"
#include "core/transport/common/settings.h"
#include "job/settings.h"
#include "launch/agent.h"
#include "launch/environment.h"
#include "launch/implementations.h"
#include "launch/settings.h"
#include "programs/torus_run/front/familiar.h"
#include "programs/torus_run/front/program.h"

namespace torusmp::launch {
namespace {

using config::UsageError;

std::string host_name() {
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

// This very torus-run, which has the same path on the other hosts.
std::string own_path() {
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? "torus-run" : path.string();
}

// ---- the ranks ----

// As many as the torus has; on a host that nobody described, one for each core.
int default_rank_count(const Options& options, const config::Settings& settings) {
    int slots = 0;
    for (const HostSlots& host : options.hosts)
        slots += options.ranks_per_host != 0 ? options.ranks_per_host : host.slots;
    if (options.hosts.empty()) slots = options.ranks_per_host;
    if (settings[config::setting::dims].empty())
        return slots ? slots : config::discover_cores().usable_cores();
    long long ranks = 1;
    for (const int extent : settings[config::setting::dims]) ranks *= extent;
    for (const int extent : settings[config::setting::ranks_per_node]) ranks *= extent;
    return int(ranks);
}

int rank_count(const Options& options, const config::Settings& settings) {
    const std::vector<ProgramOptions>& programs = options.programs;
    if (programs.size() == 1 && !programs.front().ranks)
        return default_rank_count(options, settings);
    int ranks = 0;
    for (const ProgramOptions& program : programs) ranks += program.ranks.value_or(1);
    return ranks;
}

bool is_this_host(const std::string& name, const std::string& self) {
    const auto short_name = [](const std::string& host) { return host.substr(0, host.find('.')); };
    const bool whole = name.find('.') != std::string::npos && self.find('.') != std::string::npos;
    return name == "localhost" || (whole ? name == self : short_name(name) == short_name(self));
}

// The line of the geometry file that names a host, if the file does so and each has a line.
std::string where_host_is_named(const config::Settings& settings,
                                const config::Locations& locations, std::size_t node) {
    const config::Origin& origin = settings.origin(config::setting::hosts);
    const auto found = locations.find(fmt::format("nodes.hosts.{}", node));
    return origin.kind == config::Origin::Kind::file && found != locations.end() ? found->second
                                                                                 : origin.where;
}

// Without a list of hosts, this host plays all nodes of the torus.
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

void check_own_host(const std::vector<HostPlan>& hosts, const std::string& self, bool told) {
    const HostPlan* own = nullptr;
    for (const HostPlan& host : hosts) {
        if (host.here && own)
            throw UsageError(
                fmt::format("{}: nodes.hosts names \"{}\" and \"{}\", which are both this host "
                            "({}): expected a host of its own for each node",
                            host.where, own->name, host.name, self));
        if (host.here) own = &host;
    }
    if (told && !own)
        throw UsageError(fmt::format("--here {}: nodes.hosts has no such host", self));
}

// ---- the environment ----

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

// What another launcher or an outer torus-run said about this process does not hold for its ranks.
bool belongs_to_an_outer_job(std::string_view name) {
    if (name.starts_with("PMIX_")) return true;
    for (const char* ours :
         {env_bootstrap, env_connected, env_rank, env_size, env_local_rank, env_program})
        if (name == ours) return true;
    return false;
}

// If this host is all there is, no list is needed: it only gives the number of ranks.
config::LoadRequest request_of(const Options& options, const std::string& self) {
    config::LoadRequest request = options.settings;
    std::string names;
    bool elsewhere = false;
    for (const HostSlots& host : options.hosts) {
        names += (names.empty() ? "" : ",") + host.name;
        elsewhere = elsewhere || !is_this_host(host.name, self);
    }
    if (elsewhere) request.flags.push_back({"nodes.hosts", names, "-host"});
    return request;
}

std::string find_own(const Program& program) {
    const char* path = std::getenv("PATH");
    for (const std::string& variable : program.environment)
        if (variable.starts_with("PATH=")) path = variable.c_str() + 5;
    return find_program(program.path, path, program.folder);
}

std::vector<std::string> plan_environment(const config::Settings& settings) {
    std::vector<std::string> added = config::export_environment(settings);
    std::vector<std::string> all;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view name = name_of(*entry);
        bool replaced = belongs_to_an_outer_job(name);
        for (const std::string& variable : added) replaced = replaced || name_of(variable) == name;
        if (!replaced) all.emplace_back(*entry);
    }
    all.insert(all.end(), added.begin(), added.end());
    return all;
}

}  // namespace

namespace {

void check_agent(const config::Settings& settings) {
    try {
        split_words(settings[launch::setting::agent]);
    } catch (const AgentError& error) {
        const std::string& where = settings.origin(launch::setting::agent).where;
        throw UsageError(where.empty() ? error.what() : fmt::format("{}: {}", where, error.what()));
    }
}

// Several programs take consecutive ranks, one each by default.
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

// What is the same on every host.
HostJob plan_common(const Options& options, const config::Settings& settings, int ranks) {
    HostJob common;
    common.size = ranks;
    common.secret = random_secret();
    common.programs = plan_programs(options);
    common.environment = plan_environment(settings);
    common.bind = settings[launch::setting::bind];
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
        throw UsageError(gdb ? "--gdb finds no place for its windows: expected torus-run to be "
                               "started inside tmux, or DISPLAY to name an X display"
                             : "--xterm finds no place for its windows: expected DISPLAY to name "
                               "an X display");
    for (const HostPlan& host : job.hosts)
        for (const int rank : host.ranks)
            if (!host.here && std::binary_search(job.common.in_windows.begin(),
                                                 job.common.in_windows.end(), rank))
                throw UsageError(fmt::format(
                    "{}: rank {} is on host {}: windows are opened for ranks of this host only",
                    gdb ? "--gdb" : "--xterm", rank, host.name));
}

// What -ppn says must be what the geometry says.
void check_ranks_per_host(const Options& options, const Job& job) {
    if (options.ranks_per_host == 0) return;
    for (const HostPlan& host : job.hosts)
        if (int(host.ranks.size()) > options.ranks_per_host ||
            (job.hosts.size() > 1 && int(host.ranks.size()) != options.ranks_per_host))
            throw UsageError(
                fmt::format("-ppn {}: host {} has {} ranks; expected the number of ranks (-np) and "
                            "nodes.ranks_per_node of the geometry file to agree with it",
                            options.ranks_per_host, host.name, host.ranks.size()));
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

Job plan_job(const Options& options) {
    if (options.programs.front().command.empty())
        throw UsageError("no program given; torus-run [options] PROGRAM [its arguments]");
    Job job;
    job.host = options.here.empty() ? host_name() : options.here;
    job.settings = config::load(job::schema(), request_of(options, job.host));
    const int ranks = rank_count(options, job.settings);
    rank_torus(job.settings, ranks);  // throws where the torus and the ranks do not agree
    job.hosts = plan_hosts(job.settings, job.host, ranks);
    check_ranks_per_host(options, job);
    check_own_host(job.hosts, job.host, !options.here.empty());
    job.common = plan_common(options, job.settings, ranks);
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
    job.timeout = std::chrono::milliseconds(std::llround(options.timeout_seconds * 1000));
    return job;
}

}  // namespace torusmp::launch
