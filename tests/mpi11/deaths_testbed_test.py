#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes and hosts that die in a job over links that goes on without them, in a testbed of namespaces:
deaths_testbed_test.py SOURCE TORUS_RUN DEATHS_ON_LINKS."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, PROGRAM = (sys.argv.pop(1) for _ in range(3))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from harness import TestbedTest, eventually, main, tool  # noqa: E402
from netns.testbed import Testbed                        # noqa: E402

USES = os.environ.get("DEATHS_USE", "tcp ethernet").split()


class Deaths(TestbedTest):
    def up(self, dims, *options):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed, *options)

    def job(self, victim, *arguments):
        self.ready = self.path(f"ready{victim}")
        return subprocess.Popen([TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                                 "--keep-going", "--set", "transport.timeout=1s", *arguments, PROGRAM, str(victim),
                                 self.ready], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(self, job, code):
        """Returns the output of each rank. All ranks must have ended."""
        try:
            output = job.communicate(timeout=60)[0]
        finally:
            job.kill()
            job.communicate()
        self.assertEqual(job.returncode, code, output)
        return dict(re.findall(r"(?m)^rank (\d+) (goes on with \d+|cannot agree)$", output)), output

    def expect_dead_process(self, victim, size, outcome, *arguments):
        found, output = self.end(self.job(victim, *arguments), 0)
        self.assertEqual(set(found), {str(rank) for rank in range(size)} - {str(victim)}, output)
        self.assertEqual(set(found.values()), {outcome}, output)
        lines = re.findall(r"(?m)^torus-run: .*$", output)
        self.assertEqual(len(lines), 1, output)
        self.assertRegex(lines[0], r"the other ranks continue$")

    def test_hosts_that_are_all_cabled_with_each_other_go_on_without_a_process(self):
        self.up("3")
        for use in USES:
            for victim in 0, 2:
                with self.subTest(use=use, victim=victim):
                    self.expect_dead_process(victim, 3, "goes on with 2", "--set", f"transport.use={use}")

    def test_ranks_relay_around_a_dead_process(self):
        for dims, size, victim in ("2x2x2", 8, 5), ("3x3", 9, 4), ("5", 5, 2):
            self.up(dims)
            for use in USES:
                with self.subTest(use=use, dims=dims):
                    self.expect_dead_process(victim, size, f"goes on with {size - 1}", "--set", f"transport.use={use}")

    def test_if_no_path_is_left_agreement_is_refused_and_nothing_hangs(self):
        self.up("4", "--open", "0")
        for use in USES:
            with self.subTest(use=use):
                self.expect_dead_process(1, 4, "cannot agree", "--set", f"transport.use={use}")

    def test_a_host_that_vanishes(self):
        self.up("2x2x2")
        job = self.job("none")
        eventually("the ranks communicate", lambda: os.path.exists(self.ready) or job.poll() is not None)
        tool("kill-node", self.testbed, "5")
        found, output = self.end(job, 0)
        self.assertEqual(set(found), set("0123467"), output)
        self.assertEqual(set(found.values()), {"goes on with 7"}, output)


if __name__ == "__main__":
    main()
