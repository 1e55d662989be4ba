#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-check finds the faults of cables: torus_check_test.py SOURCE TORUS_CHECK TORUS_INFO [CLASS]."""
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from check_testbed import AGENT, CheckTest, tool, main  # noqa: E402


class GoodTestbeds(CheckTest):
    def test_every_cable_is_good_and_the_verdict_is_one_line(self):
        self.up("2x2x2")
        self.assertEqual(self.check().stdout, "8 hosts, 24 cables: all are good\n")
        shown = self.check("--all").stdout
        self.assertEqual(len(re.findall(r"  good  +[0-9.]+ MB/s, [0-9.]+ back\n", shown)), 24)
        report, bad = self.judged(0)
        self.assertTrue(report["good"])
        self.assertEqual(len(report["cables"]), 24)
        self.assertEqual(bad, {})

    def test_an_open_mesh_with_shaped_links_is_good(self):
        self.up("3x2", "--open", "0", "--mbit", "100", open_dims=[0])
        self.assertEqual(self.check().stdout, "6 hosts, 10 cables: all are good\n")

    def test_links_without_ipv6_are_tested_by_broadcast(self):
        self.up("3")
        self.everywhere("for d in d0p d0m; do echo 1 > /proc/sys/net/ipv6/conf/$d/disable_ipv6; done")
        self.assertEqual(self.check().stdout, "3 hosts, 3 cables: all are good\n")
        tool("set", self.testbed, "1", "0+", "loss", "100")
        _, bad = self.judged()
        self.assertEqual([fault for fault, _ in bad[1, "d0p"]], ["lossy"])

    def test_links_with_link_local_addresses_only_are_tested(self):
        self.up("2x2", "--ipv6-only", ipv4=False)
        self.assertEqual(self.check().stdout, "4 hosts, 8 cables: all are good\n")


class Cables(CheckTest):
    def test_swapped_cables_name_each_other(self):
        self.up("3x2")
        far_a, far_b = self.plan.peer(0, "d0p"), self.plan.peer(4, "d1p")
        tool("swap", self.testbed, "0:0+", "4:1+")
        _, bad = self.judged()
        self.assertEqual(sorted(bad), [(0, "d0p"), (4, "d1p")])
        for (node, device), far, partner in (((0, "d0p"), far_b, (4, "d1p")), ((4, "d1p"), far_a, (0, "d0p"))):
            (fault, text), = bad[node, device]
            self.assertEqual(fault, "swapped")
            self.assertIn(f"leads to {self.plan.host(far[0])} {far[1]}", text)
            self.assertIn(f"exchange it with the cable from {self.plan.host(partner[0])} {partner[1]}", text)
        tool("swap", self.testbed, "0:0+", "4:1+")
        self.check()

    def test_two_cables_exchanged_at_one_host_are_crossed(self):
        self.up("4x3")
        self.assertEqual(self.plan.peer(1, "d0p")[0], self.plan.peer(3, "d1p")[0])
        tool("swap", self.testbed, "1:0+", "3:1+")   # both lead to node 4
        _, bad = self.judged()
        self.assertEqual({end: [fault for fault, _ in found] for end, found in bad.items()},
                         {(1, "d0p"): ["crossed"], (3, "d1p"): ["crossed"]})

    def test_a_device_that_is_down_or_gone_is_a_missing_cable(self):
        self.up("3x2")
        tool("cut", self.testbed, "2:1+")
        subprocess.run(["ip", "-n", self.plan.host(0), "link", "del", "d0p"], check=True)
        report, bad = self.judged()
        self.assertEqual(sorted(bad), [(0, "d0p"), (2, "d1p")])
        self.assertEqual({fault for found in bad.values() for fault, _ in found}, {"missing"})
        self.assertIn("is down", bad[2, "d1p"][0][1])
        self.assertIn("has no device d0p", bad[0, "d0p"][0][1])
        self.assertTrue(report["verdict"].endswith("2 missing; jobs use detours around them"), report["verdict"])
        with open(self.geometry) as f:
            line = next(i for i, text in enumerate(f, 1) if text.startswith('"0+"'))
        self.assertTrue(any(f"{self.geometry}:{line}: host {self.plan.host(0)}: device d0p" in message
                            for message in report["messages"]), report["messages"])

    def test_a_small_mtu_is_found_at_its_end_and_by_packets_that_do_not_arrive(self):
        self.up("3x2")
        tool("set", self.testbed, "1", "0+", "mtu", "1500")
        _, bad = self.judged()
        (end, found), = bad.items()
        self.assertEqual(end, (1, "d0p"))
        self.assertEqual({fault for fault, _ in found}, {"small MTU"})
        self.assertTrue(any("has MTU 1500, expected 9000" in text for _, text in found))
        self.assertTrue(any("no packet of 9000 bytes arrives" in text for _, text in found))

    def test_loss_is_seen_with_its_direction(self):
        self.up("3x2")
        tool("set", self.testbed, "1", "0+", "loss", "40")
        _, bad = self.judged()
        (end, found), = bad.items()
        self.assertEqual(end, (1, "d0p"))
        self.assertEqual({fault for fault, _ in found}, {"lossy"})
        peer = self.plan.peer(1, "d0p")
        for _, text in found:
            self.assertIn(f"from {self.plan.host(peer[0])} {peer[1]} (0-) to {self.plan.host(1)} d0p (0+)", text)

    def test_cables_in_a_switch_are_shared(self):
        self.up("3")
        with open(self.geometry) as f:
            text = f.read().replace('"0-" = "d0m"', '"0-" = "mgmt"')
        config = self.path("switched.toml")
        with open(config, "w") as f:
            f.write(text)
        done = self.check(config=config, status=1).stdout
        self.assertIn("shared", done)
        self.assertIn("switch", done)

    def test_addresses_of_the_wrong_network_are_found_though_the_cable_is_good(self):
        self.up("3")
        host = self.plan.host(0)
        subprocess.run(["ip", "-n", host, "addr", "flush", "dev", "d0p", "scope", "global"], check=True)
        subprocess.run(["ip", "-n", host, "addr", "add", "10.99.0.1/30", "dev", "d0p"], check=True)
        report, bad = self.judged()
        self.assertEqual(bad, {})
        message, = report["messages"]
        self.assertIn("10.99.0.1/30", message)
        self.assertIn("one network", message)


