#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the testbed: testbed_test.py TORUS_INFO [CLASS]."""
import itertools
import json
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from netns import kernel                                                                    # noqa: E402
from netns.plan import Plan                                                                 # noqa: E402
from netns.testbed import Testbed                                                           # noqa: E402
from harness import PATIENCE, TOOL, TestbedTest, alive, eventually, far_ends, main, udp_arrives   # noqa: E402
from harness import tool_program as tool                                                   # noqa: E402


class PlannedRoutes(unittest.TestCase):
    TORI = ["2", "3", "5", "2x2", "4x3", "1x4", "2x2x2", "3x3x2", "4x5x3", "1x2x1", "2x3x2x2"]

    def distance(self, torus, a, b):
        return sum(abs(torus.offset(a, b, d)) for d in range(len(torus.dims)))

    def test_every_hop_comes_one_step_closer_and_finishes_a_dimension_before_the_next(self):
        for dims in self.TORI:
            for open_dims in ((), (0,)):
                plan = Plan("p", [int(d) for d in dims.split("x")], open_dims=open_dims)
                torus = plan.torus
                for a, b in itertools.product(plan.nodes(), repeat=2):
                    at, entered = a, []
                    while at != b:
                        dimension, sign = torus.first_step(at, b)
                        fewest = min(abs(torus.offset(at, b, d)) for d in range(len(torus.dims))
                                     if torus.offset(at, b, d))
                        self.assertEqual(abs(torus.offset(at, b, dimension)), fewest)
                        if not entered or entered[-1] != dimension:
                            entered.append(dimension)
                        next_node = torus.neighbour(at, dimension, sign)
                        self.assertEqual(self.distance(torus, next_node, b), self.distance(torus, at, b) - 1)
                        at = next_node
                    self.assertEqual(len(entered), len(set(entered)))

    def test_every_end_has_one_cable_and_two_ends_share_a_network(self):
        for dims in self.TORI:
            plan = Plan("p", [int(d) for d in dims.split("x")])
            ends = [(a, x) for a, x, _, _ in plan.cables] + [(b, y) for _, _, b, y in plan.cables]
            self.assertEqual(len(ends), len(set(ends)))
            self.assertEqual(len(ends), plan.torus.size * sum(2 for d in plan.dims if d > 1))
            addresses = [own for own, _ in plan.addresses.values()]
            self.assertEqual(len(addresses), len(set(addresses)))
            for a, x, b, y in plan.cables:
                self.assertEqual(plan.addresses[a, x], plan.addresses[b, y][::-1])

    def test_a_dimension_of_two_has_two_cables_where_it_wraps_and_one_where_it_is_open(self):
        self.assertEqual(Plan("p", [2]).cables, [[0, "d0p", 1, "d0m"], [1, "d0p", 0, "d0m"]])
        self.assertEqual(Plan("p", [2], open_dims=[0]).cables, [[0, "d0p", 1, "d0m"]])


