#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that die in a job over links, and new ones on other hosts in their places, in a testbed of
namespaces: replace_testbed_test.py SOURCE TORUS_RUN DISKLESS_HEAT REPLACE_ON_LINKS."""
import itertools
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, PROGRAM, ON_LINKS = (sys.argv.pop(1) for _ in range(4))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from harness import TestbedTest, eventually, main, tool  # noqa: E402
from netns.testbed import Testbed                        # noqa: E402


class Replaced(TestbedTest):
    def run_heat(self, deaths, seed, *options):
        job = subprocess.run([TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                              "--keep-going", "--set", "transport.use=tcp", *options, PROGRAM, "48", "40", "2000", "20",
                              str(seed), str(deaths)], text=True, capture_output=True, timeout=100)
        places = re.findall(r"(?m)^torusmp: a new process on host (\S+) takes the place of rank (\d+)$", job.stderr)
        self.assertEqual(len(places), deaths, job.stderr)
        self.assertEqual(job.stdout, "result c6ff56925dc4fe93 after 2000 steps\n", job.stderr)
        self.assertEqual(job.returncode, 0, job.stderr)
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

    def up_mesh(self):
        """Makes four hosts with cables between all pairs. Returns the cables as a setting."""
        self.testbed = self.name()
        pairs = list(itertools.combinations(range(4), 2))
        tool("up", "4", "--name", self.testbed, "--cables", ",".join(f"{a}:e{b}-{b}:e{a}" for a, b in pairs))
        hosts = ",".join(f"{self.testbed}-{node}" for node in range(4))
        return ["--set", f"nodes.hosts={hosts}", "--set", "torus.cables=" + ",".join(
            f"{self.testbed}-{a} e{b} - {self.testbed}-{b} e{a}" for a, b in pairs)]

    def lose(self, victims, places, *options):
        """A victim is "host 2", or ranks that die; each place is (host, rank), where there may be two hosts."""
        with tempfile.TemporaryDirectory() as folder:
            ready = os.path.join(folder, "ready")
            words = [victim.split()[0] for victim in victims]
            job = subprocess.Popen([TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                                    "--keep-going", "--set", "transport.use=tcp", "--set", "transport.timeout=1s", *options,
                                    ON_LINKS, ready, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                for phase, victim in enumerate(victims):
                    if not victim.startswith("host"):
                        continue
                    eventually("messages", lambda: os.path.exists(f"{ready}{phase}") or job.poll() is not None)
                    tool("kill-node", self.testbed, victim.split()[1])
                    open(f"{ready}{phase}.gone", "w").close()
                output, errors = job.communicate(timeout=90)
            finally:
                job.kill()
                job.communicate()
        found = re.findall(r"(?m)^torusmp: a new process on host \S+-(\d+) takes the place of rank (\d+)$", errors)
        self.assertRegex(output, rf"^whole: \d+ members after {len(victims)} deaths\n$", errors)
        self.assertEqual([int(rank) for _, rank in found], [rank for _, rank in places], errors)
        for (host, _), (expected, _) in zip(found, places):
            self.assertIn(int(host), expected if isinstance(expected, tuple) else (expected,), errors)
        self.assertEqual(job.returncode, 0, errors)

    def test_hosts_of_a_full_mesh_vanish_and_a_spare_takes_over_then_a_living_host(self):
        mesh = self.up_mesh()
        self.lose(["host 1", "host 2"], [(3, 1), (0, 2)], *mesh, "--spares", f"{self.testbed}-3")

    def test_a_spare_whose_cables_are_dead_is_passed_over(self):
        mesh = self.up_mesh()
        for device in ("e0", "e1", "e2"):
            subprocess.run(["ip", "-n", f"{self.testbed}-3", "link", "set", device, "down"], check=True)
        self.lose(["1"], [(1, 1)], *mesh, "--spares", f"{self.testbed}-3")

    def test_all_ranks_of_a_host_die(self):
        mesh = self.up_mesh()
        self.lose(["2+3"], [(3, 2), (1, 3)], *mesh, "--spares", f"{self.testbed}-3", "-ppn", "2")

    def test_two_ranks_on_a_torus_of_which_the_other_hosts_are_spares(self):
        """The second new process is two hops away, over hosts that only relay messages. Host 2, whose process has
        died, is free again when its agent has ended, which may be after host 3 has died."""
        self.testbed = self.name()
        tool("up", "2x2x2", "--name", self.testbed)
        hosts = [f"{self.testbed}-{node}" for node in (2, 3, 4, 5, 6, 7)]
        self.lose(["host 1", "1", "host 3"], [(2, 1), (3, 1), ((2, 4), 1)], "--spares", ",".join(hosts))

    def test_a_torus_with_one_spare_loses_relays(self):
        """Each dead process relayed packets of others, in the first job and in the following jobs."""
        self.testbed = self.name()
        tool("up", "2x2x2", "--name", self.testbed)
        self.lose(["3", "5", "host 6", "2"], [(7, 3), (3, 5), (5, 6), (2, 2)], "--spares", f"{self.testbed}-7")


if __name__ == "__main__":
    main()
