#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks in windows: under gdb in tmux, in xterm on a separate display, and under gdb in xterm.
Called as windows_test.py TORUS_RUN RANK_PROGRAM. Skipped where these programs are missing, or gdb may not attach."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TORUS_RUN, RANK_PROGRAM = (sys.argv.pop(1) for _ in range(2))
LONG = 200  # seconds: against hangs only


def gdb_may_attach():
    with subprocess.Popen(["/bin/sleep", str(LONG)]) as child:
        said = subprocess.run(["gdb", "-q", "-nx", "-batch", "-p", str(child.pid), "-ex", "printf \"attached\\n\""],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
        child.kill()
    return "attached" in said and "ptrace" not in said


def needs(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    return unittest.skipIf(missing, f"no {', '.join(missing)}")


class Windows(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="win-", dir="/tmp")  # names of sockets are short
        self.addCleanup(self.folder.cleanup)
        self.work = Path(self.folder.name)
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("TMUX", "DISPLAY", "DEBUGINFOD_URLS") and not name.startswith("TORUSMP_")}
        # Under a debugger the sanitizers cannot look for leaks.
        self.environment.update(HOME=str(self.work), SHELL="/bin/sh", LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0")
        (self.work / ".gdbinit").write_text("set debuginfod enabled off\nset confirm off\n")

    def until(self, what, true):
        end = time.monotonic() + LONG
        while not (found := true()):
            self.assertLess(time.monotonic(), end, what())
            time.sleep(0.05)
        return found

    def display(self):
        """A display that lives as long as the test."""
        reader, writer = os.pipe()
        server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "800x600x24", "-nolisten", "tcp"],
                                  pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        os.close(writer)
        with os.fdopen(reader) as said:
            number = said.readline().strip()
        if not number:
            self.skipTest("Xvfb does not start here")
        self.environment["DISPLAY"] = f":{number}"

    def start(self, *words):
        with open(self.work / "out", "w") as out:
            job = subprocess.Popen([TORUS_RUN, "-np", "2", *words], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, env=self.environment)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        return job

    def said(self):
        return (self.work / "out").read_text()

    @needs("tmux", "gdb")
    def test_gdb_in_tmux(self):
        if not gdb_may_attach():
            self.skipTest("gdb may not attach to processes here")

        def tmux(*words):
            return subprocess.run(["tmux", "-S", self.work / "tmux", "-f", "/dev/null", *words], capture_output=True,
                                  text=True, env=self.environment).stdout

        script = self.work / "job"
        script.write_text(f"'{TORUS_RUN}' -np 2 --gdb 1 '{RANK_PROGRAM}' connect barrier print=over finalize "
                          f"> '{self.work}/out' 2>&1\necho code $? >> '{self.work}/out'\n")
        tmux("new-session", "-d", "-x", "150", "-y", "50", "sh", str(script))
        self.addCleanup(tmux, "kill-server")
        window = ["-t", "rank 1"]
        shown = lambda: tmux("capture-pane", "-p", *window)
        self.until(shown, lambda: "main (" in shown() and shown().rstrip().endswith("(gdb)"))
        self.assertNotIn("over", self.said())  # rank 0 waits for the one that gdb holds
        tmux("send-keys", *window, "continue", "Enter")
        self.until(shown, lambda: "exited normally" in shown())
        tmux("send-keys", *window, "quit", "Enter")
        self.until(self.said, lambda: "code" in self.said())
        self.assertEqual(self.said(), "over\nover\ncode 0\n")

    @needs("Xvfb", "xterm")
    def test_a_rank_in_xterm(self):
        self.display()
        seen = self.work / "seen"
        words = f'if [ $TORUSMP_RANK = 1 ]; then tty > {seen}.new; mv {seen}.new {seen}; fi; while :; do sleep 1; done'
        job = self.start("--xterm", "1", "sh", "-c", words)
        self.until(self.said, lambda: seen.exists() or job.poll() is not None)
        self.assertRegex(seen.read_text(), "^/dev/")
        job.terminate()
        job.wait(LONG)

    @needs("Xvfb", "xterm", "gdb")
    def test_gdb_in_xterm(self):
        if not gdb_may_attach():
            self.skipTest("gdb may not attach to processes here")
        self.display()
        with open(self.work / ".gdbinit", "a") as file:
            file.write(f"define hook-stop\nshell echo stop >> {self.work}/stops\nend\n")
        job = self.start("--gdb", "1", RANK_PROGRAM, "connect", "barrier", "print=over", "finalize")
        stops = self.work / "stops"
        # At attaching, at exec, and in main.
        self.until(self.said, lambda: job.poll() is not None or (stops.exists() and len(stops.read_text().split()) >= 3))
        self.assertNotIn("over", self.said())
        self.assertIsNone(job.poll(), self.said())
        job.terminate()
        job.wait(LONG)


if __name__ == "__main__":
    unittest.main(verbosity=2)
