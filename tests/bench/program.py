# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of programs, which are called as FILE SOURCE_DIR BUILD_DIR TEST_CLASS."""

import html
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1]) if len(sys.argv) > 1 else None
BUILD = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def clean_environment():
    """The settings of the user who runs the tests must not affect them."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TORUSMP_")}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bench-test-")
        self.addCleanup(self.folder.cleanup)
        self.work = Path(self.folder.name)

    def run_program(self, *words, environment=None, timeout=200):
        """A finished process; a hang ends the whole process group and fails the test."""
        child = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 cwd=self.work, env=environment or clean_environment(),
                                 start_new_session=True)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            self.fail(f"hung: {words}\n{out}\n{err}")
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def words_of(self, name):
        """Returns the texts in a picture. Letters are paths, and comments contain the text."""
        return "\n".join(html.unescape(found).replace("&#45;", "-")
                         for found in re.findall(r"<!-- (.*?) -->", (self.work / name).read_text(), re.DOTALL))

    def assert_ok(self, done):
        self.assertEqual(done.returncode, 0, f"{done.args}\n{done.stdout}\n{done.stderr}")

    def assert_refused(self, done, *parts):
        """Expects exit code 2, no standard output, and one line with all these parts."""
        self.assertEqual(done.returncode, 2, f"{done.args}\n{done.stdout}\n{done.stderr}")
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)


def skip_without_testbeds():
    """Skips the test if namespaces cannot be created."""
    possible = subprocess.run([SOURCE / "tests/testbed/torus-netns", "possible"],
                              capture_output=True, text=True)
    if possible.returncode or os.geteuid():
        print(possible.stderr.strip() or "a testbed that stays needs root")
        sys.exit(77)


def main():
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