class Firewall(CheckTest):
    def block(self, node, rule, hook="input"):
        """A firewall on a host, by nftables."""
        if not shutil.which("nft"):
            self.skipTest("nft is not installed")
        rules = f"table inet wall {{ chain wall {{ type filter hook {hook} priority 0; policy accept; {rule}; }}; }}"
        subprocess.run(["ip", "netns", "exec", self.plan.host(node), "nft", rules], check=True)

    def advice(self, device):
        return (f'Allow all packets on {device} there, for example with "iptables -I INPUT -i {device} -j ACCEPT" and the '
                'same with ip6tables')

    def seen(self, node, device):
        return (f"ackets arrive at {self.plan.host(node)} {device}, but its kernel does not deliver them: a firewall of "
                f"{self.plan.host(node)} seems to block UDP. {self.advice(device)}")

    def test_a_host_that_drops_all_packets_is_named_for_each_of_its_cables(self):
        self.up("4")
        self.block(1, "iifname != { lo, mgmt } drop")
        _, bad = self.judged()
        self.assertEqual({end: [fault for fault, _ in found] for end, found in bad.items()},
                         {(0, "d0p"): ["lossy"], (1, "d0p"): ["lossy"]})
        self.assertIn(self.seen(1, "d0m"), bad[0, "d0p"][0][1])
        self.assertIn(self.seen(1, "d0p"), bad[1, "d0p"][0][1])
        done = self.check("--discover", self.path("found"), "--hosts", ",".join(map(self.plan.host, self.plan.nodes())),
                          "--agent", AGENT, "--devices", "d*", status=None, config="")
        for device in ("d0m", "d0p"):
            self.assertIn(self.seen(1, device), done.stderr)
        self.assertEqual(done.stderr.count("a firewall"), 2, done.stderr)

    def test_ports_of_tcp_and_addresses_of_the_torus_are_tested(self):
        refused, silent = "TCP cannot connect: Connection refused", "TCP cannot connect: no answer"
        this = lambda self: f"a firewall of {self.plan.host(2)} blocks TCP. {self.advice('d0m')}"
        # Answers are dropped as well: either end may be the one that drops.
        either = lambda self: f"a firewall of {self.plan.host(2)} or {self.plan.host(1)} blocks TCP"
        for rule, expected, blames in (("ip protocol tcp reject with tcp reset", refused, this),
                                       ("tcp flags & (syn | ack) == syn drop", silent, this),
                                       ("ip daddr 10.0.0.0/9 ip protocol tcp drop", silent, either)):
            self.up("3")
            self.block(2, f"iifname d0m {rule}")
            _, bad = self.judged()
            self.assertEqual(list(bad), [(1, "d0p")])
            (fault, text), = bad[1, "d0p"]
            self.assertEqual(fault, "blocked")
            self.assertIn(expected, text)
            self.assertIn(blames(self), text)

    def test_packets_that_may_not_be_sent_are_reported(self):
        self.up("3")
        self.block(0, "oifname d0p ip protocol udp drop; oifname d0p ip6 nexthdr udp drop", "output")
        _, bad = self.judged()
        self.assertIn("cannot send: Operation not permitted", bad[0, "d0p"][0][1])


