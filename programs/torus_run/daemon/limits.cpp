// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/limits.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/capability.h"
#include "config/cgroup.h"

namespace torusmp::torus_run {
namespace {

namespace fs = std::filesystem;

constexpr const char* processes = "processes";
constexpr const char* files = "open files";
constexpr const char* memory = "of memory";

// Descriptors of the daemon itself: signals, agents, the sockets of a rank that is being started.
constexpr std::uint64_t spare_files = 64;
// Bytes for the kernel stack, page tables, and the pages that even /bin/true writes to.
constexpr std::uint64_t least_memory = 128 * 1024;

// Returns nothing if the file is missing or holds no number ("max").
std::optional<std::uint64_t> number_in(const fs::path& file) {
    std::ifstream in(file);
    std::uint64_t number = 0;
    if (!(in >> number)) return std::nullopt;
    return number;
}

// Counts threads: the link count of /proc/PID/task is the number of threads plus two.
std::uint64_t threads_of_this_user() {
    std::uint64_t threads = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
        const char first = entry.path().filename().native().front();
        struct stat owner {
        }, tasks{};
        if (first < '0' || first > '9' || stat(entry.path().c_str(), &owner) != 0 ||
            owner.st_uid != geteuid() || stat((entry.path() / "task").c_str(), &tasks) != 0)
            continue;
        threads += tasks.st_nlink > 2 ? std::uint64_t(tasks.st_nlink - 2) : 1;
    }
    return threads;
}

// In "0.20 0.18 0.12 1/80 11206" the fourth field ends with the number of threads.
std::uint64_t threads_of_this_machine() {
    std::ifstream file("/proc/loadavg");
    std::string word;
    for (int i = 0; i < 4; ++i) file >> word;
    std::uint64_t threads = 0;
    std::istringstream(word.substr(word.find('/') + 1)) >> threads;
    return threads;
}

// Users without a limit on processes.
bool may_start_any_number() {
    return getuid() == 0 || base::has_capability(CAP_SYS_RESOURCE) ||
           base::has_capability(CAP_SYS_ADMIN);
}

void add_processes(std::vector<Limit>& limits, std::uint64_t needed) {
    rlimit own{};
    getrlimit(RLIMIT_NPROC, &own);
    if (own.rlim_cur != RLIM_INFINITY && !may_start_any_number())
        limits.push_back(
            {processes, "ulimit -u (RLIMIT_NPROC)", own.rlim_cur, threads_of_this_user(), needed});
    for (const config::ControlGroup& group : config::control_groups("pids"))
        if (const auto most = number_in(group.folder / "pids.max"))
            limits.push_back({processes, (group.folder / "pids.max").string(), *most,
                              number_in(group.folder / "pids.current").value_or(0), needed});
    for (const char* name : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"})
        if (const auto most = number_in(name))
            limits.push_back({processes, name, *most, threads_of_this_machine(), needed});
}

void add_files(std::vector<Limit>& limits, std::uint64_t needed) {
    rlimit own{};
    getrlimit(RLIMIT_NOFILE, &own);
    if (own.rlim_max != RLIM_INFINITY)
        limits.push_back({files, "ulimit -Hn (RLIMIT_NOFILE)", own.rlim_max, 0, needed});
}

// Reads "MemAvailable:   22601000 kB".
void add_memory(std::vector<Limit>& limits, std::uint64_t needed) {
    std::ifstream file("/proc/meminfo");
    std::uint64_t available = 0, number = 0;
    for (std::string name, unit; file >> name >> number && std::getline(file, unit);)
        if (name == "MemAvailable:" || name == "SwapFree:") available += number * 1024;
    if (available > 0)
        limits.push_back(
            {memory, "MemAvailable and SwapFree of /proc/meminfo", available, 0, needed});
    for (const config::ControlGroup& group : config::control_groups("memory")) {
        const fs::path name =
            group.folder / (group.unified ? "memory.max" : "memory.limit_in_bytes");
        if (const auto most = number_in(name))
            limits.push_back({memory, name.string(), *most, 0, needed});
    }
}

}  // namespace

std::vector<Limit> limits_for(int ranks, int descriptors) {
    const auto count = std::uint64_t(ranks);
    std::vector<Limit> limits;
    add_processes(limits, count);
    add_files(limits, count * std::uint64_t(descriptors) + spare_files);
    add_memory(limits, count * least_memory);
    return limits;
}

std::vector<std::string> exceeded(const std::vector<Limit>& limits, int ranks) {
    std::vector<std::string> clauses;
    for (const Limit& limit : limits) {
        if (limit.used + limit.needed <= limit.most) continue;
        const auto amount = [&limit](std::uint64_t number) {
            return limit.of == memory ? fmt::format("{} MiB", number >> 20)
                                      : std::to_string(number);
        };
        clauses.push_back(fmt::format(
            "{} ranks need {}{} {}, but {} is {}{}: raise this limit, or start fewer ranks on "
            "this host",
            ranks, limit.of == processes ? "" : "at least ", amount(limit.needed), limit.of,
            limit.name, amount(limit.most),
            limit.used == 0 ? "" : fmt::format(", of which {} are in use", amount(limit.used))));
    }
    return clauses;
}

}  // namespace torusmp::torus_run
