// SPDX-License-Identifier: BSD-3-Clause
// Facts of hosts: their text, which is accepted only if complete, and the check of a machine.
#include "config/network.h"
#include "base/address.h"
#include "config/geometry.h"

#include <catch2/catch.hpp>
#include <random>

#include "tests/config/machine.h"

using namespace torusmp::config;
namespace base = torusmp::base;
using Catch::Matchers::Contains;
using namespace torusmp::test;

namespace {

std::vector<HostFacts> offering_ring(int size) {
    auto hosts = good_ring(size);
    for (HostFacts& facts : hosts)
        facts.offers = {{"carrier", {"pigeon 1 eth0 ACTIVE", "speed 25", "trouble it is asleep"}},
                        {"drum", {"skin 2"}}};
    return hosts;
}

}  // namespace

TEST_CASE("An address is read and printed, and knows its network") {
    CHECK(ip("10.0.0.1/30").with_prefix() == "10.0.0.1/30");
    CHECK(ip("fe80::1/64").text() == "fe80::1");
    CHECK(ip("10.0.0.1").prefix == 32);
    CHECK(ip("::1").prefix == 128);
    CHECK(ip("10.0.0.1/30").same_network(ip("10.0.0.2/30")));
    CHECK_FALSE(ip("10.0.0.1/30").same_network(ip("10.0.0.5/30")));
    CHECK_FALSE(ip("10.0.0.1/30").same_network(ip("10.0.0.2/24")));
    CHECK(ip("10.1.2.3/0").same_network(ip("99.1.2.3/0")));
    CHECK(ip("169.254.1.1/16").link_local());
    CHECK(ip("febf::1").link_local());
    CHECK_FALSE(ip("fec0::1").link_local());
    CHECK(ip("127.1.2.3").loopback());
    CHECK(ip("::1").loopback());
    for (const char* wrong : {"", "10.0.0", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/", "::g",
                              "::1/129", "10.0.0.1/8 ", "a", "/8"})
        CHECK_FALSE(base::parse_address(wrong));
}

TEST_CASE("The facts of a host are unchanged after formatting and parsing") {
    const HostFacts facts = this_host({}, true);
    CHECK(parse_facts(format_facts(facts)) == facts);
    const Device* lo = facts.find("lo");
    REQUIRE(lo);
    CHECK(lo->loopback);
    CHECK(lo->index > 0);
    CHECK(lo->mtu > 0);
    CHECK_FALSE(facts.name.empty());
    CHECK_FALSE(facts.identity.empty());
    CHECK(facts.identity == this_host().identity);

    for (HostFacts& made_up : offering_ring(3)) {
        made_up.lock_limit = 65536;
        CHECK(parse_facts(format_facts(made_up)) == made_up);
    }
    CHECK(parse_facts(format_facts(HostFacts{})) == HostFacts{});
}

TEST_CASE("Facts that were cut short anywhere are refused") {
    const std::string text = format_facts(offering_ring(2)[0]);
    for (std::size_t length = 0; length < text.size(); ++length)
        CHECK_THROWS_AS(parse_facts(text.substr(0, length)), ConfigError);
    CHECK_THROWS_AS(parse_facts(text + "x"), ConfigError);
}

