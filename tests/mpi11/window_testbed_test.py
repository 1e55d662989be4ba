#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Windows over links between hosts, some of whose cables die and come back, in testbeds of namespaces:
window_testbed_test.py SOURCE TORUS_RUN WINDOW_SOAK WINDOWS."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, SOAK, WINDOWS = (sys.argv.pop(1) for _ in range(4))
sys.path[:0] = [os.path.join(SOURCE, "tests", folder) for folder in ("testbed", "faults")]
from cable_testbeds import TIMEOUT, run_under_faults     # noqa: E402
from harness import TestbedTest, eventually, main, tool  # noqa: E402
from netns.testbed import Testbed                        # noqa: E402

# The number of random schedules of cables for each transport. The long run has more of them, and more ranks.
SCHEDULES = int(os.environ.get("WINDOW_SCHEDULES", 1))
USES = os.environ.get("WINDOW_USE", "tcp ethernet").split()
SHAPES = os.environ.get("WINDOW_SHAPES", "2x2x2 3x2").split()


class Windows(TestbedTest):
    def up(self, dims):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed)

    def command(self, use, *program):
        return [TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
                "--set", f"transport.use={use}", *program]

    def run_well(self, use, *program):
        done = subprocess.run(self.command(use, *program), text=True, timeout=200, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_all_calls_and_random_accesses(self):
        for dims in SHAPES:
            self.up(dims)
            for use in USES:
                with self.subTest(dims=dims, use=use):
                    self.run_well(use, WINDOWS)
                    self.run_well(use, SOAK, "1", "60")

    def test_cables_that_die_and_come_back_lose_and_repeat_nothing(self):
        self.up("2x2x2")
        for use in USES:
            for seed in range(1, SCHEDULES + 1):
                with self.subTest(use=use, seed=seed):
                    self.one_schedule(use, seed)

    def one_schedule(self, use, seed):
        ready = self.path(f"ready-{use}-{seed}")
        run_under_faults(
            self.command(use, "--set", f"transport.timeout={TIMEOUT}s", SOAK, str(seed), "250", ready),
            Testbed(self.testbed), seed,
            lambda job: eventually("accesses begin", lambda: os.path.exists(ready) or job.poll() is not None))


if __name__ == "__main__":
    main()
