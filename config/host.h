// SPDX-License-Identifier: BSD-3-Clause
// What this host is made of: cores, NUMA nodes, network devices and limits, through hwloc.
//
// A Host is a plain value. Making one costs tens of milliseconds, so launchers and tools do it
// once, and ranks never (cpus.h has what they may need). Any thread may call.
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
    int number = 0;            // the operating system's
    std::uint64_t memory = 0;  // bytes; 0: not known
};

struct Nic {
    std::string name;
    bool hardware = false;  // false: a virtual device
    bool up = false;        // has a carrier
    int mtu = 0;
    std::optional<int> megabits;            // per second; nothing: the driver does not say
    std::optional<int> numa;                // operating system's number of the nearest NUMA node
    std::vector<std::string> rdma_devices;  // verbs devices of the same card
};

struct Host {
    std::string name;
    std::vector<Core> cores;           // that this process may use, in hwloc's logical order
    int cores_in_all = 0;              // on the machine, as far as visible
    std::vector<NumaNode> numa_nodes;  // those of `cores`
    std::optional<double> quota;       // see cpu_quota()
    // From here on only discover_host() fills in.
    std::vector<Nic> nics;
    std::uint64_t memory = 0;  // bytes
    std::optional<std::uint64_t>
        lock_limit;                         // bytes of memory that may be pinned; nothing: no limit
    std::optional<std::uint64_t> shm_free;  // bytes free in /dev/shm; nothing: there is none

    // How many ranks can compute at once: the cores, or fewer if the cgroup grants less time.
    int usable_cores() const;
    int hardware_threads() const;
};

class HostError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Throws HostError if hwloc cannot see the machine.
Host discover_cores();
Host discover_host();

// A made-up host, described in hwloc's words, such as "numa:2 core:4 pu:2"; `allowed` restricts it
// as an affinity would, empty: all. Throws HostError if hwloc rejects the description.
Host synthetic_host(const std::string& description, const CpuList& allowed = {});

// The network devices below root/sys/class/net, in the order of their names, without loopback.
std::vector<Nic> read_nics(const std::filesystem::path& root = "/");

}  // namespace torusmp::config
