// SPDX-License-Identifier: BSD-3-Clause
#include "config/host.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

#include "config/memory_lock.h"

namespace torusmp::config {

namespace {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Bitmap make_bitmap() {
    Bitmap bitmap(hwloc_bitmap_alloc());
    if (!bitmap) throw HostError("hwloc is out of memory");
    return bitmap;
}

Topology init_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        throw HostError(fmt::format("hwloc cannot start: {}", std::strerror(errno)));
    return Topology(raw);
}

void load_topology(const Topology& topology) {
    if (hwloc_topology_load(topology.get()) != 0)
        throw HostError(fmt::format("hwloc cannot detect this machine: {}", std::strerror(errno)));
}

CpuList to_list(hwloc_const_bitmap_t bitmap) {
    CpuList cpus;
    for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu))
        cpus.push_back(cpu);
    return cpus;
}

int add_numa_node(Host& host, hwloc_topology_t topology, hwloc_const_nodeset_t nodes) {
    const int number = std::max(0, hwloc_bitmap_first(nodes));
    for (std::size_t i = 0; i < host.numa_nodes.size(); ++i)
        if (host.numa_nodes[i].number == number) return int(i);
    const hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, unsigned(number));
    host.numa_nodes.push_back({number, node ? node->attr->numanode.local_memory : 0});
    return int(host.numa_nodes.size()) - 1;
}

// Fills in the cores that have at least one hardware thread in `allowed`.
void add_cores(Host& host, hwloc_topology_t topology, hwloc_const_bitmap_t allowed) {
    // Some virtual machines show hardware threads without cores; then each counts as a core.
    const bool cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    const hwloc_obj_type_t type = cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    const Bitmap usable = make_bitmap();
    for (hwloc_obj_t core = nullptr;
         (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
        ++host.cores_in_all;
        hwloc_bitmap_and(usable.get(), core->cpuset, allowed);
        if (hwloc_bitmap_iszero(usable.get())) continue;
        host.cores.push_back({to_list(usable.get()), add_numa_node(host, topology, core->nodeset)});
    }
}

std::string host_name() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
    return name;
}

Host cores_of(hwloc_topology_t topology) {
    Host host;
    host.name = host_name();
    const Bitmap allowed = make_bitmap();
    hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
    // hwloc knows the cgroup, but not the affinity of this process. A topology of another machine
    // (HWLOC_SYNTHETIC) has none.
    const CpuList mine = allowed_cpus();
    if (hwloc_topology_is_thissystem(topology) && !mine.empty()) {
        const Bitmap affinity = make_bitmap();
        for (int cpu : mine) hwloc_bitmap_set(affinity.get(), unsigned(cpu));
        hwloc_bitmap_and(allowed.get(), allowed.get(), affinity.get());
    }
    add_cores(host, topology, allowed.get());
    if (host.cores.empty()) throw HostError("hwloc found no core on which this process may run");
    host.quota = cpu_quota();
    return host;
}

// ---- Network devices ----

std::string read_word(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string word;
    in >> word;
    return word;
}

std::optional<int> read_number(const std::filesystem::path& file) {
    std::ifstream in(file);
    int value = 0;
    if (!(in >> value)) return std::nullopt;
    return value;
}

// The names in a folder, sorted; none if it is missing or unreadable.
std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error))
        names.insert(at->path().filename().string());
    return names;
}

Nic read_nic(const std::filesystem::path& folder, const std::string& name) {
    Nic nic;
    std::error_code error;
    nic.name = name;
    nic.hardware = std::filesystem::exists(folder / "device", error);
    nic.up = read_word(folder / "operstate") == "up" || read_number(folder / "carrier") == 1;
    nic.mtu = read_number(folder / "mtu").value_or(0);
    nic.megabits = read_number(folder / "speed");
    if (nic.megabits && *nic.megabits <= 0) nic.megabits.reset();
    nic.numa = read_number(folder / "device/numa_node");
    if (nic.numa && *nic.numa < 0) nic.numa.reset();
    for (const std::string& device : names_in(folder / "device/infiniband"))
        nic.rdma_devices.push_back(device);
    return nic;
}

