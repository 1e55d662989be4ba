#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hangs of jobs over several hosts, in a testbed of namespaces: the daemons collect the waits of their ranks.
Called as hang_testbed_test.py SOURCE TORUS_RUN HANGS."""
import os
import queue
import sys
import tempfile
import time

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, HANGS = (sys.argv.pop(1) for _ in range(3))
sys.path[:0] = [os.path.join(SOURCE, "tests", "testbed"), os.path.join(SOURCE, "tests", "job")]
from harness import TestbedTest, main, tool                            # noqa: E402
from hang_test import LIMIT, Job, first_line                           # noqa: E402
from netns.testbed import Testbed                                      # noqa: E402

CASES = [
    ("tag", r"rank 1 receives tag 77 from rank 0; rank 0 sent tag 78, 4 B, at least"),
    ("cyclic_sends", r"0 -> 1 -> 2 -> 0, all in MPI_Send of 1 MiB"),
    ("infinite_loop", r"ranks 0, 1 and 3-7 wait for rank 2, which computes"),
    ("sleeping", r"ranks 0-2 and 4-7 wait for rank 3, which sleeps outside the library \(sleep\)"),
    ("stopped", r"ranks 0 and 2-7 wait for rank 1, which is stopped by a signal"),
    ("not_joined", r"ranks 0, 1 and 3-7 wait for rank 2, which has not called MPI_Init"),
]


class Hangs(TestbedTest):
    def test_ranks_on_all_hosts_are_asked(self):
        testbed = self.name()
        tool("up", "2x2x2", "--name", testbed)
        over_hosts = ["--config", Testbed(testbed).geometry_file, "--agent", "ip netns exec",
                      "--set", "transport.timeout=300s"]
        for name, wanted in CASES:
            with self.subTest(name):
                job = Job(TORUS_RUN, HANGS, name, over_hosts, 8)
                self.addCleanup(job.end)
                try:
                    line = first_line(job, wanted)
                except queue.Empty:
                    line = None
                job.end()
                self.assertRegex(line or "nothing", wanted, job.seen)

    def test_reports_of_ranks_on_other_hosts_go_to_files_here(self):
        testbed = self.name()
        tool("up", "2x2", "--name", testbed)
        with tempfile.TemporaryDirectory() as folder:
            job = Job(TORUS_RUN, HANGS, "unserved",
                      ["--config", Testbed(testbed).geometry_file, "--agent", "ip netns exec", "--reports", folder], 4)
            self.addCleanup(job.end)
            wanted = r"0 -> 1 -> 0: rank 0 in MPI_Barrier, rank 1 in MPI_Recv from rank 0, tag 5"
            self.assertRegex(first_line(job, wanted) or "nothing", wanted)
            deadline = time.monotonic() + LIMIT
            while not (job.seen and job.seen[-1].startswith("  reports of all ranks: ")):
                job.seen.append(job.lines.get(timeout=max(0.1, deadline - time.monotonic())))
            job.end()
            self.assertEqual(sorted(os.listdir(folder)), ["rank.0", "rank.1", "rank.2", "rank.3"])
            with open(f"{folder}/rank.1", encoding="utf-8") as file:
                self.assertIn("receive of up to 4 B from rank 0 (MPI_COMM_WORLD, tag 5): no message yet", file.read())


if __name__ == "__main__":
    main()
