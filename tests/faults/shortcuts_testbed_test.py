#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Shortcuts through the kernels of a testbed, beside the relay: shortcuts_testbed_test.py SOURCE TORUS_RUN SOAK
TRAFFIC [CLASS].
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, SOAK, TRAFFIC = (sys.argv.pop(1) for _ in range(4))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns.plan import Plan                                            # noqa: E402
from netns.testbed import Testbed                                      # noqa: E402
from harness import TestbedTest, eventually, main, tool                # noqa: E402

PATIENCE = 200     # against what hangs
TIMEOUT = 4        # seconds, transport.timeout: daemons of a busy machine may get no time for a while
NODES = 6
ESTABLISHED = "01"


class ShortcutTest(TestbedTest):
    def up(self, *options):
        self.testbed = self.name()
        tool("up", str(NODES), "--name", self.testbed, *options)
        self.plan = Plan(self.testbed, [NODES], routes="--no-routes" not in options)

    def words(self, *settings):
        words = [TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                 "--set", "routing.forward=auto", "--set", "transport.use=tcp"]
        for setting in settings:
            words += ["--set", setting]
        return words

    def on(self, node, *words):
        done = subprocess.run(["ip", "netns", "exec", self.plan.host(node), *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def far(self, node):
        return [other for other in range(NODES) if (other - node) % NODES in range(2, NODES - 1)]


class Jobs(ShortcutTest):
    def soak(self, *settings):
        """Returns each rank's report on its shortcuts, after a job that succeeded and printed nothing else."""
        done = subprocess.run([*self.words(*settings), SOAK, "--messages", "6000"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("all right and in order", done.stdout)
        found = re.findall(r"rank \d+: *shortcuts: (\d+) open, (\d+) tried, (\d+) failed or lost, (\d+) closed",
                           done.stdout)
        self.assertEqual(len(found), NODES, done.stdout)
        return [tuple(map(int, counts)) for counts in found]

    def test_with_routes_ranks_that_are_not_neighbours_have_shortcuts(self):
        self.up()
        for settings in ([], ["transport.checksum=true"]):
            for opened, tried, failed, closed in self.soak(*settings):
                self.assertEqual((opened, tried, failed, closed), (3, 3, 0, 0))

    def test_a_few_shortcuts_serve_many_ranks(self):
        self.up()
        for opened, tried, _failed, closed in self.soak("routing.shortcuts=1"):
            self.assertLessEqual(opened, 1)
            self.assertGreater(tried, 1)

    def test_without_routes_all_packets_are_relayed_without_a_warning(self):
        self.up("--no-routes")
        for opened, tried, failed, _closed in self.soak():
            self.assertEqual(opened, 0)
            self.assertGreater(tried, 0)
            self.assertEqual(failed, tried)


class Faults(ShortcutTest):
    """Kernels that stop forwarding during a job."""

    def setUp(self):
        super().setUp()
        self.up()
        self.errors = self.path("errors")
        with open(self.errors, "w") as err:
            self.job = subprocess.Popen(
                [*self.words(f"transport.timeout={TIMEOUT}s"), TRAFFIC, "all", self.path("ready"), self.path("stop")],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        self.addCleanup(self.job.wait)
        self.addCleanup(self.job.kill)
        eventually("all ranks communicate", lambda: os.path.exists(self.path("ready")) or self.ended())

    def said(self):
        with open(self.errors) as f:
            return f.read()

    def ended(self):
        if self.job.poll() is not None:
            raise AssertionError(f"the job has ended: {self.said()}")
        return False

    def shortcuts(self, node):
        """Returns the established connections of the node's address."""
        lines = self.on(node, "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()
        ours = {"".join(f"{int(part):02X}" for part in reversed(self.plan.node_address(other).split(".")))
                for other in range(NODES)}
        ends = (line.split()[2:4] for line in lines)
        return sum(state == ESTABLISHED and peer.split(":")[0][-8:] in ours for peer, state in ends)

    def expect_shortcuts(self, number):
        eventually(f"{number} shortcuts on each node",
                   lambda: self.ended() or all(self.shortcuts(node) == number for node in range(NODES)))

    def end(self):
        open(self.path("stop"), "w").close()
        self.assertEqual((self.job.wait(PATIENCE), self.said()), (0, ""))

    def test_no_message_is_lost_when_routes_are_removed(self):
        self.expect_shortcuts(3)
        for node in range(NODES):
            for other in self.far(node):
                self.on(node, "ip", "route", "replace", "blackhole", self.plan.node_address(other))
        self.expect_shortcuts(0)
        self.end()

    def test_no_message_is_lost_when_forwarding_stops_and_shortcuts_return_with_it(self):
        self.expect_shortcuts(3)
        for value, number in (0, 0), (1, 3):
            for node in range(NODES):
                self.on(node, "sh", "-c", f"echo {value} > /proc/sys/net/ipv4/ip_forward")
            self.expect_shortcuts(number)
        self.end()


if __name__ == "__main__":
    main()
