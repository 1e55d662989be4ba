// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/memory_killer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "config/cgroup.h"

namespace torusmp::torus_run {
namespace {

namespace fs = std::filesystem;

// The number in the line "NAME N" of a file; nothing if the line is missing.
std::optional<std::uint64_t> number_of(const fs::path& file, std::string_view wanted) {
    std::ifstream in(file);
    std::uint64_t number = 0;
    for (std::string name, rest; in >> name; std::getline(in, rest))
        if (name == wanted && in >> number) return number;
    return std::nullopt;
}

std::string in_gib(std::uint64_t bytes) {
    constexpr std::uint64_t gib = std::uint64_t(1) << 30;
    return bytes < gib ? fmt::format("{} MiB", bytes >> 20)
                       : fmt::format("{:.1f} GiB", double(bytes) / double(gib));
}

}  // namespace

MemoryKiller::MemoryKiller(fs::path root)
    : root_(std::move(root)), counter_(root_ / "proc/vmstat") {
    for (const config::ControlGroup& group : config::control_groups("memory", root_)) {
        const fs::path file =
            group.folder / (group.unified ? "memory.events" : "memory.oom_control");
        if (!number_of(file, "oom_kill")) continue;
        counter_ = file;
        of_this_group_ = true;
        break;
    }
    counted_ = count();
    log_ = base::Descriptor(
        open((root_ / "dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (log_) lseek(log_.get(), 0, SEEK_END);
}

std::uint64_t MemoryKiller::count() const {
    return number_of(counter_, "oom_kill").value_or(0);
}

// Looks for "Memory cgroup out of memory: Killed process 4711 (wilson) total-vm:...".
bool MemoryKiller::log_names(pid_t process) {
    char record[8192];
    ssize_t n = 0;
    // EPIPE: records were overwritten before they were read.
    while (log_ && ((n = read(log_.get(), record, sizeof record)) > 0 || (n < 0 && errno == EPIPE)))
        if (n > 0) log_text_.append(record, std::size_t(n));
    const std::string words = fmt::format("Killed process {} (", process);
    const bool named = log_text_.find(words) != log_text_.npos;
    constexpr std::size_t most_kept = std::size_t(1) << 20;
    if (log_text_.size() > most_kept) log_text_.erase(0, log_text_.size() - most_kept);
    return named;
}

// Describes the lowest limit of the control groups, and the memory of the host.
std::string MemoryKiller::limit() const {
    std::uint64_t lowest = number_of(root_ / "proc/meminfo", "MemTotal:").value_or(0) * 1024;
    std::string what = lowest == 0 ? "" : fmt::format("the host has {}", in_gib(lowest));
    for (const config::ControlGroup& group : config::control_groups("memory", root_)) {
        const fs::path file =
            group.folder / (group.unified ? "memory.max" : "memory.limit_in_bytes");
        std::ifstream in(file);
        std::uint64_t most = 0;
        if (!(in >> most) || (lowest != 0 && most >= lowest)) continue;
        lowest = most;
        what = fmt::format("{} is {}", file.string(), in_gib(most));
    }
    return what;
}

std::string MemoryKiller::describe(pid_t process, std::uint64_t memory) {
    const bool named = log_names(process);
    const std::uint64_t now = count();
    const bool counted = now > counted_;
    if (counted) ++counted_;
    if (!named && !counted) return {};
    const std::string what = named || of_this_group_
                                 ? "the kernel killed it because memory ran out"
                                 : "possibly by the kernel, which killed a process of this host "
                                   "because memory ran out";
    std::vector<std::string> figures;
    if (memory > 0) figures.push_back(fmt::format("it used {}", in_gib(memory)));
    if (const std::string most = limit(); !most.empty()) figures.push_back(most);
    return fmt::format(": {}{}{}{}: start fewer ranks on this host, or raise the limit", what,
                       figures.empty() ? "" : " (", fmt::join(figures, "; "),
                       figures.empty() ? "" : ")");
}

}  // namespace torusmp::torus_run
