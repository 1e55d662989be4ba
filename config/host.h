// SPDX-License-Identifier: BSD-3-Clause
// The hardware of this host: cores, NUMA nodes, network devices and limits, through hwloc.
//
// A Host is a plain value. Creating one costs tens of milliseconds, so launchers and tools create
// it once, and ranks never do (cpus.h has what they may need). Any thread may call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/cpus.h"

namespace torusmp::config {

struct Core {
    CpuList cpus;  // its hardware threads that this process may use; never empty
    int numa = 0;  // index in Host::numa_nodes
};

struct NumaNode {
    int number = 0;            // number in the operating system
    std::uint64_t memory = 0;  // bytes; 0 if not known
};

struct Nic {
    std::string name;
    bool hardware = false;  // false for a virtual device
    bool up = false;        // has a carrier
    int mtu = 0;
    std::optional<int> megabits;            // per second; empty if the driver does not report it
    std::optional<int> numa;                // operating system's number of the nearest NUMA node
    std::vector<std::string> rdma_devices;  // verbs devices of the same card
};

// The memory of the machine as counted by its kernel, in bytes; 0 if not known.
struct Memory {
    std::uint64_t total = 0;
    std::uint64_t available = 0;  // for programs now, including reclaimable caches
};

struct Host {
    std::string name;
    std::vector<Core> cores;           // that this process may use, in hwloc's logical order
    int cores_in_all = 0;              // on the machine, as far as visible
    std::vector<NumaNode> numa_nodes;  // those of `cores`
    std::optional<double> quota;       // see cpu_quota()
    // Only discover_host() fills in the members below.
    std::vector<Nic> nics;
    Memory memory;
    std::optional<std::uint64_t>
        lock_limit;  // bytes of memory that may be pinned; empty if unlimited
    std::optional<std::uint64_t> shm_free;  // bytes free in /dev/shm; empty if there is none

    // The number of ranks that can compute in parallel: the cores, or fewer if the cgroup grants
    // less time.
    int usable_cores() const;
    int hardware_threads() const;
};

class HostError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Throws HostError if hwloc cannot read the machine's topology.
Host discover_cores();
Host discover_host();

// A synthetic host in hwloc's notation, such as "numa:2 core:4 pu:2"; `allowed` restricts it like
// an affinity, empty for all. Throws HostError if hwloc rejects the description.
Host synthetic_host(const std::string& description, const CpuList& allowed = {});

// Reads root/proc/meminfo.
Memory read_memory(const std::filesystem::path& root = "/");

// The network devices below root/sys/class/net, in the order of their names, without loopback.
std::vector<Nic> read_nics(const std::filesystem::path& root = "/");

}  // namespace torusmp::config
