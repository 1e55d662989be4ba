// SPDX-License-Identifier: BSD-3-Clause
// Binding plans of fictitious machines, and the facts read from fictitious trees of /proc and /sys.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "config/binding.h"
#include "config/host.h"
#include "tests/config/temporary.h"

using namespace torusmp::config;
using torusmp::test::TemporaryFolder;

namespace {

CpuList range(int first, int last) {
    CpuList cpus(std::size_t(last - first + 1));
    std::iota(cpus.begin(), cpus.end(), first);
    return cpus;
}

// Index of the core of a processor.
int core_of(const Host& host, int cpu) {
    for (std::size_t i = 0; i < host.cores.size(); ++i)
        if (std::count(host.cores[i].cpus.begin(), host.cores[i].cpus.end(), cpu)) return int(i);
    return -1;
}

// The numbers of ranks that may run on the busiest core and on the idlest core.
std::pair<int, int> load_of_cores(const Host& host, const std::vector<CpuList>& plan) {
    std::vector<int> load(host.cores.size());
    for (const CpuList& cpus : plan) {
        std::set<int> cores;
        for (int cpu : cpus) cores.insert(core_of(host, cpu));
        for (int core : cores) {
            REQUIRE(core >= 0);
            ++load[std::size_t(core)];
        }
    }
    const auto [low, high] = std::minmax_element(load.begin(), load.end());
    return {*low, *high};
}

}  // namespace

TEST_CASE("A made-up machine has the cores, threads and NUMA nodes of its description") {
    const Host host = synthetic_host("numa:2 core:4 pu:2");
    REQUIRE(host.cores.size() == 8);
    CHECK(host.hardware_threads() == 16);
    CHECK(host.numa_nodes.size() == 2);
    CHECK(host.cores[0].cpus == CpuList{0, 1});
    CHECK(host.cores[3].numa == 0);
    CHECK(host.cores[4].numa == 1);
    CHECK_THROWS_AS(synthetic_host("numa:zwei"), HostError);
}

TEST_CASE("Only cores that this process is allowed count, with the threads that are left") {
    const Host host = synthetic_host("numa:2 core:4 pu:2", {1, 2, 3, 9, 14});
    REQUIRE(host.cores.size() == 4);
    CHECK(host.cores_in_all == 8);
    CHECK(host.cores[0].cpus == CpuList{1});
    CHECK(host.cores[1].cpus == CpuList{2, 3});
    CHECK(host.cores[2].cpus == CpuList{9});
    CHECK(host.numa_nodes.size() == 2);
    CHECK(plan_binding(host, 4, Bind::automatic)[3] == CpuList{14});
    CHECK(plan_binding(host, 5, Bind::automatic)[3].empty());
}

TEST_CASE("A machine without known cores is bound to its hardware threads") {
    const Host host = synthetic_host("numa:1 pu:3");
    CHECK(plan_binding(host, 3, Bind::core) == std::vector<CpuList>{{0}, {1}, {2}});
}

TEST_CASE("Each rank gets a core of its own, with all its threads, before any is shared") {
    const Host host = synthetic_host("numa:2 core:4 pu:2");
    const auto plan = plan_binding(host, 8, Bind::core);
    CHECK(plan[0] == CpuList{0, 1});
    CHECK(plan[7] == CpuList{14, 15});
    CHECK(plan_binding(host, 2, Bind::core) == std::vector<CpuList>{{0, 1}, {2, 3}});
}

TEST_CASE("No two ranks share a core unless they outnumber the cores, on any machine") {
    for (const char* description :
         {"numa:1 core:1 pu:1", "numa:1 core:6 pu:2", "numa:2 core:4 pu:2",
          "pack:2 numa:2 core:3 pu:1", "numa:4 core:2 pu:4", "numa:3 core:5 pu:1"}) {
        const Host host = synthetic_host(description);
        const int cores = int(host.cores.size());
        for (int ranks = 1; ranks <= 3 * cores + 1; ++ranks) {
            CAPTURE(description, ranks);
            const auto plan = plan_binding(host, ranks, Bind::core);
            REQUIRE(plan.size() == std::size_t(ranks));
            const auto [idlest, busiest] = load_of_cores(host, plan);
            CHECK(busiest == (ranks + cores - 1) / cores);
            CHECK(idlest == (ranks >= cores ? ranks / cores : 0));
            const auto automatic = plan_binding(host, ranks, Bind::automatic);
            const bool bound = ranks > 1 && ranks <= cores;  // a rank that is alone is free
            CHECK(automatic == (bound ? plan : std::vector<CpuList>(std::size_t(ranks))));
            CHECK(plan_binding(host, ranks, Bind::none) ==
                  std::vector<CpuList>(std::size_t(ranks)));
        }
    }
}

