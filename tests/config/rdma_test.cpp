// What this host has of RDMA: read from a made-up /sys, and the choice of a GID.
#include "config/rdma.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "config/settings.h"
#include "tests/config/temporary.h"

using namespace torusmp::config;
using Catch::Matchers::Contains;
using torusmp::test::TemporaryFolder;

namespace {

Address ip(const std::string& text) {
    const auto address = parse_address(text);
    REQUIRE(address);
    return *address;
}

RdmaGid gid(int index, const std::string& address, bool roce_v2 = true) {
    const Address from = ip(address);
    RdmaGid made;
    made.index = index;
    made.roce_v2 = roce_v2;
    made.bytes = from.bytes;
    if (!from.v6) {
        made.bytes = {};
        made.bytes[10] = made.bytes[11] = 0xff;
        std::copy_n(from.bytes.begin(), 4, made.bytes.begin() + 12);
    }
    return made;
}

RdmaPort good_port() {
    RdmaPort port;
    port.device = "rxe0";
    port.netdev = "enp1s0f1";
    port.active = true;
    port.state = "ACTIVE";
    port.mtu = port.max_mtu = 4096;
    port.link_layer = "Ethernet";
    port.gids = {gid(0, "fe80::1"), gid(1, "10.0.0.1"), gid(2, "10.0.0.1", false)};
    return port;
}

std::string refusal(const RdmaPort& port, const std::string& address, int wanted) {
    try {
        choose_gid(port, ip(address), wanted);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("The address of a GID is IPv4 where it maps one") {
    CHECK(gid(0, "fe80::1").address() == ip("fe80::1"));
    CHECK(gid(0, "10.0.0.1").address() == ip("10.0.0.1"));
    CHECK(gid(0, "::10.0.0.1").address().v6);
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

TEST_CASE("The GID of a link is RoCE v2 and that of its address, or of the wanted number") {
    const RdmaPort port = good_port();
    CHECK(choose_gid(port, ip("fe80::1/64"), -1).index == 0);
    CHECK(choose_gid(port, ip("10.0.0.1/30"), -1).index == 1);
    CHECK(choose_gid(port, ip("10.0.0.1/30"), 0).index == 0);
}

TEST_CASE("A GID that is not there is told with those that are") {
    RdmaPort port = good_port();
    CHECK_THAT(refusal(port, "10.0.0.1", 7),
               Contains("verbs.gid_index: found 7, but the RDMA device rxe0 of enp1s0f1 has the "
                        "RoCE v2 GIDs 0 (fe80::1) and 1 (10.0.0.1)"));
    CHECK_THAT(refusal(port, "10.0.0.1", 2), Contains("found 2"));  // RoCE v1
    CHECK_THAT(refusal(port, "10.0.0.9", -1),
               Contains("no RoCE v2 GID of the address 10.0.0.9, only 0 (fe80::1) and 1"));
    port.gids = {gid(0, "10.0.0.1", false)};
    CHECK_THAT(refusal(port, "10.0.0.1", -1), Contains("rxe0 of enp1s0f1 has no RoCE v2 GID:"));
}

TEST_CASE("The limit of locked memory is that of the process, or none") {
    struct rlimit limit {};
    REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    const auto found = memory_lock_limit();
    if (found) CHECK(*found == limit.rlim_cur);
    if (limit.rlim_cur == RLIM_INFINITY) CHECK_FALSE(found);
}
