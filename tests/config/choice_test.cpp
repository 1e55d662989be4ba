// SPDX-License-Identifier: BSD-3-Clause
// The choice of a transport for a link: the rule on fictitious facts, the check of a machine that
// requests RDMA, and the notes on RDMA that is present but not used.
#include "core/transport/choice.h"
#include "config/geometry.h"
#include "core/settings.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/transport/list.h"
#include "core/transport/machine.h"
#include "core/transport/verbs/probe.h"
#include "tests/config/rdma_machine.h"

namespace choice_test {

using namespace torusmp;
using namespace torusmp::config;
namespace core = torusmp::core;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using test::ip;
using Machine = test::RdmaMachine;
using transport::choose_forwarded;
using transport::choose_link;
using transport::LinkChoice;
using transport::machine_notes;
using transport::parse_facts;
using transport::verbs::locked_memory_needed;
using transport::verbs::RdmaGid;

namespace {

const std::string verbs = "[transport]\nuse = \"verbs\"\n";
constexpr transport::Placement one_host{.one_host = true};
constexpr transport::Placement crowd{.shares_cores = true};

void forbid_frames(Machine& machine, int node) {
    machine.host(node).offers["ethernet"] = {"sockets none"};
}

// The link from b to c, by what each of them reported, seen from either side.
LinkChoice choose(Machine& machine, transport::Placement placement = {}) {
    const HostFacts b = parse_facts(format_facts(machine.facts_of(1)));
    const HostFacts c = parse_facts(format_facts(machine.facts_of(2)));
    const CableEnd up{1, {0, +1}, &b}, down{2, {0, -1}, &c};
    const LinkChoice here = choose_link(machine.settings, up, down, placement);
    const LinkChoice there = choose_link(machine.settings, down, up, placement);
    CHECK(here.carrier == there.carrier);
    CHECK(here.reason == there.reason);
    CHECK(here.warning == there.warning);
    CHECK(here.advice == there.advice);
    return here;
}

std::string refusal(Machine& machine, transport::Placement placement = {}) {
    try {
        choose(machine, placement);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("A link uses shared memory on one host, verbs if both ends can, or else frames") {
    Machine machine("", true);
    LinkChoice choice = choose(machine);
    CHECK(choice.carrier->name == "verbs");
    CHECK(choice.reason == "rxe_eth0 (10.0.1.1, MTU 4096) and rxe_eth1 (10.0.1.2, MTU 4096)");
    CHECK(choice.warning.empty());
    CHECK(choose(machine, one_host).carrier->name == "shm");
    Machine without;
    choice = choose(without);
    CHECK(choice.carrier->name == "ethernet");
    CHECK(choice.reason == "frames between eth0 of b and eth1 of c");
    CHECK(choice.advice.empty());
}

TEST_CASE(
    "A transport better than TCP is checked before it is used, although it needs no devices") {
    struct OnlyOnB final : transport::Probe {
        std::optional<transport::Trouble> trouble(const Settings& settings,
                                                  const CableEnd& end) const override {
            if (end.node == 1) return std::nullopt;
            return transport::Trouble{host_of(settings, end) + " has no tunnel", ""};
        }
        std::optional<transport::Trouble> trouble_forwarded(const Settings& settings,
                                                            const CableEnd& end) const override {
            return trouble(settings, end);
        }
        std::string reason(const Settings& /*settings*/, const CableEnd& /*one*/,
                           const CableEnd& /*other*/) const override {
            return "both have a tunnel";
        }
    };
    const OnlyOnB only_on_b;
    const transport::Probe everywhere;
    const transport::Descriptor& tcp = transport::fallback_transport();
    const transport::Descriptor tunnel{.name = "tunnel",
                                       .title = "tunnels",
                                       .help = "",
                                       .rank = tcp.rank + 1,
                                       .capabilities = tcp.capabilities,
                                       .probe = only_on_b,
                                       .settings = tcp.settings,
                                       .make = tcp.make},
        open{.name = "open",
             .title = "open tunnels",
             .help = "",
             .rank = tcp.rank + 1,
             .capabilities = tcp.capabilities,
             .probe = everywhere,
             .settings = tcp.settings,
             .make = tcp.make};
    Machine machine;
    const HostFacts b = machine.facts_of(1), c = machine.facts_of(2);
    const CableEnd up{1, {0, +1}, &b}, down{2, {0, -1}, &c};
    const std::vector<const transport::Descriptor*> refused{&tunnel, &tcp}, taken{&open, &tcp};
    CHECK(choose_link(machine.settings, up, down, {}, refused).carrier == &tcp);
    CHECK(choose_link(machine.settings, up, down, {}, refused).reason == "c has no tunnel");
    CHECK(choose_forwarded(machine.settings, up, down, {}, refused).carrier == &tcp);
    CHECK(choose_link(machine.settings, up, down, {}, taken).carrier == &open);
    CHECK(choose_forwarded(machine.settings, up, down, {}, taken).carrier == &open);
    // The transport that carries every link needs no facts of the other end.
    const CableEnd unknown{2, {0, -1}, nullptr};
    CHECK(choose_forwarded(machine.settings, up, unknown, {}, taken).carrier == &tcp);
}

TEST_CASE("Frames are not used if an end may not send them, or if ranks share cores") {
    for (const int node : {1, 2}) {
        Machine machine;
        forbid_frames(machine, node);
        const LinkChoice choice = choose(machine);
        CHECK(choice.carrier->name == "tcp");
        const std::string why =
            fmt::format("ranks on {} may not send raw Ethernet frames", machine.host(node).name);
        CHECK(choice.reason == "eth0 of b has no RDMA device; " + why);
        CHECK_THAT(choice.advice, StartsWith(why) && Contains("setcap cap_net_raw=ep"));
        CHECK(choice.warning.empty());
        machine.device(node, node == 1 ? "eth0" : "eth1").mac.clear();
        CHECK(choose(machine).carrier->name == "tcp");
        CHECK_THAT(choose(machine).reason, Contains("is not an Ethernet device"));
        CHECK(choose(machine).advice.empty());
    }
    Machine machine, rdma("", true), asked("[transport]\nuse = \"ethernet\"\n");
    CHECK(choose(machine, crowd).carrier->name == "tcp");
    CHECK_THAT(choose(machine, crowd).reason, Contains("ranks that do not share processors"));
    CHECK(choose(machine, crowd).advice.empty());
    CHECK(choose(rdma, crowd).carrier->name == "verbs");
    CHECK(choose(asked, crowd).carrier->name == "ethernet");
}

TEST_CASE("The transport of the settings is used, even if others are available") {
    Machine tcp("[transport]\nuse = \"tcp\"\n", true);
    CHECK(choose(tcp).carrier->name == "tcp");
    CHECK(choose(tcp, one_host).carrier->name == "tcp");
    Machine asked(verbs, true);
    CHECK(choose(asked).carrier->name == "verbs");
    CHECK(choose(asked, one_host).carrier->name == "verbs");
    Machine shm("[transport]\nuse = \"shm\"\n", true);
    CHECK(choose(shm, one_host).carrier->name == "shm");
    CHECK_THAT(refusal(shm),
               Contains("link 0+ of b to c (eth0 to eth1)") && Contains("it joins two hosts"));
}

TEST_CASE("Between nodes without a common cable verbs need addresses that can be routed to") {
    const auto choose_far = [](Machine& machine) {
        const HostFacts a = parse_facts(format_facts(machine.facts_of(0)));
        const HostFacts c = parse_facts(format_facts(machine.facts_of(2)));
        const CableEnd out{0, {0, +1}, &a}, in{2, {0, -1}, &c};
        const LinkChoice choice = choose_forwarded(machine.settings, out, in);
        const LinkChoice back = choose_forwarded(machine.settings, in, out);
        CHECK(choice.carrier == back.carrier);
        CHECK(choice.reason == back.reason);
        return choice;
    };
    const auto only_link_local = [](Machine& machine) { machine.port(2, "eth1").gids.pop_back(); };
    Machine both("", true);
    CHECK(choose_far(both).carrier->name == "verbs");
    only_link_local(both);
    CHECK(choose_far(both).carrier->name == "tcp");
    CHECK(choose_far(both).reason ==
          "eth1 of c has no routable RoCE v2 GID (it has fe80::2/64); a does not forward frames");
    Machine none;
    CHECK(choose_far(none).reason == "eth0 of a has no RDMA device; a does not forward frames");
    Machine asked(verbs, true);
    CHECK(choose_far(asked).carrier->name == "verbs");
    only_link_local(asked);
    CHECK_THROWS_WITH(choose_far(asked), Contains("between a and c eth1 of c has no routable RoCE "
                                                  "v2 GID") &&
                                             Contains("torus-info netplan"));
    const CableEnd gone{0, {0, +1}, nullptr}, other{2, {0, -1}, nullptr};
    CHECK(choose_forwarded(none.settings, gone, other).reason == "a reported nothing");
}

TEST_CASE(
    "Verbs are not used if an end does not have them, which is an error if the settings ask for "
    "them") {
    struct Trial {
        std::function<void(Machine&)> damage;
        std::string found, remedy;
    };
    const std::vector<Trial> trials{
        {[](Machine& m) { m.rdma(2).pop_back(); }, "eth1 of c has no RDMA device",
         "rdma link add rxe_eth1 type rxe netdev eth1"},
        {[](Machine& m) {
             m.port(1, "eth0").state = "DOWN";
             m.port(1, "eth0").active = false;
         },
         "the RDMA device rxe_eth0 of eth0 of b is DOWN, not ACTIVE", "ip link set eth0 up"},
        {[](Machine& m) {
             m.port(2, "eth1").trouble = "/dev/infiniband/uverbs0 is missing";
             m.port(2, "eth1").gids.clear();
         },
         "the RDMA device rxe_eth1 of eth1 of c cannot be used: /dev/infiniband/uverbs0 is missing",
         ""},
        {[](Machine& m) { m.port(2, "eth1").gids.clear(); },
         "the RDMA device rxe_eth1 of eth1 of c has no RoCE v2 GID", ""},
        {[](Machine& m) {
             for (RdmaGid& gid : m.port(2, "eth1").gids) gid.roce_v2 = false;
         },
         "the RDMA device rxe_eth1 of eth1 of c has no RoCE v2 GID", ""},
        {[](Machine& m) { m.device(2, "eth1").addresses = {ip("10.9.9.9/24")}; },
         "the RoCE v2 GIDs of eth1 of c (rxe_eth1), 0 (fe80::2) and 1 (10.0.1.2), are not among "
         "its addresses",
         "give eth1 an IPv4 address"},
        {[](Machine& m) {
             m.port(1, "eth0").gids.pop_back();                             // IPv6 only
             m.port(2, "eth1").gids.erase(m.port(2, "eth1").gids.begin());  // IPv4 only
         },
         "the RoCE v2 GIDs of eth0 of b (fe80::1/64) and eth1 of c (10.0.1.2/30) are not in a "
         "common network",
         "torus-info netplan"},
        {[](Machine& m) { m.device(1, "eth0").name = "eth9"; }, "b has no device eth0", ""},
        {[](Machine& m) { m.forget_link("0-"); }, "[links] has no device for link 0- of c",
         "add the device"},
    };
    for (const Trial& trial : trials) {
        INFO(trial.found);
        Machine automatic("", true), asked(verbs, true);
        trial.damage(automatic);
        trial.damage(asked);
        const LinkChoice choice = choose(automatic, crowd);
        CHECK(choice.carrier->name == "tcp");
        CHECK_THAT(choice.reason, StartsWith(trial.found));
        const std::string message = refusal(asked);
        CHECK_THAT(message, StartsWith("link 0+ of b to c (eth0 to ") &&
                                Contains("transport.use is verbs (" +
                                         asked.line(14).substr(0, asked.line(14).size() - 1) +
                                         "), but " + trial.found) &&
                                Contains(trial.remedy) && Contains("or set transport.use to auto"));
    }
}

TEST_CASE(
    "Link-local GIDs are used if both ends have no others, and the GID of the settings has "
    "priority") {
    Machine machine("", true);
    for (const auto& [node, netdev] : {std::pair(1, "eth0"), std::pair(2, "eth1")}) {
        machine.device(node, netdev)
            .addresses.erase(machine.device(node, netdev).addresses.begin());
        machine.port(node, netdev).gids.pop_back();
    }
    CHECK(choose(machine).reason ==
          "rxe_eth0 (fe80::1, MTU 4096) and rxe_eth1 (fe80::2, MTU 4096)");

    Machine wanted("[verbs]\ngid_index = 0\n", true);
    CHECK_THAT(choose(wanted).reason, Contains("fe80::1") && Contains("fe80::2"));
    Machine wrong(verbs + "[verbs]\ngid_index = 7\n", true);
    CHECK_THAT(
        refusal(wrong),
        Contains("verbs.gid_index: found 7, but the RDMA device rxe_eth0 of eth0 of b has the "
                 "RoCE v2 GIDs 0 (fe80::1) and 1 (10.0.1.1): expected one of these, or auto"));
}

TEST_CASE("RDMA MTUs that differ work, with a warning that names both and the remedy") {
    Machine machine("", true);
    machine.port(2, "eth1").mtu = 1024;
    const LinkChoice choice = choose(machine);
    CHECK(choice.carrier->name == "verbs");
    CHECK_THAT(choice.warning, Contains("link 0+ of b to c") &&
                                   Contains("eth0 of b (rxe_eth0) is 4096") &&
                                   Contains("eth1 of c (rxe_eth1) 1024") &&
                                   Contains("both use 1024") && Contains("ip link set eth1 mtu"));
}

TEST_CASE(
    "With too little lockable memory at one end frames are used, or verbs if the settings ask for "
    "them") {
    Machine machine("", true), asked(verbs, true);
    for (Machine* each : {&machine, &asked}) each->host(2).lock_limit = 8 << 20;
    const LinkChoice choice = choose(machine);
    CHECK(choice.carrier->name == "ethernet");
    CHECK_THAT(choose(machine, crowd).reason,
               StartsWith("c lets a process lock 8MiB of memory, and verbs needs 64MiB"));
    CHECK_THAT(choice.warning, Contains("limits.conf") && Contains("LimitMEMLOCK=infinity"));
    CHECK(choose(asked).carrier->name == "verbs");
    machine.host(2).lock_limit = 64 << 20;
    CHECK(choose(machine).carrier->name == "verbs");
    // More links, on more devices, need more: about 18 MiB of slots with each of six.
    CHECK(locked_memory_needed(machine.settings) == 64 << 20);
    machine.settings.set(setting::dims, {2, 2, 2});
    CHECK(locked_memory_needed(machine.settings) == 125 << 20);
    machine.settings.set(core::setting::eager_limit, 1024);
    CHECK(locked_memory_needed(machine.settings) == 64 << 20);
}

TEST_CASE("If the facts of an end are unknown, the reason names the missing fact") {
    Machine machine("", true), without;
    const auto half = [](Machine& m) {
        const HostFacts facts = m.facts_of(1);
        return choose_link(m.settings, {1, {0, +1}, &facts}, {2, {0, -1}, nullptr});
    };
    CHECK(half(machine).carrier->name == "verbs");
    CHECK(half(machine).reason ==
          "rxe_eth0 (10.0.1.1/30, fe80::1/64, MTU 4096), if eth1 of c has RDMA too, which was not "
          "asked");
    CHECK(half(without).carrier->name == "ethernet");
    CHECK(half(without).reason ==
          "frames between eth0 of b and eth1 of c, if ranks may send them there, which was not "
          "asked");
}

TEST_CASE("A rank reports only the devices of its links") {
    Machine machine;
    machine.settings.set(setting::links, {{"0+", "lo"}, {"0-", "no-such-device"}});
    const HostFacts facts =
        parse_facts(format_facts(transport::facts_of_links(machine.settings, 1)));
    REQUIRE(facts.devices.size() == 1);
    CHECK(facts.devices[0].name == "lo");
    CHECK(facts.offers.count("verbs") == 0);
    machine.settings.set(setting::links, {});
    CHECK(
        parse_facts(format_facts(transport::facts_of_links(machine.settings, 1))).devices.empty());
    CHECK_THROWS_AS(parse_facts("verbs please"), ConfigError);
}

TEST_CASE("The check of a machine that asks for verbs names each link that has none") {
    CHECK(Machine(verbs, true).check().empty());
    CHECK(Machine(verbs).check().size() == 4);
    Machine machine(verbs, true);
    machine.rdma(2).pop_back();
    CHECK_THAT(machine.complaint(), StartsWith(machine.line(11)) &&
                                        Contains("link 0+ of b to c (eth0 to eth1)") &&
                                        Contains("eth1 of c has no RDMA device"));
    Machine automatic("", true);  // takes frames there, and says so
    automatic.rdma(2).pop_back();
    CHECK(automatic.check().empty());
}

TEST_CASE("Notes name what is present but not used, once for each kind") {
    CHECK(machine_notes(Machine().settings, Machine().reported_facts()).empty());
    Machine machine("", true);
    CHECK(machine_notes(machine.settings, machine.reported_facts()).empty());
    machine.rdma(2).pop_back();
    CHECK_THAT(
        machine.note(),
        Contains("link 0+ of b to c (eth0 to eth1) uses Ethernet frames instead of RDMA: ") &&
            Contains("eth1 of c has no RDMA device") && Contains("rdma link add rxe_eth1"));
    machine.rdma(2).clear();
    CHECK_THAT(machine.note(), Contains("(and 1 more like this)"));
    machine = Machine("", true);
    machine.port(3, "eth0").mtu = 2048;
    CHECK_THAT(machine.note(), Contains("link 0+ of d to a") && Contains("both use 2048"));
    machine = Machine("", true);
    machine.host(0).lock_limit = 65536;
    CHECK_THAT(machine.note(), Contains("host a lets a process lock 64KiB") && Contains("64MiB") &&
                                   Contains("limits.conf"));
    machine = Machine("", true);
    machine.port(1, "eth0").gids.pop_back();
    machine.port(2, "eth1").gids.erase(machine.port(2, "eth1").gids.begin());
    CHECK_THAT(machine.note(), Contains("uses Ethernet frames instead of RDMA: the RoCE v2 "
                                        "GIDs of eth0 of b") &&
                                   Contains("are not in a common network"));
    machine = Machine();
    forbid_frames(machine, 2);
    CHECK_THAT(machine.note(),
               StartsWith("link 0+ of b to c (eth0 to eth1) uses TCP instead of Ethernet frames: "
                          "ranks on c may not") &&
                   Contains("setcap cap_net_raw=ep") && Contains("(and 1 more like this)"));
    machine = Machine("", true);  // RDMA is better still
    forbid_frames(machine, 2);
    CHECK(machine_notes(machine.settings, machine.reported_facts()).empty());
    machine = Machine("[transport]\nuse = \"tcp\"\n", true);
    machine.rdma(2).clear();
    forbid_frames(machine, 2);
    CHECK(machine_notes(machine.settings, machine.reported_facts()).empty());
}

}  // namespace choice_test