TEST_CASE("Ranks that ask for several cores get adjacent ones of their own") {
    const Host host = synthetic_host("numa:2 core:4 pu:2");
    CHECK(plan_binding(host, 2, Bind::core, 3) == std::vector<CpuList>{range(0, 5), range(6, 11)});
    CHECK(plan_binding(host, 2, Bind::numa, 2) == std::vector<CpuList>{range(0, 3), range(8, 11)});
    CHECK(plan_binding(host, 4, Bind::automatic, 2)[3] == range(12, 15));
    CHECK(plan_binding(host, 4, Bind::automatic, 3)[3].empty());
    CHECK(plan_binding(host, 1, Bind::automatic, 2)[0].empty());
    CHECK(plan_binding(host, 1, policy_with(Bind::automatic, 2), 2)[0] == range(0, 3));
    CHECK(policy_with(Bind::automatic, 0) == Bind::automatic);
    CHECK(policy_with(Bind::numa, 2) == Bind::numa);
    for (int ranks = 1; ranks <= 8; ++ranks)
        for (int each = 1; each * ranks <= 8; ++each)
            for (const Bind policy : {Bind::core, Bind::numa}) {
                CAPTURE(ranks, each);
                const auto plan = plan_binding(host, ranks, policy, each);
                CHECK(load_of_cores(host, plan).second == 1);
                for (const CpuList& cpus : plan) CHECK(cpus.size() == std::size_t(2 * each));
            }
    // Too many: all cores are shared out.
    CHECK(plan_binding(host, 3, Bind::core, 4) ==
          std::vector<CpuList>{range(0, 3), range(4, 9), range(10, 15)});
    CHECK_THROWS_WITH(local_binding(2, Bind::core, 4000), Catch::Contains("launch.cpus_per_rank"));
}

TEST_CASE("Binding to NUMA nodes spreads the ranks evenly") {
    // 2 and 6 cores: the second node takes three ranks of four.
    const Host host = synthetic_host("numa:2 core:6 pu:1", {0, 1, 6, 7, 8, 9, 10, 11});
    for (int ranks = 1; ranks <= 20; ++ranks) {
        CAPTURE(ranks);
        const auto plan = plan_binding(host, ranks, Bind::numa);
        const auto first = std::count(plan.begin(), plan.end(), CpuList{0, 1});
        const auto second = std::count(plan.begin(), plan.end(), range(6, 11));
        REQUIRE(first + second == ranks);
        if (ranks <= 8) CHECK((first <= 2 && second <= 6));
        if (ranks % 4 == 0) CHECK(first * 4 == ranks);
    }
    const Host even = synthetic_host("numa:2 core:4 pu:2");
    CHECK(plan_binding(even, 2, Bind::numa) == std::vector<CpuList>{range(0, 7), range(8, 15)});
}

TEST_CASE("Ranks outnumber the cores if a cgroup grants less time than the cores have") {
    Host host = synthetic_host("numa:1 core:8 pu:1");
    host.quota = 2.5;
    CHECK(host.usable_cores() == 3);
    CHECK_FALSE(plan_binding(host, 3, Bind::automatic)[0].empty());
    CHECK(plan_binding(host, 4, Bind::automatic)[0].empty());
    host.quota = 0.2;
    CHECK(host.usable_cores() == 1);
    host.quota = 100;
    CHECK(host.usable_cores() == 8);
}

TEST_CASE("A plan without hosts has no ranks") {
    const Host host = synthetic_host("numa:1 core:2 pu:1");
    CHECK(plan_binding(host, 0, Bind::core).empty());
    CHECK(local_binding(0, Bind::automatic).empty());
}

TEST_CASE("Far more ranks than processors are left unbound on this machine") {
    const auto plan = local_binding(100000, Bind::automatic);
    CHECK(plan.size() == 100000);
    CHECK(plan.front().empty());
}

TEST_CASE("This machine has cores that this process may use, and a plan uses only these") {
    const Host host = discover_cores();
    REQUIRE_FALSE(host.cores.empty());
    const CpuList allowed = allowed_cpus();
    for (const CpuList& cpus : plan_binding(host, int(host.cores.size()), Bind::core))
        for (int cpu : cpus) CHECK(std::binary_search(allowed.begin(), allowed.end(), cpu));
}

