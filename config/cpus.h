// SPDX-License-Identifier: BSD-3-Clause
// The processors that this process may use, read from the kernel alone: cheap enough for every
// rank. host.h also provides cores and NUMA nodes, but needs hwloc, which costs tens of
// milliseconds.
//
// Free functions without state; any thread may call.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace torusmp::config {

// Processor numbers of the operating system, ascending. Empty means "not bound".
using CpuList = std::vector<int>;

// The processors on which a thread may run (affinity and cgroup cpuset); 0 for the calling thread.
// Empty if the thread does not exist.
CpuList allowed_cpus(pid_t thread = 0);

// The processor time that the cgroup grants, in processors (2.5 for a container with `--cpus 2.5`);
// empty if unlimited. `root` is the directory that contains /proc and /sys.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Processor lists as the kernel prints them, "0-3,8"; "any" for an empty list.
std::string describe_cpus(const CpuList& cpus);

// An affinity to be set in a child between fork and exec: constructed before the fork, where memory
// may be allocated; apply() only makes a system call.
class Affinity {
  public:
    explicit Affinity(const CpuList& cpus);
    // Binds the calling thread and the threads and processes that it starts; an empty list changes
    // nothing. Returns 0 or the kernel's errno. Async-signal-safe.
    int apply() const noexcept;

  private:
    std::vector<unsigned long> mask_;
};

}  // namespace torusmp::config
