#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reports of torus-run on cables that are dead at the start, die, come back or flap during real traffic:
cable_lines_test.py TORUS_RUN CABLE_TRAFFIC [CLASS]."""
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
TORUS_RUN, CABLE_TRAFFIC = (sys.argv.pop(1) for _ in range(2))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "testbed"))
from netns import kernel                                               # noqa: E402
from netns.plan import Plan                                            # noqa: E402
from netns.testbed import Testbed                                      # noqa: E402
from harness import TestbedTest, eventually, main, tool                # noqa: E402

PATIENCE = 200
TIMEOUT = 4   # seconds, transport.timeout: daemons of a busy machine may get no time for a while


class CablesTest(TestbedTest):
    def up(self, dims):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed)
        self.plan = Plan(self.testbed, [int(d) for d in dims.split("x")])

    def start(self, *arguments, traffic=("all",), timeout=TIMEOUT):
        """A job of cable_traffic; its messages go to self.errors."""
        self.errors, self.output = self.path("errors"), self.path("output")
        with open(self.output, "w") as out, open(self.errors, "w") as err:
            self.job = subprocess.Popen(
                [TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                 "--set", f"transport.timeout={timeout}s", CABLE_TRAFFIC, *traffic, self.path("ready"),
                 self.path("stop"), *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.addCleanup(self.job.wait)
        self.addCleanup(self.job.kill)

    def lines(self):
        with open(self.errors) as f:
            return f.read().splitlines()

    def end(self):
        """Returns all messages of a job that succeeds."""
        self.assertEqual(self.job.wait(PATIENCE), 0, "\n".join(self.lines()))
        return self.lines()

    def wait_for_traffic(self):
        eventually("all ranks communicate", lambda: os.path.exists(self.path("ready")) or self.job.poll() is not None)

    def wait_for_line(self, pattern):
        def there():
            if self.job.poll() is not None:
                raise AssertionError("the job has ended: " + "\n".join(self.lines()))
            return any(re.search(pattern, line) for line in self.lines())
        eventually(f"a line '{pattern}'", there)

    def stop(self):
        open(self.path("stop"), "w").close()

    def silence(self, node, device):
        """Drops all packets on the cable in both directions, without a sign at the devices."""
        for end, name in ((node, device), self.plan.peer(node, device)):
            tool("set", self.testbed, str(end), name, "loss", "100")

    def cable(self, end):
        """The cable of "3:0+", as messages name it."""
        node, device = int(end.split(":")[0]), f"d{end[-2]}{'p' if end[-1] == '+' else 'm'}"
        ends = sorted(((node, device), self.plan.peer(node, device)), key=lambda it: it[1][2], reverse=True)
        names = [f"{self.plan.host(n)} {d} ({d[1]}{'+' if d[2] == 'p' else '-'})" for n, d in ends]
        return f"the cable from {names[0]} to {names[1]}"

    def expect(self, line, pattern):
        self.assertRegex(line, "^torus-run: " + pattern + "$")


class AtTheStart(CablesTest):
    def test_jobs_start_and_run_around_cables_that_are_down(self):
        for dims, cuts, ways in (("2", ["1:0+"], ["the other cable between them"]),
                                 ("2x2x2", ["3:0+"], ["the other cable between them"]),
                                 ("3x3x2", ["0:0+", "7:1-", "16:2+"], [r"\S+", r"\S+", "the other cable between them"])):
            with self.subTest(dims):
                self.up(dims)
                for cut in cuts:
                    tool("cut", self.testbed, cut)
                self.start("4")
                lines = self.end()
                self.assertEqual(len(lines), len(cuts), lines)
                for cut, way in zip(cuts, ways):
                    self.assertTrue(any(re.search(
                        "^torus-run: warning: " + re.escape(self.cable(cut)) + r" is dead: \S+ of \S+ is down; "
                        f"the job uses a detour over {way}$", line) for line in lines), lines)

    def test_a_cable_whose_device_is_gone_gets_a_detour(self):
        self.up("3x3")
        cable = self.cable("4:1-")
        subprocess.run(["ip", "-n", self.plan.host(4), "link", "del", "d1m"], check=True)
        self.start("4")
        line, = self.end()
        self.expect(line, "warning: " + re.escape(cable) + r" is dead: \S+ has no device d1[pm]; the job uses "
                    r"a detour over \S+")

    def test_a_cable_that_is_silent_or_leads_elsewhere_gets_a_detour_after_its_ends_have_tried(self):
        self.up("3x3")
        tool("swap", self.testbed, "0:0+", "4:1+")
        self.silence(8, "d0p")
        self.start("4")
        lines = self.end()
        self.assertEqual(len(lines), 3, lines)
        swapped = [line for line in lines if " leads to " in line]
        self.assertEqual(len(swapped), 2, lines)
        for line in swapped:
            self.expect(line, r"warning: \S+ \S+ \([01][+-]\) leads to .+, expected .+\. Plug the cable in where the "
                        r"geometry file says\. The job uses a detour\.")
        name = self.cable("8:0+")
        line, = [line for line in lines if name in line]
        self.expect(line, "warning: " + re.escape(name) + r" has been dead since [0-9:]{8}: \S+ saw: .*; the job "
                    r"uses a detour over \S+")

    def test_a_cable_that_falls_silent_during_a_handshake_gets_a_detour(self):
        self.up("2x2")
        for node, device in ((3, "d0p"), self.plan.peer(3, "d0p")):
            # Kernels connect over it, and no word gets through.
            kernel.batch("tc", kernel.long_loss_lines(device, 80), self.plan.host(node))
        self.start("4")
        line, = self.end()
        self.expect(line, "warning: " + re.escape(self.cable("3:0+")) + r" has been dead since [0-9:]{8}: \S+ saw: .*; the "
                    "job uses a detour over the other cable between them")

    def test_a_cable_with_a_small_mtu_at_one_end_is_used_with_a_warning(self):
        self.up("2x2")
        tool("set", self.testbed, "1", "0+", "mtu", "1500")
        self.start("4")
        line, = self.end()
        self.expect(line, "warning: " + re.escape(self.cable("1:0+")) + r" has a fault: MTU .*; it stays in use")


class WhileAJobRuns(CablesTest):
    def test_a_cable_that_dies_and_comes_back_causes_two_lines(self):
        for dims in ("2x2", "2x3"):    # the detour is the other cable, or leads over another host
            with self.subTest(dims):
                self.up(dims)
                for file in ("ready", "stop"):
                    if os.path.exists(self.path(file)):
                        os.unlink(self.path(file))
                self.start()
                self.wait_for_traffic()
                tool("cut", self.testbed, "1:1+")
                self.wait_for_line("has been dead since")
                tool("heal", self.testbed, "1:1+")
                self.wait_for_line("is back after")
                self.stop()
                lines = self.end()
                self.assertEqual(len(lines), 2, lines)
                self.expect(lines[0], "warning: " + re.escape(self.cable("1:1+")) + r" has been dead since [0-9:]{8}: \S+ saw: "
                            r".+; the job uses a detour over .+")
                self.expect(lines[1], re.escape(self.cable("1:1+")) + r" is back after [0-9.]+ m?s")

    def longest_round_trip(self, timeout, kill):
        """Returns the longest round trip in seconds between ranks 0 and 1, whose cable dies; messages take a detour."""
        self.up("3")
        self.start(traffic=("ping", "1"), timeout=timeout)
        self.wait_for_traffic()
        kill()
        self.wait_for_line("has been dead since .* uses a detour")
        self.stop()
        self.assertEqual(len(self.end()), 1)
        with open(self.output) as f:
            longest, = re.findall(r"^longest ([0-9.]+) ms", f.read())
        return float(longest) / 1000

    def test_a_cut_that_the_device_reports_does_not_wait_for_the_timeout(self):
        self.assertLess(self.longest_round_trip(120, lambda: tool("cut", self.testbed, "0:0+")), 60)

    def test_a_cable_that_falls_silent_gets_a_detour_after_the_timeout(self):
        longest = self.longest_round_trip(TIMEOUT, lambda: self.silence(0, "d0p"))
        self.assertGreater(longest, 1)  # only the timeout has found out
        self.assertLess(longest, 60)

    def test_a_cable_dead_at_the_start_is_used_when_it_is_back_with_one_more_line(self):
        self.up("2x2")
        tool("cut", self.testbed, "1:1+")
        self.start()
        self.wait_for_traffic()
        tool("heal", self.testbed, "1:1+")
        self.wait_for_line(re.escape(self.cable("1:1+")) + " is back after")
        self.stop()
        self.assertEqual(len(self.end()), 2)

    def test_a_cable_that_flaps_causes_few_lines(self):
        self.up("2x2")
        self.start()
        self.wait_for_traffic()
        flaps = 0       # kernels report about one change a second
        while flaps < 16 or (flaps < 100 and not any("is flapping" in line for line in self.lines())):
            flaps += 1
            tool("cut", self.testbed, "1:1+")
            tool("heal", self.testbed, "1:1+")
            time.sleep(0.02)
        self.wait_for_line("is flapping")
        self.stop()
        lines = self.end()
        # Of 32 changes at least: two for each of the first deaths, that it flaps, and its state at the end.
        self.assertLessEqual(len(lines), 8, lines)
        self.expect(lines[-1], f"(warning: )?{re.escape(self.cable('1:1+'))} died [0-9]+ times in [0-9.]+ s and has been "
                    "(up again|dead) since .*")

    def test_cables_that_are_plugged_in_elsewhere_get_detours_until_they_are_corrected(self):
        self.up("3x3")
        names = self.cable("0:0+"), self.cable("4:1+")
        self.start()
        self.wait_for_traffic()
        for swapped in (True, False):
            tool("swap", self.testbed, "0:0+", "4:1+")
            for name in names:
                self.wait_for_line(re.escape(name) + (" has been dead since" if swapped else " is back after"))
        self.stop()
        lines = self.end()
        for name in names:
            said = [line for line in lines if name in line]
            self.assertEqual(len(said), 2, lines)
        self.assertEqual(len(lines), 4, lines)

    def test_a_cable_that_is_much_slower_than_the_others_is_reported_once(self):
        self.up("3x3")
        self.start()
        self.wait_for_traffic()
        tool("set", self.testbed, "4", "1-", "rate", "20")
        def pattern(node, device):
            return (f"warning: the kernel of host {self.plan.host(node)} sends [0-9.]+ MB/s over {device}, [0-9.]+ MB/s "
                    "over its other links; torus-check tests the cables")

        # Whichever end notices first: the way back suffers too, as its confirmations wait in the slow queue.
        either = f"({pattern(4, 'd1m')}|{pattern(3, 'd1p')})"
        self.wait_for_line(either)
        time.sleep(6)  # one look more
        self.stop()
        line, = self.end()
        self.expect(line, either)


main()
