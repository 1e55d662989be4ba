#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The start and end of jobs over the nodes of a testbed: links_testbed_test.py SOURCE TORUS_RUN STEPS [CLASS].

TORUSMP_TESTBED_RUNS in the environment says how often each job that must end in silence is run (1; the long run says 20).
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, STEPS = (sys.argv.pop(1) for _ in range(3))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns.testbed import Testbed                                              # noqa: E402
from harness import TestbedTest, main, tool                              # noqa: E402

RUNS = int(os.environ.get("TORUSMP_TESTBED_RUNS", "1"))
PATIENCE = 120                     # against jobs that hang
TIMEOUT = 1                        # seconds in which kernels have to answer
NAP = 3 * TIMEOUT + 1              # longer than anything that a clock could wait for


class LinksTest(TestbedTest):
    def setUp(self):
        super().setUp()
        self.testbed = self.name()
        tool("up", "2x2x2", "--name", self.testbed)

    def words(self, *steps, settings=()):
        words = [TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                 "--set", "transport.use=tcp", "--set", f"transport.timeout={TIMEOUT}s"]
        for setting in settings:
            words += ["--set", setting]
        return [*words, STEPS, *steps]

    def job(self, *steps, **how):
        return subprocess.run(self.words(*steps, **how), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE)

    def expect_silence(self, *steps, runs=RUNS, **how):
        alarms = []
        for _ in range(runs):
            done = self.job(*steps, **how)
            if done.returncode or done.stdout or done.stderr:
                alarms.append(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
        self.assertEqual(len(alarms), 0, f"{len(alarms)} of {runs} runs were not silent. The first:\n" +
                         (alarms or [""])[0])


class Silence(LinksTest):
    def test_a_job_that_begins_and_ends(self):
        self.expect_silence("mpi")

    def test_a_job_that_leaves_memory_behind(self):
        self.expect_silence("qmp")

    def test_all_ranks_compute_before_they_communicate(self):
        self.expect_silence("mpi", f"nap={NAP}", "barrier")

    def test_one_rank_computes_while_the_others_communicate(self):
        self.expect_silence("mpi", f"nap={NAP}@7", "barrier")

    def test_a_rank_computes_while_a_far_one_connects_to_it(self):
        self.expect_silence("mpi", f"nap={NAP}@7", "corners", settings=["routing.forward=kernel"])

    def test_a_rank_computes_while_more_data_arrives_than_sockets_hold(self):
        self.expect_silence("mpi", f"unread={NAP}")


# Jobs without detours, with a dead cable.
class DeadCables(LinksTest):
    FORBIDDEN = ["routing.detour=false"]

    def expect_named(self, *ends):
        done = self.job("mpi", "barrier", settings=self.FORBIDDEN)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, r"link 0[+-] to rank \d .* cannot be established: cannot connect: .*"
                                      r"\(device d0[pm], \S+ to \S+ on d0[pm] of \S+\)")
        for end in ends:
            self.assertIn(end, done.stderr)

    def test_a_cable_that_carries_nothing_is_named_by_the_end_that_calls(self):
        # Rings of two share two cables: the other one of ranks 2 and 6 works.
        tool("set", self.testbed, "2", "d0p", "loss", "100")
        self.expect_named("d0p", f"{self.testbed}-")

    def test_a_cable_that_carries_nothing_any_more_ends_the_job_although_data_is_under_way(self):
        words = self.words("mpi", f"talk={PATIENCE}", settings=self.FORBIDDEN)
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as job:
            self.addCleanup(job.kill)
            self.assertEqual(job.stdout.readline(), "they talk\n")
            for end in ("2", "6"):
                for device in ("d0p", "d0m"):
                    tool("set", self.testbed, end, device, "loss", "100")
            errors = job.communicate(timeout=PATIENCE)[1]
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(errors, r"rank [26] .*: its host no longer answers")


main()