TEST_CASE("Damaged facts are refused with the line, or read as facts that print the same") {
    const std::string text = format_facts(offering_ring(3)[1]);
    std::mt19937 random(1);
    const auto pick = [&](std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    for (int round = 0; round < 5000; ++round) {
        std::string damaged = text;
        for (std::size_t i = 0; i < 1 + pick(3); ++i)
            if (pick(2))
                damaged[pick(damaged.size())] = char(pick(256));
            else
                damaged.erase(pick(damaged.size()), pick(20));
        try {
            const HostFacts facts = parse_facts(damaged);
            CHECK(parse_facts(format_facts(facts)) == facts);
        } catch (const ConfigError& error) {
            CHECK_THAT(error.what(), Contains("cannot parse the facts that a host sent, at"));
        }
    }
}

TEST_CASE("A machine that matches its geometry file gives no message") {
    CHECK(Machine().check().empty());
    CHECK(Machine("[routing]\nforward = \"kernel\"\n").check().empty());
    Machine shared;  // only IPv6 will do as well
    for (HostFacts& host : shared.hosts)
        for (Device& device : host.devices)
            if (!device.loopback) device.addresses.erase(device.addresses.begin());
    CHECK(shared.check().empty());
}

TEST_CASE("A device that does not exist, is down or has no cable is named with its line") {
    Machine machine;
    machine.device(2, "eth1").name = "enp1";
    CHECK_THAT(machine.complaint(), Contains(machine.line(12)) && Contains("host c") &&
                                        Contains("eth1") && Contains("0-") &&
                                        Contains("eth0, enp1"));
    machine = Machine();
    machine.device(1, "eth0").up = machine.device(1, "eth0").carrier = false;
    CHECK_THAT(machine.complaint(), Contains(machine.line(11)) && Contains("host b") &&
                                        Contains("eth0") && Contains("is down"));
    machine = Machine();
    machine.device(1, "eth0").carrier = false;
    CHECK_THAT(machine.complaint(),
               Contains("host b") && Contains("no carrier") && Contains("to c"));
}

TEST_CASE("A device given for one host alone is named with the line of that host's table") {
    Machine machine("[links.\"c\"]\n\"0+\" = \"wlan7\"\n");
    CHECK_THAT(machine.complaint(),
               Contains(machine.line(14)) && Contains("host c") && Contains("wlan7"));
}

TEST_CASE("If the ends of a cable do not fit together, both ends are named") {
    Machine machine;
    machine.device(1, "eth1").addresses[0] = ip("10.0.77.2/30");
    CHECK_THAT(machine.complaint(), Contains("host a") && Contains("host b") &&
                                        Contains("10.0.0.1/30") && Contains("10.0.77.2/30") &&
                                        Contains("one network"));
    machine = Machine();
    machine.device(1, "eth1").addresses[0] = machine.device(0, "eth0").addresses[0];
    CHECK_THAT(machine.complaint(), Contains("host a") && Contains("one network"));
    machine = Machine();
    machine.device(1, "eth1").mtu = 1500;
    CHECK_THAT(machine.complaint(), Contains("MTU 9000") && Contains("1500") &&
                                        Contains("host a") && Contains("eth1 of host b"));
    machine = Machine();
    machine.device(0, "eth0").addresses.pop_back();
    machine.device(1, "eth1").addresses.erase(machine.device(1, "eth1").addresses.begin());
    CHECK_THAT(machine.complaint(), Contains("no kind of address in common"));
    machine = Machine();
    machine.device(3, "eth0").addresses.clear();
    CHECK_THAT(machine.complaint(),
               Contains("host d") && Contains("eth0") && Contains("no address"));
}

TEST_CASE("A link without a device, and hosts without any links, are found") {
    Machine machine;
    machine.forget_link("0-");
    const auto messages = machine.check();
    REQUIRE(messages.size() == 4);
    CHECK_THAT(messages[0], Contains("host a has a link 0- to d") && Contains("no device"));
    machine.settings.set(setting::links, {});
    CHECK_THAT(machine.complaint(), Contains("[links] is missing"));
}

TEST_CASE("One machine under two names is a host listed twice where both would use one device") {
    Machine machine;
    machine.host(3).identity = machine.host(1).identity;
    CHECK_THAT(machine.complaint(), Contains(machine.line(8)) && Contains("\"b\" and \"d\"") &&
                                        Contains("nodes 1 and 3") && Contains("eth0"));
    // Several nodes in one network namespace are fine if each has devices of its own.
    machine = Machine("[links.\"d\"]\n\"0+\" = \"eth2\"\n\"0-\" = \"eth3\"\n");
    machine.host(3).identity = machine.host(1).identity;
    machine.device(3, "eth0").name = "eth2";
    machine.device(3, "eth1").name = "eth3";
    CHECK(machine.check().empty());
}

TEST_CASE("A geometry file that differs on some host is reported, a missing one is not") {
    Machine machine;
    machine.host(1).geometry.clear();
    CHECK(machine.check().empty());
    machine.host(2).geometry = "fedcba9876543210";
    CHECK_THAT(machine.complaint(), Contains(machine.file.path()) && Contains("host c") &&
                                        Contains("fedcba9876543210") && Contains("differs"));
    // Without a hash of our own the hosts are compared with each other.
    CHECK(torusmp::transport::check_machine(machine.settings, machine.hosts, machine.locations)
              .size() == 1);
}

TEST_CASE("Routing by the kernel needs an address of each node and routes between all") {
    const std::string kernel = "[routing]\nforward = \"kernel\"\n";
    Machine machine(kernel);
    machine.host(1).routes.clear();
    CHECK_THAT(machine.complaint(), Contains(machine.line(6)) && Contains("host b") &&
                                        Contains("no route over its links to host d") &&
                                        Contains("10.255.0.4"));
    machine.host(1).routes = {{ip("0.0.0.0/0"), "eth0", ip("10.0.1.2")}};
    CHECK(machine.check().empty());
    machine.host(1).routes = {{ip("10.255.0.0/16"), "eth0", {}}};
    CHECK(machine.check().empty());
    machine.host(1).routes = {{ip("10.255.0.0/30"), "eth0", {}}};  // .1 to .3, and .4 is d
    CHECK_THAT(machine.complaint(), Contains("no route over its links to host d"));
    // One that leads out of the torus takes what has no route over the links.
    machine.host(1).routes = {{ip("0.0.0.0/0"), "wlan0", ip("192.168.0.1")}};
    CHECK_THAT(machine.complaint(),
               Contains("no route over its links to host d") &&
                   Contains("torus-info netplan --config " + machine.file.path() + " --apply"));
    // All in one line, wherever they are missing.
    machine.host(2).routes.clear();
    CHECK_THAT(machine.complaint(), Contains("on 2 hosts in total") && Contains("as root on b, c"));
    machine.host(1).routes_known = machine.host(2).routes_known = false;
    CHECK(machine.check().empty());
    CHECK(Machine().check().empty());  // the relay does not ask
}

TEST_CASE("Two cables between the same two nodes are each checked with their own devices") {
    TemporaryFile file(
        "[torus]\ndims = [2]\n[nodes]\nhosts = [\"a\", \"b\"]\n[links]\n\"0+\" = \"eth0\"\n"
        "\"0-\" = \"eth1\"\n");
    const Settings settings = load_file(file);
    auto hosts = good_ring(2);
    CHECK(torusmp::transport::check_machine(settings, hosts).empty());
    std::swap(hosts[1].devices[1].name, hosts[1].devices[2].name);
    CHECK(torusmp::transport::check_machine(settings, hosts).size() == 2);
}

TEST_CASE("Equal files have equal hashes, other files do not, and a missing file has no hash") {
    const TemporaryFile one("x = 1\n"), same("x = 1\n"), other("x = 2\n");
    CHECK(file_hash(one.path()) == file_hash(same.path()));
    CHECK(file_hash(one.path()) != file_hash(other.path()));
    CHECK(file_hash(one.path() + ".none").empty());
}
