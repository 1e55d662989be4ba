#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-check with hosts that do not answer, with unknown cabling, and with bad input:
torus_check_hosts_test.py SOURCE TORUS_CHECK TORUS_INFO [CLASS]."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from check_testbed import AGENT, TORUS_CHECK, TORUS_INFO, CheckTest, eventually, kernel, tool, main  # noqa: E402


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

    def test_a_host_without_the_program_and_an_invalid_agent_are_reported(self):
        self.up("2")
        done = self.check("--program", "/nonexistent/torus-check", status=1).stdout
        self.assertIn("/nonexistent/torus-check", done)
        done = self.check("--agent", "/nonexistent/agent", status=1).stdout
        self.assertIn("/nonexistent/agent", done)
        done = self.check("--program", "/bin/echo", status=1).stdout
        self.assertIn("was not tested", done)

    def test_a_host_that_never_answers_is_given_up(self):
        self.up("3")
        stuck = self.path("stuck")
        with open(stuck, "w") as f:
            f.write(f'#!/bin/sh\ncase $1 in *-1) exec sleep 1000;; *) exec {AGENT} "$@";; esac\n')
        os.chmod(stuck, 0o755)
        report, bad = self.judged(1, "--agent", stuck, "--timeout", "10s")
        troubles = [host["trouble"] for host in report["hosts"]]
        self.assertIn("no answer within 10 s", troubles[1])
        self.assertEqual((troubles[0], troubles[2]), ("", ""))
        self.assertEqual(set(bad), {(0, "d0p"), (1, "d0p")})

    def test_discovery_gives_up_a_host_that_never_answers_and_names_it(self):
        stuck = self.path("stuck")
        with open(stuck, "w") as f:
            f.write('#!/bin/sh\ncase $1 in silent) exec sleep 1000;; *) echo no route >&2; exit 255;; esac\n')
        os.chmod(stuck, 0o755)
        written = self.path("found.toml")
        done = self.check("--discover", written, "--hosts", "down,silent", "--agent", stuck, "--timeout", "5s",
                          config="", status=1)
        self.assertIn("torus-check: asking hosts: waiting for silent, at most 5s (--timeout)\n", done.stderr)
        self.assertEqual(done.stderr.count("waiting for"), 1)
        self.assertIn("silent could not be asked: no answer within 5 s. No file was written", done.stderr)
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

    def assert_describes_the_cabling(self, file, *options):
        """The speed of cables, which a busy machine disturbs, is not measured here: Speed and GoodTestbeds do that."""
        self.assertRegex(self.check("--diff", *options, config=file).stdout, "^[0-9]+ hosts, [0-9]+ cables: as in the file\n$")

    def test_all_cables_are_good_under_the_file_written_from_the_cabling_of_a_torus(self):
        for dims, options, open_dims in (("2x2x2", (), ()), ("3x1x2", ("--open", "0"), (0,)), ("5", (), ())):
            with self.subTest(dims):
                self.up(dims, *options, open_dims=open_dims)
                nodes = list(self.plan.nodes())
                # Any order of the hosts will do.
                hosts = [self.plan.host(node) for node in nodes[1::2] + nodes[0::2]]
                file, done = self.discover(hosts=hosts)
                self.assertIn(f"{len(self.plan.cables)} cables", done.stdout)
                self.assert_describes_the_cabling(file)
                info = subprocess.run([TORUS_INFO, "--config", file], text=True, capture_output=True)
                self.assertEqual(info.returncode, 0, info.stderr)

    def test_changes_of_the_cabling_are_named(self):
        self.up("3x2")
        self.assertIn("6 hosts, 12 cables: as in the file", self.check("--diff").stdout)
        host = self.plan.host
        tool("swap", self.testbed, "0:0+", "3:0+")
        done = self.check("--diff", status=1)
        lines = sorted(done.stdout.splitlines())
        far = {n: self.plan.peer(n, "d0p") for n in (0, 3)}
        self.assertEqual(lines, sorted(
            [f"{host(n)} d0p leads to {host(far[m][0])} d0m, before to {host(far[n][0])} d0m"
             for n, m in ((0, 3), (3, 0))] +
            [f"{host(far[n][0])} d0m leads to {host(m)} d0p, before to {host(n)} d0p" for n, m in ((0, 3), (3, 0))]))
        tool("swap", self.testbed, "0:0+", "3:0+")
        tool("cut", self.testbed, "1:1+")
        end = self.plan.peer(1, "d1p")
        self.assertEqual(self.check("--diff", status=1).stdout,
                         f"the cable from {host(end[0])} {end[1]} to {host(1)} d1p is missing\n")

    def test_all_cables_are_good_under_the_file_of_a_ring_plugged_at_random(self):
        self.up("4")
        for node in (1, 2):
            steps = ["link set d0p down", "link set d0m down", "link set d0p name other", "link set d0m name d0p",
                     "link set other name d0m", "link set d0p up", "link set d0m up"]
            for step in steps:
                subprocess.run(["ip", "-n", self.plan.host(node), *step.split()], check=True)
        file, _ = self.discover("--devices", "d*")
        self.assert_describes_the_cabling(file)

    def test_a_full_mesh_of_four_gets_the_file_of_a_graph_with_all_cables(self):
        self.up("4")
        for ends in ((0, 2), (1, 3)):
            a, b = (self.plan.host(node) for node in ends)
            subprocess.run(["ip", "link", "add", "y0", "netns", a, "type", "veth", "peer", "name", "y0", "netns", b],
                           check=True)
            for host in (a, b):
                subprocess.run(["ip", "-n", host, "link", "set", "y0", "mtu", "9000", "up"], check=True)
        file, done = self.discover("--devices", "[dy]*")
        self.assertIn("do not form a torus", done.stderr)
        self.assertIn("a graph of 4 hosts, 6 cables", done.stdout)
        self.assert_describes_the_cabling(file)

    def test_devices_that_are_down_are_named_with_the_command_that_brings_them_up(self):
        self.up("3")
        for node in self.plan.nodes():
            for device in ("d0p", "d0m"):
                subprocess.run(["ip", "-n", self.plan.host(node), "link", "set", device, "down"], check=True)
        _, done = self.discover("--devices", "d*", status=1)
        self.assertRegex(done.stderr, '(?m)^torus-check: no cables were found: d0[mp] and d0[mp] are down on .*: '
                                      'run "sudo ip link set d0[mp] up; sudo ip link set d0[mp] up" there. No file '
                                      'was written\n$')

    def test_an_agent_that_reaches_no_host_is_reported_in_one_line(self):
        agent = self.path("refused")
        with open(agent, "w") as f:
            f.write('#!/bin/sh\nprintf "ssh: connect to host %s port 22: Connection refused\\r\\n" "$1" >&2\nexit 255\n')
        os.chmod(agent, 0o755)
        done = subprocess.run([TORUS_CHECK, "--discover", self.path("f"), "--hosts", "a1,b2,c3", "--agent", agent],
                              text=True, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "(?m)^torus-check: none of the 3 hosts could be asked; a1: the agent [^\r]*ssh: connect "
                                      "to host a1 port 22: Connection refused[^\r]*\n$")
        self.assertNotIn("\\r", done.stderr)

    def test_hosts_in_row_major_order_give_the_geometry_of_the_testbed(self):
        self.up("3x4")
        file, _ = self.discover()
        with open(file) as f:
            found = f.read()
        self.assertIn("dims = [3, 4]", found)
        self.assertIn("periodic = [true, true]", found)
        hosts = [self.plan.host(node) for node in self.plan.nodes()]
        self.assertIn(", ".join(f'"{host}"' for host in hosts).replace(", ", ",\n    "), found)

    def test_a_dead_cable_has_its_place_in_the_file_and_is_reported(self):
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
                self.assertRegex(done.stderr, f"(?m)^torus-check: the cable from ({ends[0]}|{ends[1]}) [(].[+][)] to "
                                 f"({ends[0]}|{ends[1]}) [(].-[)] is missing or dead: nothing is heard at either end; "
                                 "the file contains it anyway\n$")
                good = len(self.plan.cables) - 1
        self.assertIn(f"{good} cable{'' if good == 1 else 's'}, 1 with faults\n", done.stdout)

    def test_a_cable_that_is_dead_in_one_direction_is_reported(self):
        self.up("3x2")
        far, device = self.plan.peer(1, "d0p")
        tool("set", self.testbed, "1", "0+", "loss", "100")
        _, done = self.discover(status=1)
        self.assertIn(f"answers at one end only: nothing arrives at {self.plan.host(1)}; ", done.stderr)

    def test_a_torus_without_many_of_its_cables_is_a_graph(self):
        self.up("3x3")
        for node in (0, 1, 4, 8):
            tool("cut", self.testbed, f"{node}:0+")
            tool("cut", self.testbed, f"{node}:1-")
        file, done = self.discover()
        self.assertIn("do not form a torus", done.stderr)
        self.assertIn("a graph of 9 hosts", done.stdout)
        self.assert_describes_the_cabling(file)

    def test_with_two_hosts_and_another_network_the_selected_devices_determine_the_cables(self):
        self.up("2")
        _, done = self.discover(status=1)
        self.assertIn("3 cables join", done.stderr)
        file, done = self.discover("--devices", "d*")
        self.assertIn("a torus of 2, 2 cables", done.stdout)
        self.assert_describes_the_cabling(file, "--devices", "d*")


