// SPDX-License-Identifier: BSD-3-Clause
// The RDMA devices of this host, read from a fictitious /sys, and the limit of locked memory.
#include "core/transport/verbs/rdma.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "config/memory_lock.h"
#include "tests/config/rdma_machine.h"

namespace rdma_test {

using namespace torusmp::config;
using namespace torusmp::transport::verbs;
using namespace torusmp::test;

TEST_CASE("The address of a GID is IPv4 if the GID maps one") {
    CHECK(make_gid(0, ip("fe80::1")).address() == ip("fe80::1"));
    CHECK(make_gid(0, ip("10.0.0.1")).address() == ip("10.0.0.1"));
    CHECK(make_gid(0, ip("::10.0.0.1")).address().v6);
}

TEST_CASE("RDMA ports are found in sysfs with their network device and state") {
    const TemporaryFolder root;
    CHECK(read_rdma_ports(root.path()).empty());
    const std::string folder = "sys/class/infiniband/";
    root.write(folder + "rxe0/ports/1/gid_attrs/ndevs/0", "enp1s0f1\n");
    root.write(folder + "rxe0/ports/1/state", "4: ACTIVE\n");
    root.write(folder + "rxe0/ports/1/link_layer", "Ethernet\n");
    root.write(folder + "mlx5_0/ports/1/state", "2: INIT\n");
    root.write(folder + "mlx5_0/ports/1/link_layer", "InfiniBand\n");
    root.write(folder + "mlx5_0/ports/2/state", "strange\n");
    root.write(folder + "mlx5_0/ports/2/gid_attrs/ndevs/0", "eth7\n");
    root.write(folder + "mlx5_0/ports/zwei/state", "4: ACTIVE\n");
    const auto ports = read_rdma_ports(root.path());
    REQUIRE(ports.size() == 3);
    CHECK(ports[0].device == "mlx5_0");
    CHECK(ports[0].netdev.empty());
    CHECK(ports[0].state == "INIT");
    CHECK_FALSE(ports[0].active);
    CHECK(ports[0].link_layer == "InfiniBand");
    CHECK(ports[1].port == 2);
    CHECK(ports[1].netdev == "eth7");
    CHECK(ports[1].state == "strange");
    CHECK(ports[2].device == "rxe0");
    CHECK(ports[2].port == 1);
    CHECK(ports[2].netdev == "enp1s0f1");
    CHECK(ports[2].active);
}

TEST_CASE("A network device that does not exist has no RDMA port") {
    CHECK_FALSE(rdma_port_of("no such device"));
    CHECK_FALSE(rdma_port_of(""));
}

TEST_CASE("The RoCE v2 GIDs of a port are listed with their numbers and addresses") {
    RdmaPort port = good_port(good_device("enp1s0f1", 2, 0, 0));
    port.gids.push_back(make_gid(2, ip("10.0.0.1"), false));
    CHECK(describe_gids(port) == "0 (fe80::1) and 1 (10.0.0.1)");
    port.gids.push_back(make_gid(3, ip("10.0.0.9")));
    CHECK(describe_gids(port) == "0 (fe80::1), 1 (10.0.0.1) and 3 (10.0.0.9)");
    port.gids = {make_gid(0, ip("10.0.0.1"), false)};
    CHECK(describe_gids(port) == "none");
}

TEST_CASE("The limit of locked memory is the limit of the process, or none") {
    struct rlimit limit {};
    REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    const auto found = memory_lock_limit();
    if (found) CHECK(*found == limit.rlim_cur);
    if (limit.rlim_cur == RLIM_INFINITY) CHECK_FALSE(found);

    // In a process of its own: lowered, with and without the right to pass it.
    const auto seen_by_child = [](std::uint64_t lowered, bool privileged) {
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            const struct rlimit low { lowered, lowered };
            __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
            __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
            if (::setrlimit(RLIMIT_MEMLOCK, &low) != 0 ||
                (!privileged && ::syscall(SYS_capset, &header, none) != 0))
                ::_exit(2);
            const auto seen = memory_lock_limit();
            ::_exit(seen == lowered ? 0 : !seen ? 3 : 4);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    CHECK(seen_by_child(4096, false) == 0);
    if (!found && limit.rlim_cur != RLIM_INFINITY) CHECK(seen_by_child(4096, true) == 3);
}

TEST_CASE("RDMA ports are unchanged after formatting and parsing, and other text is refused") {
    std::vector<RdmaPort> ports{good_port(good_device("eth0", 2, 0, 0)),
                                good_port(good_device("eth1", 3, 1, 1))};
    ports[1].trouble = "/dev/infiniband/uverbs1 is missing: start udev";
    ports[1].gids[0].roce_v2 = false;
    ports[1].state = "DOWN";
    ports[1].active = false;
    const std::vector<std::string> lines = format_ports(ports);
    CHECK(parse_ports(lines) == ports);
    CHECK(parse_ports({}).empty());
    const std::string port = lines[0], gid = lines[1];
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{gid},         // of no port
                                               {port, port},  // twice
                                               {port, gid + "00"},
                                               {port, gid + " more"},
                                               {port, "gid -1 v2 " + gid.substr(9)},
                                               {port, "gid 1 v3 " + gid.substr(9)},
                                               {port, "trouble  twice the blank"},
                                               {"rdma rxe0 1 eth0 ACTIVE 4096 4096"},
                                               {"rdma rxe0 one eth0 ACTIVE 4096 4096 Ethernet"},
                                               {"verbs please"},
                                               {""}})
        CHECK_THROWS_AS(parse_ports(wrong), ConfigError);
}

}  // namespace rdma_test