TEST_CASE("A child sees the affinity that was set for it") {
    const CpuList allowed = allowed_cpus();
    REQUIRE_FALSE(allowed.empty());
    const CpuList wanted{allowed.back()};
    const pid_t child = ::fork();
    if (child == 0) ::_exit(Affinity(wanted).apply() == 0 && allowed_cpus() == wanted ? 0 : 1);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(allowed_cpus() == allowed);
    CHECK(Affinity({}).apply() == 0);
    CHECK(Affinity({100000}).apply() == EINVAL);
    CHECK_THROWS_AS(bind_this_process({100000}), HostError);
    CHECK(allowed_cpus() == allowed);
}

TEST_CASE("Processor lists are printed as the kernel prints them") {
    CHECK(describe_cpus({}) == "any");
    CHECK(describe_cpus({3}) == "3");
    CHECK(describe_cpus({0, 1, 2, 3, 8}) == "0-3,8");
    CHECK(describe_cpus({0, 2, 4, 5}) == "0,2,4-5");
}

TEST_CASE("The time that a cgroup grants is the tightest limit on the way to its top") {
    const TemporaryFolder root;
    CHECK_FALSE(cpu_quota(root.path()));
    root.write("proc/self/cgroup", "0::/jobs/mine\n");
    CHECK_FALSE(cpu_quota(root.path()));
    root.write("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
    CHECK_FALSE(cpu_quota(root.path()));
    root.write("sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
    CHECK(cpu_quota(root.path()) == 1.5);
    root.write("sys/fs/cgroup/jobs/mine/cpu.max", "400000 100000\n");
    CHECK(cpu_quota(root.path()) == 1.5);
    root.write("sys/fs/cgroup/jobs/mine/cpu.max", "50000 100000\n");
    CHECK(cpu_quota(root.path()) == 0.5);
    root.write("sys/fs/cgroup/jobs/mine/cpu.max", "rubbish");
    CHECK(cpu_quota(root.path()) == 1.5);
}

TEST_CASE("Version 1 of cgroups is supported, too, and the root cgroup of a container") {
    const TemporaryFolder root;
    root.write("proc/self/cgroup", "nonsense\n5:cpuset:/\n4:cpu,cpuacct:/docker/0123\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    CHECK_FALSE(cpu_quota(root.path()));
    root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
    CHECK(cpu_quota(root.path()) == 3.0);
}

TEST_CASE("Network devices are read with their facts, and loopback is not one of them") {
    const TemporaryFolder root;
    CHECK(read_nics(root.path()).empty());
    const auto put = [&](const std::string& name, const std::string& text) {
        root.write("sys/class/net/" + name, text);
    };
    put("lo/type", "772\n");
    put("bonding_masters", "\n");
    put("enp1s0f0/type", "1\n");
    put("enp1s0f0/operstate", "up\n");
    put("enp1s0f0/mtu", "9000\n");
    put("enp1s0f0/speed", "10000\n");
    put("enp1s0f0/device/numa_node", "1\n");
    put("enp1s0f0/device/infiniband/mlx5_0/x", "");
    put("veth3/type", "1\n");
    put("veth3/operstate", "down\n");
    put("veth3/mtu", "1500\n");
    put("veth3/speed", "-1\n");
    const std::vector<Nic> nics = read_nics(root.path());
    REQUIRE(nics.size() == 2);
    CHECK(nics[0].name == "enp1s0f0");
    CHECK(nics[0].hardware);
    CHECK(nics[0].up);
    CHECK(nics[0].mtu == 9000);
    CHECK(nics[0].megabits == 10000);
    CHECK(nics[0].numa == 1);
    CHECK(nics[0].rdma_devices == std::vector<std::string>{"mlx5_0"});
    CHECK_FALSE(nics[1].hardware);
    CHECK_FALSE(nics[1].up);
    CHECK_FALSE(nics[1].megabits);
    CHECK_FALSE(nics[1].numa);
}

TEST_CASE("Memory is the total of the kernel and the available part of it") {
    const TemporaryFolder folder;
    folder.write("proc/meminfo",
                 "MemTotal:       24683780 kB\nMemFree:         4001220 kB\n"
                 "MemAvailable:   21872640 kB\nHugePages_Total:       0\nHugetlb:  0 kB\n");
    const Memory memory = read_memory(folder.path());
    CHECK(memory.total == std::uint64_t(24683780) << 10);
    CHECK(memory.available == std::uint64_t(21872640) << 10);
    CHECK(read_memory(folder.path() / "nothing").total == 0);
}