class BadInput(CheckTest):
    def test_each_mistake_causes_one_message_and_exit_code_2(self):
        self.geometry = None
        for words, said in (([], "missing hosts"), (["--discover", "-"], "--hosts"), (["--hosts", "a"], "--discover"),
                            (["--discover", "-", "--hosts", "a,a"], "twice"), (["--bogus"], "--bogus"),
                            (["--discover", "-", "--hosts", "a b"], "a b"), (["--config", "/nonexistent"], "/nonexistent"),
                            (["--discover", "-", "--hosts", "a", "--probes", "0"], "--probes"),
                            (["--discover", "-", "--hosts", "a", "--timeout", "5"], "--timeout")):
            done = self.check(*words, config="", status=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_help_has_examples(self):
        self.assertIn("torus-check --config cluster.toml", self.check("--help", config="").stdout)

    def test_a_probe_that_gets_garbage_or_nothing_ends(self):
        nothing = subprocess.run([TORUS_CHECK, "--probe"], input=b"", capture_output=True, timeout=100)
        self.assertEqual(nothing.returncode, 0)
        nonsense = subprocess.run([TORUS_CHECK, "--probe"], input=b"\xff\n", capture_output=True, timeout=100)
        self.assertEqual(nonsense.returncode, 1)


if __name__ == "__main__":
    main()
