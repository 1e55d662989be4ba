#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-info netplan laid in a testbed that has no routes: netplan_test.py TORUS_INFO [CLASS]."""
import itertools
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from netns.testbed import Testbed                                  # noqa: E402
from netns.plan import Plan                                # noqa: E402
from harness import TOOL, TestbedTest, main, tool, udp_arrives     # noqa: E402


class Netplan(TestbedTest):
    def with_testbed(self, dims, *options, **planned):
        name = self.name()
        tool("up", dims, "--name", name, "--no-routes", *options)
        return Plan(name, [int(d) for d in dims.split("x")], routes=False, **planned), Testbed(name).geometry_file

    def netplan(self, plan, node, geometry, *options, status=0):
        done = subprocess.run([TOOL, "exec", plan.name, str(node), "--", TORUS_INFO, "netplan", "--config", geometry,
                               "--node", str(node), "--apply", *options], text=True, capture_output=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def reaches(self, plan, a, b):
        return udp_arrives(plan.host(a), plan.node_address(a), plan.host(b), plan.node_address(b))

    def test_every_pair_of_nodes_is_reached_once_the_plan_is_laid_and_again_when_it_is_laid_twice(self):
        plan, geometry = self.with_testbed("3x2x2")
        far = plan.torus.size - 1
        self.assertFalse(self.reaches(plan, 0, far), "a testbed without routes must not forward")
        for _ in range(2):
            for node in plan.nodes():
                self.assertIn("routes set up", self.netplan(plan, node, geometry).stdout)
                # The testbed has given the address without the label.
                loopback = subprocess.run(["ip", "-n", plan.host(node), "-o", "-4", "address", "show", "lo"],
                                          text=True, capture_output=True).stdout
                self.assertIn("scope global lo:torus", loopback)
        for a, b in itertools.permutations(plan.nodes(), 2):
            self.assertTrue(self.reaches(plan, a, b), f"{a} to {b}")

    def test_routes_come_back_with_their_device_while_the_plan_is_kept(self):
        plan, geometry = self.with_testbed("5")
        kept = []
        def end():
            for process in kept:
                process.terminate()
                process.wait()
                process.stdout.close()
        self.addCleanup(end)
        for node in plan.nodes():
            kept.append(subprocess.Popen(
                [TOOL, "exec", plan.name, str(node), "--", TORUS_INFO, "netplan", "--config", geometry,
                 "--node", str(node), "--apply", "--keep"], text=True, stdout=subprocess.PIPE))
        for process in kept:
            self.assertIn("routes set up", process.stdout.readline())
        self.assertTrue(self.reaches(plan, 0, 2))
        routes = lambda: subprocess.run(["ip", "-n", plan.host(1), "route"], text=True, capture_output=True).stdout
        before = sorted(routes().splitlines())
        for _ in range(3):
            for state in ("down", "up"):
                subprocess.run(["ip", "-n", plan.host(1), "link", "set", "d0p", state], check=True)
            self.assertIn("routes over d0p restored", kept[1].stdout.readline())
            self.assertEqual(sorted(routes().splitlines()), before)
        self.assertTrue(self.reaches(plan, 0, 2))
        self.assertTrue(self.reaches(plan, 2, 0))
        # One that was switched off stays off.
        subprocess.run(["ip", "-n", plan.host(1), "link", "set", "d0p", "down"], check=True)
        subprocess.run(["ip", "-n", plan.host(1), "link", "set", "d0m", "down"], check=True)
        subprocess.run(["ip", "-n", plan.host(1), "link", "set", "d0m", "up"], check=True)
        self.assertIn("routes over d0m restored", kept[1].stdout.readline())
        shown = subprocess.run(["ip", "-n", plan.host(1), "link", "show", "d0p"], text=True, capture_output=True).stdout
        self.assertIn("state DOWN", shown)

    def test_links_that_had_no_addresses_get_them(self):
        plan, geometry = self.with_testbed("4", "--ipv6-only", "--open", "0", open_dims=[0])
        for node in plan.nodes():
            self.netplan(plan, node, geometry, "--mtu", "4000")
        for a, b in itertools.permutations(plan.nodes(), 2):
            self.assertTrue(self.reaches(plan, a, b), f"{a} to {b}")
        shown = subprocess.run(["ip", "-n", plan.host(1), "link"], text=True, capture_output=True).stdout
        self.assertEqual(shown.count("mtu 4000"), 2)

    def test_a_plan_for_another_host_changes_nothing(self):
        plan, geometry = self.with_testbed("2")
        with open(geometry) as f:
            text = f.read().replace("d0m", "eth9")
        other = self.path("other.toml")
        with open(other, "w") as f:
            f.write(text)
        def state():
            return subprocess.run(["ip", "-n", plan.host(0), "-o", "addr"], text=True, capture_output=True).stdout
        before = state()
        refused = self.netplan(plan, 0, other, "--cables", "10.64.0.0/16", status=1)
        self.assertIn("eth9", refused.stderr)
        self.assertIn("nothing was changed", refused.stderr)
        self.assertEqual(state(), before)


if __name__ == "__main__":
    TORUS_INFO = sys.argv.pop(1)
    main()
