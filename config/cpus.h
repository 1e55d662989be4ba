// SPDX-License-Identifier: BSD-3-Clause
// Which processors this process may use, from the kernel alone: cheap enough for every rank. host.h
// knows cores and NUMA nodes, but needs hwloc, which costs tens of milliseconds.
//
// Free functions without state; any thread may call.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace torusmp::config {

// Processor numbers of the operating system, ascending. Empty stands for "not bound".
using CpuList = std::vector<int>;

// The processors on which a thread may run (affinity and cgroup cpuset); 0: the calling one. Empty:
// there is no such thread.
CpuList allowed_cpus(pid_t thread = 0);

// How many processors' worth of time the cgroup grants (2.5 for a container with `--cpus 2.5`);
// nothing: no limit. `root` is where /proc and /sys are found.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

// Processor lists as the kernel prints them, "0-3,8"; "any" for an empty one.
std::string describe_cpus(const CpuList& cpus);

// An affinity to be set in a child between fork and exec: made before the fork, where memory may be
// allocated; apply() only makes a system call.
class Affinity {
  public:
    explicit Affinity(const CpuList& cpus);
    // Binds the calling thread, and so what it starts; an empty list leaves it as it is. Returns 0
    // or the kernel's errno. Async-signal-safe.
    int apply() const noexcept;

  private:
    std::vector<unsigned long> mask_;
};

}  // namespace torusmp::config
