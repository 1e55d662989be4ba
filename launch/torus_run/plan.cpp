#include "launch/torus_run/plan.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "config/binding.h"
#include "config/host.h"
#include "config/load.h"
#include "config/options.h"
#include "launch/environment.h"

namespace torusmp::launch {
namespace {

using config::UsageError;

std::string host_name() {
    char name[256] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

// ---- the program ----

bool is_file(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string find_in_path(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
    std::string not_executable;
    while (true) {
        const std::size_t colon = rest.find(':');
        const std::string_view folder = rest.substr(0, colon);
        const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
        if (is_file(candidate)) {
            if (access(candidate.c_str(), X_OK) == 0) return candidate;
            not_executable = candidate;
        }
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    if (!not_executable.empty())
        throw UsageError(
            fmt::format("{} is not executable (found in PATH for '{}')", not_executable, name));
    throw UsageError(fmt::format(
        "program '{}' is in no folder of PATH{}", name,
        is_file(name) ? fmt::format("; for the file in this folder write ./{}", name) : ""));
}

std::string find_program(const std::string& name) {
    if (name.empty()) throw UsageError("the program's name is empty");
    if (name.find('/') == std::string::npos) return find_in_path(name);
    if (access(name.c_str(), F_OK) != 0)
        throw UsageError(
            fmt::format("program '{}' cannot be found: {}", name, std::strerror(errno)));
    if (!is_file(name)) throw UsageError(fmt::format("program '{}' is not a file", name));
    if (access(name.c_str(), X_OK) != 0)
        throw UsageError(
            fmt::format("program '{}' is not executable: {}", name, std::strerror(errno)));
    return name;
}

// ---- the ranks ----

// As many as the torus has; on a host that nobody described, one for each core.
int rank_count(const Options& options, const config::Settings& settings) {
    if (options.ranks) return *options.ranks;
    if (settings.dims->empty()) return config::discover_cores().usable_cores();
    long long ranks = 1;
    for (const int extent : *settings.dims) ranks *= extent;
    for (const int extent : *settings.ranks_per_node) ranks *= extent;
    return int(ranks);
}

bool is_this_host(const std::string& name, const std::string& self) {
    const auto short_name = [](const std::string& host) { return host.substr(0, host.find('.')); };
    const bool whole = name.find('.') != std::string::npos && self.find('.') != std::string::npos;
    return name == "localhost" || (whole ? name == self : short_name(name) == short_name(self));
}

// The ranks of every host are planned here and started by a keeper on that host. So far only this
// host has one.
void check_hosts(const config::Settings& settings, const std::string& self) {
    for (const std::string& host : *settings.hosts)
        if (!is_this_host(host, self))
            throw UsageError(
                fmt::format("{}: nodes.hosts names '{}', which is not this host ({}): torus-run "
                            "starts ranks on its own "
                            "host only; start the job with srun --mpi=pmix, or leave nodes.hosts "
                            "out to lay the torus "
                            "over this host",
                            settings.hosts.origin.where, host, self));
}

std::vector<RankPlan> plan_ranks(int ranks, config::Bind bind) {
    const std::vector<config::CpuList> cpus = config::local_binding(ranks, bind);
    std::vector<RankPlan> plans;
    plans.reserve(std::size_t(ranks));
    for (int rank = 0; rank < ranks; ++rank) plans.push_back({rank, rank, cpus[std::size_t(rank)]});
    return plans;
}

// ---- the environment ----

std::string_view name_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

// What another launcher or an outer torus-run said about this process is not true of its ranks.
bool belongs_to_an_outer_job(std::string_view name) {
    if (name.starts_with("PMIX_")) return true;
    for (const char* ours : {env_bootstrap, env_connected, env_rank, env_size, env_local_rank})
        if (name == ours) return true;
    return false;
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

Job plan_job(const Options& options) {
    if (options.command.empty())
        throw UsageError("no program given; torus-run [options] PROGRAM [its arguments]");
    const config::Settings settings = config::load(options.settings);
    Job job;
    job.host = host_name();
    check_hosts(settings, job.host);
    const int ranks = rank_count(options, settings);
    settings.rank_torus(ranks);  // throws where the torus and the ranks do not agree
    job.program = find_program(options.command.front());
    job.arguments = options.command;
    job.environment = plan_environment(settings);
    job.ranks = plan_ranks(ranks, *settings.bind);
    job.tag_output = options.tag_output;
    job.verbose = options.verbose;
    job.timeout = std::chrono::milliseconds(std::llround(options.timeout_seconds * 1000));
    return job;
}

}  // namespace torusmp::launch