class Speed(CheckTest):
    def test_slow_lossy_and_half_dead_cables_are_named_with_their_direction_and_no_others(self):
        for dims in ("2x2x2", "3x3x2"):
            with self.subTest(dims):
                self.up(dims)
                self.assertIn("all are good", self.check().stdout)
                tool("set", self.testbed, "3", "d0p", "rate", "20")
                tool("set", self.testbed, "4", "d1m", "rate", "200")
                tool("set", self.testbed, "1", "d2p", "loss", "5")
                tool("set", self.testbed, "5", "d0p", "loss", "100")
                _, bad = self.judged()
                # A cable goes by the end that it leaves upwards.
                expected = {}
                for node, device, fault in ((3, "d0p", "slow"), (4, "d1m", "slow"), (1, "d2p", "lossy"),
                                            (5, "d0p", "lossy")):
                    end = (node, device) if device.endswith("p") else tuple(self.plan.peer(node, device))
                    expected[end] = [fault]
                self.assertEqual({end: [fault for fault, _ in found] for end, found in bad.items()}, expected)
                peer = self.plan.peer(3, "d0p")
                self.assertRegex(bad[3, "d0p"][0][1], r"^[0-9.]+ MB/s, similar cables [0-9]+ MB/s from "
                                 f"{self.plan.host(3)} d0p .* to {self.plan.host(peer[0])} d0m ")
                self.assertIn("only this direction is dead", bad[5, "d0p"][0][1])
                tool("heal", self.testbed)
                self.check()

    def test_half_of_the_rate_is_slow_where_all_are_shaped(self):
        self.up("2x2x2", "--mbit", "200")
        self.check()
        tool("set", self.testbed, "6", "d1p", "rate", "100")
        _, bad = self.judged()
        self.assertEqual({end: [fault for fault, _ in found] for end, found in bad.items()}, {(6, "d1p"): ["slow"]})

    def test_rates_are_reported_for_good_cables_as_well(self):
        self.up("3")
        report, _ = self.judged(0)
        for cable in report["cables"]:
            for way in ("forth", "back"):
                self.assertGreater(cable[way]["megabytes_per_second"], 1)
                self.assertGreater(cable[way]["round_trip_us"], 0)
        self.assertRegex(self.check("--all").stdout, r"good +[0-9.]+ MB/s, [0-9.]+ back\n")