// hwloc locates a device by its bus, even if the kernel does not report its NUMA node.
void add_locality(std::vector<Nic>& nics, hwloc_topology_t topology) {
    for (hwloc_obj_t device = nullptr;
         (device = hwloc_get_next_osdev(topology, device)) != nullptr;) {
        if (!device->name) continue;
        const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
        for (Nic& nic : nics)
            // A location that covers all NUMA nodes carries no information.
            if (nic.name == device->name && place && place->nodeset &&
                hwloc_bitmap_weight(place->nodeset) == 1)
                nic.numa = hwloc_bitmap_first(place->nodeset);
    }
}

// ---- Limits ----

std::optional<std::uint64_t> shm_free() {
    struct statvfs facts {};
    if (::statvfs("/dev/shm", &facts) != 0) return std::nullopt;
    return std::uint64_t(facts.f_bavail) * facts.f_frsize;
}

}  // namespace

int Host::usable_cores() const {
    const int all = int(cores.size());
    if (!quota || *quota >= all) return all;
    return std::max(1, int(std::ceil(*quota)));
}

int Host::hardware_threads() const {
    int count = 0;
    for (const Core& core : cores) count += int(core.cpus.size());
    return count;
}

Host discover_cores() {
    const Topology topology = init_topology();
    load_topology(topology);
    return cores_of(topology.get());
}

Host discover_host() {
    const Topology topology = init_topology();
    // Network devices are read from sysfs. The plugins would only look for graphics cards, and the
    // one for libpciaccess leaks memory.
    for (const char* plugin : {"pci", "opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"})
        hwloc_topology_set_components(topology.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      plugin);
    hwloc_topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    load_topology(topology);
    Host host = cores_of(topology.get());
    host.nics = read_nics();
    if (hwloc_topology_is_thissystem(topology.get())) add_locality(host.nics, topology.get());
    // hwloc adds up NUMA nodes, whose kernel files omit memory that was plugged in later.
    host.memory = hwloc_topology_is_thissystem(topology.get())
                      ? read_memory()
                      : Memory{hwloc_get_root_obj(topology.get())->total_memory, 0};
    host.lock_limit = memory_lock_limit();
    host.shm_free = shm_free();
    return host;
}

Host synthetic_host(const std::string& description, const CpuList& allowed) {
    const Topology topology = init_topology();
    if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0)
        throw HostError(fmt::format("hwloc rejects the description \"{}\"", description));
    load_topology(topology);
    Host host;
    host.name = "synthetic";
    const Bitmap mask = make_bitmap();
    if (allowed.empty()) hwloc_bitmap_fill(mask.get());
    for (int cpu : allowed) hwloc_bitmap_set(mask.get(), unsigned(cpu));
    add_cores(host, topology.get(), mask.get());
    host.memory.total = hwloc_get_root_obj(topology.get())->total_memory;
    return host;
}

Memory read_memory(const std::filesystem::path& root) {
    Memory memory;
    std::ifstream in(root / "proc/meminfo");
    std::string key, unit;
    for (std::uint64_t kibibytes = 0; in >> key >> kibibytes; std::getline(in, unit)) {
        if (key == "MemTotal:") memory.total = kibibytes << 10;
        if (key == "MemAvailable:") memory.available = kibibytes << 10;
    }
    return memory;
}

std::vector<Nic> read_nics(const std::filesystem::path& root) {
    const std::filesystem::path folder = root / "sys/class/net";
    constexpr int loopback = 772;  // ARPHRD_LOOPBACK
    std::vector<Nic> nics;
    for (const std::string& name : names_in(folder))
        // An entry without "type" (bonding_masters) is not a device.
        if (const auto type = read_number(folder / name / "type"); type && *type != loopback)
            nics.push_back(read_nic(folder / name, name));
    return nics;
}

}  // namespace torusmp::config