class UpAndDown(TestbedTest):
    def test_every_cable_has_the_planned_ends_and_every_pair_of_nodes_is_routed(self):
        name = self.name()
        tool("up", "3x2x2", "--open", "0", "--name", name, "--mbit", "100")
        plan = Plan(name, [3, 2, 2], open_dims=[0])
        self.assertEqual(self.namespaces(name), sorted(plan.namespaces()))
        self.assertIn(name, tool("list").stdout)
        self.assertEqual(far_ends(plan), {end: plan.peer(*end) for end in plan.addresses})
        for a, b in itertools.permutations(plan.nodes(), 2):
            self.assertTrue(udp_arrives(plan.host(a), plan.node_address(a), plan.host(b), plan.node_address(b)),
                            f"{a} to {b}")
        shaped = subprocess.run(["tc", "-n", plan.host(0), "qdisc", "show", "dev", "d0p"], text=True,
                                capture_output=True).stdout
        self.assertIn("tbf", shaped)
        self.assertIn("100Mbit", shaped)
        self.assertRegex(shaped, r"burst 128Kb ")
        tool("down", name)
        self.expect_no_trace(name)

    def test_a_link_has_at_most_the_planned_burst(self):
        name = self.name()
        tool("up", "2", "--name", name, "--mbit", "20", "--burst", "20000")
        shaped = subprocess.run(["tc", "-n", Plan(name, [2]).host(0), "-j", "qdisc", "show", "dev", "d0p"],
                                text=True, capture_output=True).stdout
        self.assertAlmostEqual(json.loads(shaped)[0]["options"]["burst"], 20000, delta=100)
        tool("down", name)
        self.expect_no_trace(name)

    def test_the_management_network_joins_the_front_and_all_nodes(self):
        name = self.name()
        tool("up", "4", "--name", name)
        plan = Plan(name, [4])
        front = plan.management_addresses(None)[0].split("/")[0]
        for node in plan.nodes():
            address = plan.management_addresses(node)[0].split("/")[0]
            self.assertTrue(udp_arrives(plan.front(), front, plan.host(node), address))

    def test_parts_omitted_on_request_do_not_exist(self):
        name = self.name()
        tool("up", "3x3", "--name", name, "--no-management", "--no-routes")
        plan = Plan(name, [3, 3], management=False)
        self.assertEqual(self.namespaces(name), sorted(plan.namespaces()))
        routes = subprocess.run(["ip", "-n", plan.host(0), "route"], text=True, capture_output=True).stdout
        self.assertEqual([r for r in routes.splitlines() if "via" in r], [])
        self.assertNotIn("mgmt", kernel.devices_in(plan.host(0)))
        other = self.name()
        tool("up", "3", "--name", other, "--ipv6-only")
        addresses = subprocess.run(["ip", "-n", f"{other}-0", "-4", "-o", "addr", "show"], text=True,
                                   capture_output=True).stdout
        self.assertEqual([a for a in addresses.splitlines() if " lo " not in a], [])
        six = Plan(other, [3], ipv4=False)
        self.assertEqual(far_ends(six), {end: six.peer(*end) for end in six.addresses})

    def test_the_geometry_file_is_one_that_torus_info_accepts(self):
        name, file = self.name(), self.path("geometry.toml")
        printed = tool("up", "2x1x3", "--open", "2", "--ranks-per-node", "1x2x1", "--name", name,
                       "--geometry", file).stdout
        self.assertIn(file, printed)
        info = subprocess.run([TORUS_INFO, "--config", file], text=True, capture_output=True)
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertIn("12", info.stdout)
        self.assertIn(f"{name}-0", info.stdout)

    def test_a_name_that_is_taken_is_refused_and_the_testbed_of_that_name_stays(self):
        name = self.name()
        tool("up", "2", "--name", name)
        before = self.namespaces(name)
        self.assertIn("there already", tool("up", "3", "--name", name, status=2).stderr)
        self.assertIn("there already", tool("run", "3", "--name", name, "--", "true", status=2).stderr)
        self.assertEqual(self.namespaces(name), before)


class Wirings(TestbedTest):
    def test_cables_have_the_ends_of_the_list_and_twins_hear_each_other(self):
        name = self.name()
        tool("up", "4", "--name", name, "--cables", "0-1,0-1,0:eth7-3:x,1:a+b-2:c+d")
        plan = Plan(name, [4], wiring="0-1,0-1,0:eth7-3:x,1:a+b-2:c+d")
        self.assertEqual(self.namespaces(name), sorted(plan.namespaces()))
        heard = far_ends(plan)
        for end in [(0, "e0"), (0, "e1"), (0, "eth7"), (1, "e0"), (1, "e1"), (3, "x")]:
            self.assertEqual(heard[end], plan.peer(*end))
        twins = {(1, "a"), (1, "b"), (2, "c"), (2, "d")}
        for end in twins:
            self.assertIn(heard[end], twins - {end})
        tool("cut", name, "0:e1")
        self.assertIsNone(far_ends(plan, deaf=2)[1, "e1"])
        tool("down", name)
        self.expect_no_trace(name)

    def test_a_fresh_host_has_devices_that_are_down_and_without_addresses(self):
        name = self.name()
        tool("up", "2", "--name", name, "--cables", "0-1", "--fresh")
        shown = subprocess.run(["ip", "-n", f"{name}-0", "-j", "addr", "show", "dev", "e0"], text=True,
                               capture_output=True).stdout
        device = json.loads(shown)[0]
        self.assertEqual((device["operstate"], device["addr_info"]), ("DOWN", []))