class NoManagement(CheckTest):
    def test_all_faults_are_named_through_the_torus_and_nothing_is_left(self):
        for dims in ("2x2x2", "3x3x2"):
            with self.subTest(dims):
                self.up(dims, "--no-management", "--no-routes", "--ipv6-only", ipv4=False, management=False)
                through = self.only_through_the_torus()
                size = len(list(self.plan.nodes()))
                self.assertEqual(self.check(*through).stdout,
                                 f"{size} hosts, {len(self.plan.cables)} cables: all are good\n")
                self.expect_no_process()
                tool("set", self.testbed, "3", "d0p", "rate", "20")
                tool("set", self.testbed, "1", "d2p", "loss", "5")
                tool("set", self.testbed, "2", "d0p", "mtu", "1500")
                tool("cut", self.testbed, "4:d1p")
                _, bad = self.judged(1, *through)
                self.assertEqual({end: {fault for fault, _ in found} for end, found in bad.items()},
                                 {(3, "d0p"): {"slow"}, (1, "d2p"): {"lossy"}, (2, "d0p"): {"small MTU"},
                                  (4, "d1p"): {"missing"}})
                self.expect_no_process()
                tool("heal", self.testbed)
                tool("swap", self.testbed, "0:d2p", "6:d0p")
                _, bad = self.judged(1, *through)
                self.assertEqual({fault for found in bad.values() for fault, _ in found}, {"swapped"})
                self.assertEqual(set(bad), {(0, "d2p"), (6, "d0p")})

    def test_a_host_that_all_its_cables_cut_off_is_named(self):
        self.up("3", "--open", "0", "--no-management", "--ipv6-only", open_dims=[0], ipv4=False, management=False)
        through = self.only_through_the_torus()
        tool("cut", self.testbed, "2:d0m")
        report, bad = self.judged(1, *through)
        troubles = [host["trouble"] for host in report["hosts"]]
        self.assertEqual(troubles[:2], ["", ""])
        self.assertIn("cannot be reached", troubles[2])
        self.assertEqual(set(bad), {(1, "d0p")})
        self.expect_no_process()

    def test_the_torus_is_discovered_through_itself(self):
        self.up("3x2x2", "--no-management", "--no-routes", "--ipv6-only", ipv4=False, management=False)
        through = self.only_through_the_torus()
        file = self.path("found.toml")
        hosts = ",".join(self.plan.host(node) for node in self.plan.nodes())
        done = self.check("--discover", file, "--hosts", hosts, *through, config="")
        self.assertIn(f"{len(self.plan.cables)} cables", done.stdout)
        self.expect_no_process()
        self.assertIn("all are good", self.check(*through, config=file).stdout)

    def test_the_torus_is_discovered_by_the_addresses_on_its_cables(self):
        self.up("3x2", "--no-management", "--no-routes", "--ipv6-only", ipv4=False, management=False)
        through = self.only_by_address()
        file = self.path("found.toml")
        hosts = ",".join(self.plan.host(node) for node in self.plan.nodes())
        tool("cut", self.testbed, "0:0+")
        done = self.check("--discover", file, "--hosts", hosts, *through, config="", status=1)
        self.assertIn(f"{len(self.plan.cables) - 1} cables, 1 with faults", done.stdout)
        self.expect_no_process()
        tool("heal", self.testbed)
        self.assertIn("all are good", self.check(*through, config=file).stdout)
        self.expect_no_process()
        for device in ("d0p", "d0m", "d1p", "d1m"):
            tool("cut", self.testbed, f"3:{device}")
        done = self.check("--discover", file, "--hosts", hosts, *through, config="", status=1)
        self.assertIn(f"{self.plan.host(3)}", done.stderr)
        self.expect_no_process()

    def test_options_that_cannot_work_are_reported(self):
        self.before = []
        for words, said in ((["--discover", "-", "--hosts", "a,b", "--here", "c", "--set", "launch.through=torus"],
                             "--here c"),
                            (["--discover", "-", "--hosts", "a,b", "--here", "a"], "launch.through=torus")):
            done = self.check(*words, config="", status=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Watch(CheckTest):
    def watch(self, *options, status=0, node=0):
        self.before = ["ip", "netns", "exec", self.plan.host(node)]
        return self.check("--watch", self.path("links"), "--here", self.plan.host(node), *options,
                          status=status).stdout

    def test_a_change_is_reported_once_and_stays_wrong(self):
        self.up("2x2")
        self.assertEqual(self.watch(), "")
        tool("cut", self.testbed, "0:d0p")
        self.assertEqual(self.watch(status=1), "d0p is down\n")
        self.assertEqual(self.watch(status=1), "")
        self.assertEqual(self.watch("--all", status=1), "d0p is down\n")
        tool("heal", self.testbed)
        self.assertRegex(self.watch(), r"^d0p is back, at [0-9]+ Mbit/s\n$")
        tool("cut", self.testbed, "{}:{}".format(*self.plan.peer(0, "d1m")))
        self.assertEqual(self.watch(status=1), "d1m has no carrier\n")
        tool("heal", self.testbed)
        self.watch()
        subprocess.run(["ip", "-n", self.plan.host(0), "link", "set", "d1p", "mtu", "1500"], check=True)
        self.assertEqual(self.watch(), "d1p has MTU 1500, previously 9000\n")
        self.assertEqual(self.watch(), "")

    def test_an_invalid_state_is_reported_and_replaced(self):
        self.up("2")
        with open(self.path("links"), "w") as f:
            f.write("\x00nonsense\n")
        self.before = ["ip", "netns", "exec", self.plan.host(0)]
        done = self.check("--watch", self.path("links"), "--devices", "d*")
        self.assertIn("empty state", done.stderr)
        self.assertEqual(self.check("--watch", self.path("links"), "--devices", "d*").stderr, "")

    def test_each_mistake_causes_one_message(self):
        self.before = []
        for words, status, said in ((["--watch", self.path("s")], 2, "--devices"),
                                    (["--watch", self.path("s"), "--devices", "nothing*"], 2, "nothing*"),
                                    (["--watch", self.path("s"), "--discover", "-"], 2, "--discover"),
                                    (["--watch", "", "--devices", "*"], 2, "file"),
                                    (["--watch", "/nonexistent/s", "--devices", "*"], 1, "/nonexistent/s")):
            self.geometry = None
            done = self.check(*words, config="", status=status)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    main()
