#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that start separately and connect, and the state after one side of joined processes dies:
spawn_test.py TORUS_RUN JOINED_ROLES."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TORUS_RUN, ROLES = (os.path.realpath(sys.argv.pop(1)) for _ in range(2))
PATIENCE = 100


def eventually(what, condition):
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)
    return result


def introduction(secret, *hosts):
    """Returns the first bytes that a caller of a port sends."""
    def packed(text):
        return len(text).to_bytes(8, "little") + text
    message = packed(secret) + len(hosts).to_bytes(8, "little") + b"".join(map(packed, hosts))
    return len(message).to_bytes(4, "little") + message


def shared_memory():
    """The names of torusmp's shared memory, should there be any. Other libraries under test use names, too."""
    return {name for name in os.listdir("/dev/shm") if "torusmp" in name}


class Joined(unittest.TestCase):
    """Each test has a mark in the environment of all processes that it starts."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="spawn-test-")
        self.addCleanup(self.folder.cleanup)
        self.mark = os.path.basename(self.folder.name)
        self.shared_before = shared_memory()
        self.addCleanup(self.kill_all)

    def marked(self):
        """The processes of this test, {pid: command}, without those that only wait to be reaped."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if f"SPAWN_TEST={self.mark}\0".encode() not in f.read():
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if command := f.read().replace(b"\0", b" ").decode():
                        found[int(pid)] = command
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass
        return found

    def kill_all(self):
        for pid in self.marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self, *words, ranks=1, options=()):
        environment = dict(os.environ, SPAWN_TEST=self.mark, XDG_RUNTIME_DIR=self.folder.name)
        return subprocess.Popen([TORUS_RUN, "-np", str(ranks), *options, ROLES, *map(str, words)],
                                env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, job, code=0):
        text, _ = job.communicate(timeout=PATIENCE)
        self.assertTrue(job.returncode == code if code is not None else job.returncode != 0,
                        f"exit {job.returncode}\n{text}")
        return text

    def expect_no_trace(self):
        eventually("the end of all processes", lambda: not self.marked())
        eventually("no shared memory", lambda: not shared_memory() - self.shared_before)
        names = os.path.join(self.folder.name, "torusmp", "names")
        self.assertEqual(os.listdir(names) if os.path.isdir(names) else [], [])

    def line(self, job, start):
        """Waits for the next line of a job with this prefix. Returns the rest of the line."""
        for text in job.stdout:
            if text.startswith(start + " "):
                return text[len(start) + 1:].rstrip("\n")
        self.fail(f"no line {start!r}")

    # ---- jobs that meet ----

    def test_two_jobs_connect_by_a_name(self):
        first = self.start("accept", "meeting", 3, ranks=2)
        second = self.start("connect", "meeting", 3, ranks=3)
        self.assertEqual(self.finish(second), "")
        self.assertRegex(self.finish(first), r"\Aport torusmp-port:[0-9a-f:]*\n\Z")
        self.expect_no_trace()

    def test_a_job_that_goes_on_after_deaths_connects_to_one_that_does_not(self):
        first = self.start("accept", "meeting", 3, ranks=2, options=["--keep-going"])
        second = self.start("connect", "meeting", 3, ranks=3)
        self.assertEqual(self.finish(second), "")
        self.finish(first)
        self.expect_no_trace()

    def test_a_stranger_at_the_port_changes_nothing(self):
        first = self.start("accept", "meeting", 1)
        port = self.line(first, "port")
        place, _, secret = port.rpartition(":")
        self.assertEqual(len(secret), 32)
        guesses = [b"", b"\0", b"\xff" * 8, (4096).to_bytes(4, "little") + b"x" * 4096,
                   introduction(b"0" * 32, b"host")]
        strangers = []
        for guess in guesses:
            stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            stranger.settimeout(PATIENCE)
            stranger.connect("\0" + place)
            stranger.sendall(guess)
            strangers.append(stranger)
        second = self.start("connect", "meeting", 1)
        self.assertEqual(self.finish(second), "")
        self.finish(first)
        for stranger in strangers:
            try:
                self.assertEqual(stranger.recv(100), b"")
            except ConnectionResetError:
                pass
            stranger.close()
        self.expect_no_trace()

    def test_silent_strangers_delay_the_others_only(self):
        first = self.start("accept", "meeting", 1)
        port = self.line(first, "port")
        strangers = []
        for _ in range(80):
            stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            stranger.connect("\0" + port.rpartition(":")[0])
            strangers.append(stranger)
        second = self.start("connect", "meeting", 1)
        self.assertEqual(self.finish(second), "")
        self.finish(first)
        for stranger in strangers:
            stranger.close()
        self.expect_no_trace()

    def test_callers_that_leave_are_forgotten(self):
        first = self.start("accept", "meeting", 1)
        place, _, secret = self.line(first, "port").rpartition(":")
        for hosts in ((), (b"elsewhere",)):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
                caller.settimeout(PATIENCE)
                caller.connect("\0" + place)
                caller.sendall(introduction(secret.encode(), *hosts))
                self.assertIn(b"expected", caller.recv(4096))
        second = self.start("connect", "meeting", 1)
        self.assertEqual(self.finish(second), "")
        self.finish(first)
        self.expect_no_trace()

    def test_a_job_that_dies_before_the_other_has_come(self):
        first = self.start("accept", "meeting", 1)
        self.line(first, "port")
        os.kill(first.pid, signal.SIGKILL)
        first.communicate(timeout=PATIENCE)
        eventually("the end of the first job", lambda: not self.marked())
        # Its name is there; nothing answers. The second one finds no such name, and waits for one.
        second = self.start("connect", "meeting", 1)
        third = self.start("accept", "meeting", 1)
        self.assertEqual(self.finish(second), "")
        self.finish(third)
        self.expect_no_trace()

    # ---- children that never come ----

    def test_children_that_end_before_they_join(self):
        for role, code in ("killed-early", 137), ("exits-early", 3):
            text = self.finish(self.start("parent", role, 2, ranks=2))
            self.assertIn(f'" ended with code {code} before its processes called MPI_Init', text)
            self.expect_no_trace()

    # ---- parents that end before their children ----

    def start_parents_that_leave(self, code, launch=None):
        self.gate = os.path.join(self.folder.name, "gate")
        words = ["leaves", 2, code, self.gate]
        if launch is None:
            job = self.start(*words, ranks=2)
        else:
            environment = dict(os.environ, SPAWN_TEST=self.mark, XDG_RUNTIME_DIR=self.folder.name)
            job = subprocess.Popen([*launch, ROLES, *map(str, words)], env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.line(job, "finalized")
        return job

    def parents(self):
        return [command for command in self.marked().values() if command.startswith(f"{ROLES} leaves")]

    def open_gate(self):
        with open(self.gate, "w"):
            pass

    def test_parents_end_before_children_that_have_disconnected(self):
        for code in 0, 5:
            job = self.start_parents_that_leave(code)
            eventually("the end of the parents", lambda: not self.parents())
            self.assertIsNone(job.poll())
            self.open_gate()
            text = self.finish(job, code)
            self.assertEqual(len([line for line in text.splitlines() if line.startswith("child ")]), 2, text)
            messages = [line for line in text.splitlines() if not line.startswith("child ")]
            if code == 0:
                self.assertEqual(messages, [])
            else:
                self.assertRegex(messages[-1], r"processes that rank 1 \(.*\) started have ended with code 5\Z")
            os.remove(self.gate)
            self.expect_no_trace()

    def test_an_interrupt_ends_children_without_parents(self):
        job = self.start_parents_that_leave(0)
        eventually("the end of the parents", lambda: not self.parents())
        job.send_signal(signal.SIGINT)
        self.finish(job, 130)
        self.expect_no_trace()

    def test_a_parent_without_a_launcher_ends_with_its_children(self):
        for code in 0, 5:
            job = self.start_parents_that_leave(code, launch=())
            self.open_gate()
            text = self.finish(job, code)
            self.assertEqual("ended with code 5" in text, code == 5, text)
            os.remove(self.gate)
            self.expect_no_trace()

    # ---- deaths on one side ----

    def test_a_child_that_is_killed(self):
        for role, code in ("killed", 137), ("aborts", 7):
            text = self.finish(self.start("parent", role, 1, ranks=2), code)
            self.assertIn("lost: ", text)
            self.expect_no_trace()

    def kill_parent(self, role, ranks):
        job = self.start("parent", role, 2, ranks=ranks)
        self.line(job, "parent")
        pid = next(pid for pid, command in self.marked().items()
                   if command.startswith(f"{ROLES} parent"))
        os.kill(pid, signal.SIGKILL)
        text = self.finish(job, None)
        self.assertRegex(text, r"SIGKILL|signal 9|killed")
        self.expect_no_trace()

    def test_a_parent_that_is_killed_while_its_children_wait(self):
        self.kill_parent("waits", 1)

    def test_a_parent_that_is_killed_while_its_children_compute(self):
        self.kill_parent("computes", 2)

    def test_a_joined_job_that_loses_its_launcher(self):
        job = self.start("parent", "waits", 2, ranks=2)
        self.line(job, "parent")
        launcher = next(pid for pid, command in self.marked().items()
                        if command.startswith("torus-run ") and "torus-stand-in" in command)
        os.kill(launcher, signal.SIGKILL)
        text = self.finish(job, None)
        self.assertIn("the torus-run that joins it with this process has ended", text)
        self.assertNotIn("without MPI_Finalize", text)
        self.expect_no_trace()

    def test_a_launcher_that_is_killed(self):
        job = self.start("parent", "computes", 2, ranks=2)
        self.line(job, "parent")
        os.kill(job.pid, signal.SIGKILL)
        job.communicate(timeout=PATIENCE)
        self.expect_no_trace()

    def test_an_interrupt_ends_both_sides(self):
        job = self.start("parent", "computes", 1, ranks=2)
        self.line(job, "parent")
        job.send_signal(signal.SIGINT)
        self.finish(job, None)
        self.expect_no_trace()

    def test_a_child_that_is_killed_from_outside(self):
        job = self.start("parent", "computes", 2)
        self.line(job, "parent")
        child = next(pid for pid, command in self.marked().items()
                     if command.startswith(f"{ROLES} child"))
        os.kill(child, signal.SIGKILL)
        self.assertIn("lost: ", self.finish(job, 137))
        self.expect_no_trace()


if __name__ == "__main__":
    unittest.main()