class Running(TestbedTest):
    def test_the_exit_code_comes_from_the_command_and_nothing_is_left(self):
        for command, status in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)):
            name = self.name()
            tool("run", "2", "--name", name, "--", "sh", "-c", command, status=status)
            self.expect_no_trace(name)

    def test_the_command_finds_the_testbed_and_its_geometry_and_runs_on_the_named_node(self):
        name = self.name()
        said = tool("run", "2x2", "--name", name, "--", "sh", "-c",
                    f'echo $TORUS_TESTBED; cat $TORUSMP_CONFIG; ip -o link; ip netns exec {name}-3 echo agent works').stdout
        self.assertIn(name, said.split("\n")[0])
        self.assertIn('agent = "ip netns exec"', said)
        self.assertIn("agent works", said)
        self.assertIn("mgmt", said)
        name = self.name()
        said = tool("run", "2x2", "--name", name, "--on", "3", "--", "ip", "-o", "addr").stdout
        self.assertIn("10.255.0.4/32", said)

    def test_processes_that_the_command_leaves_on_the_nodes_are_killed(self):
        name, file = self.name(), self.path("pid")
        tool("run", "2", "--name", name, "--", "sh", "-c",
             f'ip netns exec {name}-1 sh -c \'trap "" TERM HUP; setsid sleep 1000 & echo $! > {file}\'')
        with open(file) as f:
            self.assertFalse(alive(int(f.read())))
        self.expect_no_trace(name)

    def test_a_signal_ends_the_command_and_takes_the_testbed_down(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            name, file = self.name(), self.path(f"pid{number}")
            run = subprocess.Popen([TOOL, "run", "2", "--name", name, "--", "sh", "-c",
                                    f"echo $$ > {file}.new; mv {file}.new {file}; exec sleep 1000"])
            eventually("the command starts", lambda: os.path.exists(file))
            run.send_signal(number)
            self.assertEqual(run.wait(PATIENCE), 128 + number)
            with open(file) as f:
                self.assertFalse(alive(int(f.read())))
            self.expect_no_trace(name)


class Killed(TestbedTest):
    def test_a_testbed_whose_run_was_killed_is_listed_as_orphaned_and_taken_down(self):
        name, file = self.name(), self.path("pid")
        run = subprocess.Popen([TOOL, "run", "2x2", "--name", name, "--", "sh", "-c",
                                f"setsid sleep 1000 & echo $! > {file}.new; mv {file}.new {file}; wait"])
        eventually("the command starts", lambda: os.path.exists(file))
        run.kill()
        run.wait()
        self.assertRegex(tool("list").stdout, rf"{name} +2x2 +orphaned")
        tool("down", name)
        with open(file) as f:
            self.assertFalse(alive(int(f.read())))
        self.expect_no_trace(name)

    def test_a_testbed_whose_creation_was_killed_at_any_stage_is_taken_down(self):
        for stage in range(6):
            name = self.name()
            up = subprocess.Popen([TOOL, "up", "3x3", "--name", name], stdout=subprocess.DEVNULL)
            directory = os.path.join(os.environ["TORUS_NETNS_STATE"], name)
            eventually("the testbed begins", lambda: len(self.namespaces(name)) >= 2 * stage or up.poll() is not None)
            eventually("the state is kept", lambda: os.path.exists(directory) or up.poll() is not None)
            up.kill()
            up.wait()
            tool("down", name)
            self.expect_no_trace(name)

    def test_a_testbed_whose_state_is_lost_is_taken_down_by_name(self):
        name = self.name()
        tool("up", "2", "--name", name)
        os.unlink(os.path.join(os.environ["TORUS_NETNS_STATE"], name, "testbed.json"))
        self.assertIn("half made", tool("list").stdout)
        tool("down", name)
        self.expect_no_trace(name)

    def test_a_testbed_that_has_the_number_of_a_namespace_that_is_gone_keeps_its_processes(self):
        name, other = self.name(), self.name()
        tool("up", "2", "--name", name)
        tool("up", "2", "--name", other)
        sleeper = subprocess.Popen([TOOL, "exec", other, "1", "--", "sleep", "1000"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        inside = kernel.namespace_id(Testbed(other).load().host(1))
        eventually("the sleeper is on the node", lambda: sleeper.pid in kernel.processes_in({inside}))
        # As the kernel does, which reuses numbers.
        testbed = Testbed(name)
        testbed.save(testbed.load(), ids=testbed.saved()["ids"] + [inside])
        tool("down", name)
        self.assertIsNone(sleeper.poll())
        tool("down", other)
        self.assertEqual(sleeper.wait(PATIENCE), -signal.SIGKILL)


class Faults(TestbedTest):
    def setUp(self):
        super().setUp()
        self.testbed = self.name()
        tool("up", "3x2", "--name", self.testbed)
        self.plan = Plan(self.testbed, [3, 2])
        self.good = {end: self.plan.peer(*end) for end in self.plan.addresses}

    def routed(self):
        return all(udp_arrives(self.plan.host(0), self.plan.node_address(0), self.plan.host(b),
                               self.plan.node_address(b)) for b in range(1, 6))

    def test_a_cut_cable_is_dead_at_both_ends_and_heals_with_its_routes(self):
        tool("cut", self.testbed, "0:0+")
        a, b = (0, "d0p"), self.plan.peer(0, "d0p")
        self.assertEqual(far_ends(self.plan, 2), {**self.good, a: None, b: None})
        tool("heal", self.testbed, "0:0+")
        self.assertEqual(far_ends(self.plan), self.good)
        self.assertTrue(self.routed())

    def test_two_swapped_cables_lead_to_each_others_ends_until_they_are_swapped_back(self):
        tool("swap", self.testbed, "0:d0p", "1:d1p")
        far_a, far_b = self.plan.peer(0, "d0p"), self.plan.peer(1, "d1p")
        self.assertEqual(far_ends(self.plan), {**self.good, (0, "d0p"): far_b, far_b: (0, "d0p"),
                                               (1, "d1p"): far_a, far_a: (1, "d1p")})
        tool("swap", self.testbed, "0:d0p", "1:d1p")
        self.assertEqual(far_ends(self.plan), self.good)
        self.assertTrue(self.routed())
        self.assertIn("one cable", tool("swap", self.testbed, "0:d0p", "2:d0m" if far_a == (2, "d0m")
                                        else f"{far_a[0]}:{far_a[1]}", status=2).stderr)

    def test_loss_rate_and_mtu_are_set_and_healed(self):
        host = self.plan.host(0)
        def shown(*words):
            return subprocess.run([*words], text=True, capture_output=True).stdout
        tool("set", self.testbed, "0", "0+", "loss", "100", "mtu", "1500", "rate", "10")
        self.assertIsNone(far_ends(self.plan, 1)[0, "d0p"])
        self.assertIn("mtu 1500", shown("ip", "-n", host, "link", "show", "d0p"))
        self.assertIn("10Mbit", shown("tc", "-n", host, "qdisc", "show", "dev", "d0p"))
        tool("set", self.testbed, "0", "d0p", "loss", "0")
        self.assertEqual(far_ends(self.plan), self.good)
        tool("heal", self.testbed)
        self.assertIn("mtu 9000", shown("ip", "-n", host, "link", "show", "d0p"))
        self.assertNotIn("tbf", shown("tc", "-n", host, "qdisc", "show", "dev", "d0p"))
        self.assertEqual(far_ends(self.plan), self.good)

    def test_a_killed_node_loses_its_processes_and_devices(self):
        sleeper = subprocess.Popen([TOOL, "exec", self.testbed, "1", "--", "sleep", "1000"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        inside = kernel.namespace_id(self.plan.host(1))
        eventually("the sleeper is on the node", lambda: sleeper.pid in kernel.processes_in({inside}))
        tool("kill-node", self.testbed, "1")
        self.assertEqual(sleeper.wait(PATIENCE), -signal.SIGKILL)
        self.assertNotIn(self.plan.host(1), kernel.namespaces())
        self.assertNotIn(inside, Testbed(self.testbed).saved()["ids"])
        self.assertNotIn("d0m", kernel.devices_in(self.plan.host(3)))
        self.assertIn("is gone", tool("kill-node", self.testbed, "1", status=2).stderr)
        tool("heal", self.testbed)


class Rootless(TestbedTest):
    def test_run_works_and_leaves_nothing(self):
        name = self.name()
        if os.environ.get("TESTBED_WAS_USER"):
            self.skipTest("these tests run without root already")
        os.chmod(self.folder.name, 0o777)
        as_another_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run(as_another_user + ["test", "-x", TOOL]).returncode:
            self.skipTest("an ordinary user may not read the sources here")
        possible = subprocess.run(as_another_user + [TOOL, "possible"], text=True, capture_output=True)
        if possible.returncode:
            self.skipTest(possible.stderr)
        script = f"{TOOL} cut $TORUS_TESTBED 0:0+ && {TOOL} heal $TORUS_TESTBED && ip netns && exit 9"
        done = subprocess.run(as_another_user + [TOOL, "run", "2x2", "--name", name, "--mbit", "100", "--",
                                           "sh", "-c", script], text=True, capture_output=True)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn(f"{name}-3", done.stdout)
        self.expect_no_trace(name)
        refused = subprocess.run(as_another_user + [TOOL, "up", "2"], text=True, capture_output=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("torus-netns run", refused.stderr)


class BadInput(TestbedTest):
    def test_each_mistake_causes_one_message_and_exit_code_2(self):
        for words, said in ((["up", "2x0"], "2x0"), (["up", "99x99"], "too large"), (["up"], "2x2x2"),
                            (["up", "2", "--open", "3"], "unknown dimension"), (["up", "2", "--mbit", "x"], "--mbit"),
                            (["up", "2", "--name", "A B"], "A B"), (["up", "2", "--bogus", "1"], "--bogus"),
                            (["run", "2"], "which command"), (["down"], "which testbed"), (["down", "nosuch"], "nosuch"),
                            (["cut", "nosuch", "0:0+"], "nosuch"), (["fly"], "fly"),
                            (["up", "3", "--cables", "0-3"], "'0-3' is not a cable"),
                            (["up", "3x3", "--cables", "0-1"], "number of nodes"),
                            (["up", "3", "--cables", "0:a-1:b,2:c-0:a"], "is on two cables")):
            done = tool(*words, status=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_a_missing_link_is_named_with_the_existing_links(self):
        name = self.name()
        tool("up", "2", "--name", name)
        self.assertIn("d0p d0m", tool("cut", name, "0:1+", status=2).stderr)
        self.assertIn("is not a node", tool("cut", name, "7:0+", status=2).stderr)
        self.assertIn("unknown key", tool("set", name, "0", "0+", "speed", "9", status=2).stderr)
        self.assertIn("does not exist", tool("agent", f"{name}-9", "true", status=2).stderr)


if __name__ == "__main__":
    TORUS_INFO = sys.argv.pop(1)
    main()
