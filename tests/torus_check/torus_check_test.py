#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-check in a testbed of namespaces: torus_check_test.py SOURCE TORUS_CHECK TORUS_INFO [CLASS]."""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_CHECK, TORUS_INFO = (sys.argv.pop(1) for _ in range(3))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns import kernel                                               # noqa: E402
from netns.testbed import Testbed                                              # noqa: E402
from netns.plan import Plan                                            # noqa: E402
from harness import TestbedTest, eventually, main, tool                  # noqa: E402

AGENT = "ip netns exec"


class CheckTest(TestbedTest):
    before = []   # words before torus-check, to run it on a node

    def up(self, dims, *options, **planned):
        """A testbed to be checked; self.plan and self.geometry are its."""
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed, *options)
        self.plan = Plan(self.testbed, [int(d) for d in dims.split("x")], **planned)
        self.geometry = Testbed(self.testbed).geometry_file

    def check(self, *options, status=0, config=None):
        words = self.before + [TORUS_CHECK] + (["--config", config or self.geometry] if config != "" else [])
        words += list(options)
        done = subprocess.run(words, text=True, capture_output=True, timeout=200)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def judged(self, status=1, *options):
        """The report as JSON, and {(host, device): [(fault, text)]} of the cables that are not good."""
        report = json.loads(self.check("--json", "-", *options, status=status).stdout)
        bad = {}
        for cable in report["cables"]:
            self.assertEqual(cable["good"], not cable["findings"])
            if cable["findings"]:
                bad[cable["a"]["node"], cable["a"]["device"]] = [(f["fault"], f["text"]) for f in cable["findings"]]
        return report, bad

    def only_through_the_torus(self):
        """torus-check runs on node 0, with an agent that reaches neighbours only; returns its options."""
        pairs = {f"{self.plan.host(a)} {self.plan.host(b)}" for c in self.plan.cables
                 for a, b in ((c[0], c[2]), (c[2], c[0]))}
        agent = self.path("neighbours")
        with open(agent, "w") as f:
            f.write('#!/bin/sh\ncase "$(ip netns identify $$) $1" in\n' +
                    "|".join(f'"{pair}"' for pair in sorted(pairs)) + f') exec {AGENT} "$@";;\nesac\n'
                    'echo "no way to $1" >&2\nexit 255\n')
        os.chmod(agent, 0o755)
        self.before = ["ip", "netns", "exec", self.plan.host(0)]
        return ["--here", self.plan.host(0), "--set", "launch.through=torus", "--agent", agent]

    def expect_no_process(self):
        ids = {kernel.namespace_id(host) for host in self.plan.namespaces() if kernel.namespace_id(host)}
        eventually("all processes are gone", lambda: not kernel.processes_in(ids))

    def everywhere(self, command):
        for node in self.plan.nodes():
            subprocess.run(["ip", "netns", "exec", self.plan.host(node), "sh", "-c", command], check=True)


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
        self.assertTrue(report["verdict"].endswith("2 missing; jobs go around the dead ones"), report["verdict"])
        with open(self.geometry) as f:
            line = next(i for i, text in enumerate(f, 1) if text.startswith('"0+"'))
        self.assertTrue(any(f"{self.geometry}:{line}: host {self.plan.host(0)}: device d0p" in message
                            for message in report["messages"]), report["messages"])

    def test_a_small_mtu_is_seen_at_the_end_that_has_it_and_by_what_does_not_arrive(self):
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
                self.assertRegex(bad[3, "d0p"][0][1], r"^[0-9.]+ MB/s, its fellows [0-9]+ MB/s from "
                                 f"{self.plan.host(3)} d0p .* to {self.plan.host(peer[0])} d0m ")
                self.assertIn("this direction is dead", bad[5, "d0p"][0][1])
                tool("heal", self.testbed)
                self.check()

    def test_half_of_the_rate_is_slow_where_all_are_shaped(self):
        self.up("2x2x2", "--mbit", "200")
        self.check()
        tool("set", self.testbed, "6", "d1p", "rate", "100")
        _, bad = self.judged()
        self.assertEqual({end: [fault for fault, _ in found] for end, found in bad.items()}, {(6, "d1p"): ["slow"]})

    def test_rates_are_told_of_good_cables_as_well(self):
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

    def test_options_that_cannot_work_say_so(self):
        self.before = []
        for words, said in ((["--discover", "-", "--hosts", "a,b", "--here", "c", "--set", "launch.through=torus"],
                             "--here c"),
                            (["--discover", "-", "--hosts", "a,b", "--here", "a", "--set", "launch.through=torus",
                              "--agent", "ssh {address}"], "{address}"),
                            (["--discover", "-", "--hosts", "a,b", "--here", "a"], "launch.through=torus")):
            done = self.check(*words, config="", status=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


class Watch(CheckTest):
    def watch(self, *options, status=0, node=0):
        self.before = ["ip", "netns", "exec", self.plan.host(node)]
        return self.check("--watch", self.path("links"), "--here", self.plan.host(node), *options,
                          status=status).stdout

    def test_what_changes_is_told_once_and_stays_wrong(self):
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
        self.assertEqual(self.watch(), "d1p has MTU 1500, before 9000\n")
        self.assertEqual(self.watch(), "")

    def test_a_state_that_is_none_is_told_and_begun_anew(self):
        self.up("2")
        with open(self.path("links"), "w") as f:
            f.write("\x00nonsense\n")
        self.before = ["ip", "netns", "exec", self.plan.host(0)]
        done = self.check("--watch", self.path("links"), "--devices", "d*")
        self.assertIn("begins anew", done.stderr)
        self.assertEqual(self.check("--watch", self.path("links"), "--devices", "d*").stderr, "")

    def test_mistakes_are_one_message(self):
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


class Hosts(CheckTest):
    def test_a_host_that_is_gone_is_named_and_the_others_are_tested(self):
        self.up("4x2")
        tool("kill-node", self.testbed, "5")
        report, bad = self.judged()
        troubles = {host["name"]: host["trouble"] for host in report["hosts"] if host["trouble"]}
        self.assertEqual(list(troubles), [self.plan.host(5)])
        self.assertIn("Cannot open network namespace", troubles[self.plan.host(5)])
        near = {tuple(cable[:2]) for cable in self.plan.cables if 5 in (cable[0], cable[2])}
        self.assertEqual(set(bad), near)
        self.assertEqual({fault for found in bad.values() for fault, _ in found}, {"unknown"})

    def test_a_host_that_lacks_the_program_and_an_agent_that_is_none_are_told(self):
        self.up("2")
        done = self.check("--program", "/nonexistent/torus-check", status=1).stdout
        self.assertIn("/nonexistent/torus-check", done)
        done = self.check("--agent", "/nonexistent/agent", status=1).stdout
        self.assertIn("/nonexistent/agent", done)
        done = self.check("--program", "/bin/echo", status=1).stdout
        self.assertIn("could not be asked", done)

    def test_a_host_that_never_answers_is_given_up(self):
        self.up("3")
        stuck = self.path("stuck")
        with open(stuck, "w") as f:
            f.write(f'#!/bin/sh\ncase $1 in *-1) exec sleep 1000;; *) exec {AGENT} "$@";; esac\n')
        os.chmod(stuck, 0o755)
        report, bad = self.judged(1, "--agent", stuck, "--timeout", "10s")
        troubles = [host["trouble"] for host in report["hosts"]]
        self.assertIn("did not answer in 10 s", troubles[1])
        self.assertEqual((troubles[0], troubles[2]), ("", ""))
        self.assertEqual(set(bad), {(0, "d0p"), (1, "d0p")})

    def test_discovery_gives_up_a_host_that_never_answers_and_says_whom_it_waits_for(self):
        stuck = self.path("stuck")
        with open(stuck, "w") as f:
            f.write('#!/bin/sh\ncase $1 in silent) exec sleep 1000;; *) echo no route >&2; exit 255;; esac\n')
        os.chmod(stuck, 0o755)
        written = self.path("found.toml")
        done = self.check("--discover", written, "--hosts", "down,silent", "--agent", stuck, "--timeout", "5s",
                          config="", status=1)
        self.assertIn("torus-check: asking hosts: waiting for silent, at most 5s (--timeout)\n", done.stderr)
        self.assertEqual(done.stderr.count("waiting for"), 1)
        self.assertIn("silent could not be asked: it did not answer in 5 s. No file was written", done.stderr)
        self.assertFalse(os.path.exists(written))

    def test_no_probe_outlives_a_torus_check_that_was_killed(self):
        self.up("2x2")
        ids = {kernel.namespace_id(host) for host in self.plan.namespaces()}
        check = subprocess.Popen([TORUS_CHECK, "--config", self.geometry, "--probes", "100000"])
        self.addCleanup(check.wait)
        self.addCleanup(check.kill)
        eventually("all probes run", lambda: len(kernel.processes_in(ids)) == 4)
        check.kill()
        check.wait()
        eventually("all probes are gone", lambda: not kernel.processes_in(ids))

    def test_hosts_named_twice_by_two_names_are_found(self):
        self.up("2")
        agent = self.path("agent")
        with open(agent, "w") as f:
            f.write(f'#!/bin/sh\nshift\nexec {AGENT} {self.plan.host(0)} "$@"\n')
        os.chmod(agent, 0o755)
        report, _ = self.judged(1, "--agent", agent)
        self.assertTrue(any("names one machine twice" in message for message in report["messages"]), report)


class Discovery(CheckTest):
    def discover(self, *options, hosts=None, status=0):
        file = self.path("found.toml")
        hosts = hosts or [self.plan.host(node) for node in self.plan.nodes()]
        done = self.check("--discover", file, "--hosts", ",".join(hosts), "--agent", AGENT, *options, config="",
                          status=status)
        return file, done

    def test_the_file_written_from_the_cabling_of_a_torus_is_one_under_which_all_cables_are_good(self):
        for dims, options, open_dims in (("2x2x2", (), ()), ("3x1x2", ("--open", "0"), (0,)), ("5", (), ())):
            with self.subTest(dims):
                self.up(dims, *options, open_dims=open_dims)
                nodes = list(self.plan.nodes())
                # Any order of the hosts will do.
                hosts = [self.plan.host(node) for node in nodes[1::2] + nodes[0::2]]
                file, done = self.discover(hosts=hosts)
                self.assertIn(f"{len(self.plan.cables)} cables", done.stdout)
                self.assertIn("all are good", self.check(config=file).stdout)
                told = subprocess.run([TORUS_INFO, "--config", file], text=True, capture_output=True)
                self.assertEqual(told.returncode, 0, told.stderr)

    def test_hosts_in_row_major_order_give_the_geometry_of_the_testbed(self):
        self.up("3x4")
        file, _ = self.discover()
        with open(file) as f:
            found = f.read()
        self.assertIn("dims = [3, 4]", found)
        self.assertIn("periodic = [true, true]", found)
        hosts = [self.plan.host(node) for node in self.plan.nodes()]
        self.assertIn(", ".join(f'"{host}"' for host in hosts).replace(", ", ",\n    "), found)

    def test_a_dead_cable_has_its_place_in_the_file_and_is_told_of(self):
        for dims, cut in (("2", "1:0+"), ("2x2x2", "5:1-"), ("3x3x2", "4:0+")):
            with self.subTest(dims):
                self.up(dims, "--no-management")
                file, _ = self.discover()
                with open(file) as f:
                    whole = f.read()
                end = (int(cut[0]), f"d{cut[2]}{'p' if cut[3] == '+' else 'm'}")
                tool("cut", self.testbed, cut)
                file, done = self.discover(status=1)
                with open(file) as f:
                    self.assertEqual(f.read(), whole)
                ends = [f"{self.plan.host(node)} {device}" for node, device in (end, self.plan.peer(*end))]
                self.assertRegex(done.stderr, f"^torus-check: the cable from ({ends[0]}|{ends[1]}) [(].[+][)] to "
                                 f"({ends[0]}|{ends[1]}) [(].-[)] is missing or dead: nothing is heard at either end; "
                                 "the file has it all the same\n$")
                self.assertIn(f"{len(self.plan.cables) - 1} cables, 1 with faults\n", done.stdout)

    def test_a_cable_that_is_dead_in_one_direction_is_told_of(self):
        self.up("3x2")
        far, device = self.plan.peer(1, "d0p")
        tool("set", self.testbed, "1", "0+", "loss", "100")
        _, done = self.discover(status=1)
        self.assertIn(f"answers at one end only: nothing arrives at {self.plan.host(1)}; ", done.stderr)

    def test_too_many_cables_missing_are_no_torus_and_no_file_is_written(self):
        self.up("3x3")
        for node in (0, 1, 2, 4, 8):
            tool("cut", self.testbed, f"{node}:0+")
            tool("cut", self.testbed, f"{node}:1-")
        file, done = self.discover(status=1)
        self.assertIn("make no torus", done.stderr)
        self.assertFalse(os.path.exists(file))

    def test_of_two_hosts_with_a_network_besides_the_wanted_devices_tell_the_cables(self):
        self.up("2")
        _, done = self.discover(status=1)
        self.assertIn("3 cables join", done.stderr)
        file, _ = self.discover("--devices", "d*")
        self.assertIn("2 hosts, 2 cables: all are good", self.check(config=file).stdout)


class BadInput(CheckTest):
    def test_each_mistake_is_one_message_and_exit_code_2(self):
        self.geometry = None
        for words, said in (([], "no hosts"), (["--discover", "-"], "--hosts"), (["--hosts", "a"], "--discover"),
                            (["--discover", "-", "--hosts", "a,a"], "twice"), (["--bogus"], "--bogus"),
                            (["--discover", "-", "--hosts", "a b"], "a b"), (["--config", "/nonexistent"], "/nonexistent"),
                            (["--discover", "-", "--hosts", "a", "--probes", "0"], "--probes"),
                            (["--discover", "-", "--hosts", "a", "--timeout", "5"], "--timeout")):
            done = self.check(*words, config="", status=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_help_has_examples(self):
        self.assertIn("torus-check --config cluster.toml", self.check("--help", config="").stdout)

    def test_a_probe_that_is_told_nonsense_or_nothing_ends(self):
        nothing = subprocess.run([TORUS_CHECK, "--probe"], input=b"", capture_output=True, timeout=100)
        self.assertEqual(nothing.returncode, 0)
        nonsense = subprocess.run([TORUS_CHECK, "--probe"], input=b"\xff\n", capture_output=True, timeout=100)
        self.assertEqual(nonsense.returncode, 1)


if __name__ == "__main__":
    main()
