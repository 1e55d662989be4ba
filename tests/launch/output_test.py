# SPDX-License-Identifier: BSD-3-Clause
"""The output of ranks is passed on line by line to any destination. Called as FILE TORUS_RUN PROGRAM..., with programs
in C, C++, Fortran and Python that do not flush."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TORUS_RUN, PROGRAMS = sys.argv[1], sys.argv[2:]
LONG = 100  # seconds: against hangs only


def command(program):
    return [sys.executable, program] if program.endswith(".py") else [program]


class Output(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="torusmp-output-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.runs = 0

    def start(self, program, ranks, *options, how="end", variables={}):
        """A job whose ranks have printed and wait; its output goes to the file self.out."""
        self.runs += 1
        self.go, self.out = self.folder / f"go{self.runs}", self.folder / f"out{self.runs}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TORUSMP_") and
                       name not in ("PYTHONUNBUFFERED", "GFORTRAN_UNBUFFERED_PRECONNECTED")} | variables
        with open(self.out, "w") as out:
            self.job = subprocess.Popen([TORUS_RUN, "-np", str(ranks), *options, *command(program), self.go, how],
                                        stdout=out, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(self.end)
        self.until(lambda: all(Path(f"{self.go}.{rank}").exists() for rank in range(ranks)))

    def end(self):
        self.job.kill()
        self.job.communicate()

    def until(self, true):
        end = time.monotonic() + LONG
        while not true():
            self.assertIsNone(self.job.poll(), "the job has ended")
            self.assertLess(time.monotonic(), end, f"this takes too long; printed: {self.out.read_text()!r}")
            time.sleep(0.01)

    def printed(self):
        return sorted(self.out.read_text().splitlines())

    def finish(self):
        self.go.touch()
        _, errors = self.job.communicate(timeout=LONG)
        return self.job.returncode, errors

    def first_lines(self, ranks, tag=False):
        lines = [(rank, "before MPI_Init") for rank in range(ranks)]
        lines += [(rank, f"rank {rank} is here") for rank in range(ranks)]
        return sorted(f"[{rank}] {line}" if tag else line for rank, line in lines)

    def each(self):
        for program in PROGRAMS:
            with self.subTest(program=os.path.basename(program)):
                yield program

    def test_lines_come_while_ranks_run(self):
        for program in self.each():
            for ranks, options in ((1, []), (2, []), (2, ["--tag-output"])):
                self.start(program, ranks, *options)
                expected = self.first_lines(ranks, bool(options))
                self.until(lambda: self.printed() == expected)
                self.assertEqual(self.finish(), (0, ""))
                self.assertEqual(len(self.printed()), 3 * ranks)

    def test_a_rank_that_is_killed_has_printed_its_lines(self):
        for program in self.each():
            self.start(program, 2, how="kill")
            code, errors = self.finish()
            self.assertEqual(code, 128 + 9, errors)
            self.assertEqual(self.printed(), self.first_lines(2))

    def test_blocks_stay_until_they_are_full_if_that_is_set(self):
        for program in self.each():
            self.start(program, 1, "--set", "launch.output=blocks")
            self.assertEqual(self.printed(), [])
            self.assertEqual(self.finish(), (0, ""))
            self.assertEqual(len(self.printed()), 3)

    def test_settings_of_the_user_for_a_language_have_priority(self):
        for program in self.each():
            if program.endswith(".py"):
                self.start(program, 1, variables={"PYTHONUNBUFFERED": ""})
                self.assertEqual(self.printed(), [])
                self.assertEqual(self.finish(), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
