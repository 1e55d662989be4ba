#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that die in a job over links, and new ones on other hosts in their places, in a testbed of
namespaces: replace_testbed_test.py SOURCE TORUS_RUN DISKLESS_HEAT."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, PROGRAM = (sys.argv.pop(1) for _ in range(3))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from harness import TestbedTest, main, tool  # noqa: E402
from netns.testbed import Testbed            # noqa: E402


class Replaced(TestbedTest):
    def run_heat(self, deaths, seed, *options):
        job = subprocess.run([TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                              "--keep-going", "--set", "transport.use=tcp", *options, PROGRAM, "48", "40", "2000", "20",
                              str(seed), str(deaths)], text=True, capture_output=True, timeout=100)
        places = re.findall(r"(?m)^torusmp: a new process on host (\S+) takes the place of rank (\d+)$", job.stderr)
        self.assertEqual(len(places), deaths, job.stderr)
        self.assertEqual(job.stdout, "result c6ff56925dc4fe93 after 2000 steps\n", job.stderr)
        self.assertEqual(job.returncode, 137 if deaths > 0 else 0, job.stderr)
        return [host for host, _ in places]

    def test_a_spare_takes_the_place_of_the_dead_and_the_host_of_the_dead_is_the_next_spare(self):
        self.testbed = self.name()
        tool("up", "3", "--name", self.testbed)
        hosts = [f"{self.testbed}-{node}" for node in range(3)]
        self.run_heat(0, 1, "--spares", hosts[2])
        places = self.run_heat(1, 1, "--spares", hosts[2])
        self.assertEqual(places, [hosts[2]])
        # Rank 1 dies twice, and rank 0, which starts the new processes, lives.
        self.assertEqual(self.run_heat(2, 3, "--spares", hosts[2]), [hosts[2], hosts[1]])

    def test_without_a_spare_the_host_of_the_dead_gets_the_new_process(self):
        self.testbed = self.name()
        tool("up", "3", "--name", self.testbed)
        self.run_heat(2, 1)


if __name__ == "__main__":
    main()
