#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that join over the cables of a testbed of namespaces:
spawn_testbed_test.py SOURCE TORUS_RUN SPAWN PORTS JOINED_ROLES SESSIONS."""
import contextlib
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, SPAWN, PORTS, ROLES, SESSIONS = (sys.argv.pop(1) for _ in range(6))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from harness import TestbedTest, eventually, main, tool                # noqa: E402
from netns import kernel                                               # noqa: E402
from netns.testbed import Testbed                                      # noqa: E402


def shared_memory():
    """The names of torusmp's shared memory, should there be any. Other libraries under test use names, too."""
    return {name for name in os.listdir("/dev/shm") if "torusmp" in name}


def command(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    return b""


class Joined(TestbedTest):
    def setUp(self):
        super().setUp()
        self.up("2x2x2")
        self.shared_before = shared_memory()

    def up(self, dims):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed)

    def hosts(self):
        return [f"{self.testbed}-{node}" for node in range(8)]

    def start(self, *program, options=()):
        environment = dict(os.environ, XDG_RUNTIME_DIR=self.folder.name)
        return subprocess.Popen(
            [TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec",
             *options, *program],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def finish(self, job, code=0):
        try:
            text, _ = job.communicate(timeout=200)
        except subprocess.TimeoutExpired:
            job.terminate()
            self.fail(f"hangs\n{job.communicate()[0]}")
        self.assertEqual(job.returncode, code, text)
        return text

    def finish_both(self, first, second):
        """Returns what each printed. A failure shows both, since one may be the echo of the other."""
        try:
            return self.finish(first), self.finish(second)
        except AssertionError as failure:
            other = second if second.returncode is None else first
            if other.returncode is None:
                other.terminate()
                failure.args = (f"{failure}\n--- the other job\n{other.communicate()[0]}",)
            raise

    def expect_no_trace(self):
        ids = {kernel.namespace_id(name) for name in self.namespaces(self.testbed)}
        eventually("the end of all processes", lambda: not list(kernel.processes_in(ids)))
        eventually("no shared memory", lambda: not shared_memory() - self.shared_before)

    def test_ranks_of_all_hosts_start_others_on_all_hosts(self):
        text = self.finish(self.start(ROLES, "spread", "16", "2"))
        networks = [f"net:[{kernel.namespace_id(name)}]" for name in self.hosts()]
        self.assertEqual(sorted(text.split()), sorted(4 * networks))
        self.expect_no_trace()

    def test_children_on_some_hosts(self):
        # 3 are on three hosts, which form no box, and 12 on six.
        for number, hosts in ("3", 3), ("12", 6), ("4", 4):
            networks = set(self.finish(self.start(ROLES, "spread", number, "1")).split())
            self.assertEqual(len(networks), hosts)
        # A job on hosts that do not form a box starts others on its own hosts.
        for number, hosts in ("5", 5), ("10", 5), ("3", 3):
            job = self.start(ROLES, "spread", number, "1", options=["-np", "5"])
            self.assertEqual(len(set(self.finish(job).split())), hosts)
        self.finish(self.start(SPAWN, "spawn", "both", "multiple", "finalize", "mistakes", "between"))
        self.expect_no_trace()

    def test_sides_whose_messages_are_relayed(self):
        self.up("2x2")      # few ranks: all of them poll
        credits = ["--set", "transport.tokens=2", "--set", "transport.relay_tokens=2"]
        self.finish(self.start(SPAWN, "spawn", "each", "apart", options=credits))
        self.finish(self.start(PORTS, "meet", "bad_sockets", "mistakes", "between", options=credits))
        self.expect_no_trace()

    def test_processes_that_have_joined_start_others(self):
        host = self.hosts()[5]
        networks = self.finish(self.start(ROLES, "again", host)).split()
        self.assertEqual(len(networks), 5)
        self.expect_no_trace()

    def test_two_jobs_connect(self):
        first = self.start(ROLES, "accept", "meeting", "2")
        second = self.start(ROLES, "connect", "meeting", "2", options=["-np", "16"])
        self.assertEqual(self.finish_both(first, second)[1], "")
        self.expect_no_trace()

    def test_roots_on_different_hosts_connect(self):
        first = self.start(ROLES, "accept", "meeting", "2", "1")
        second = self.start(ROLES, "connect", "meeting", "2", "6")
        port, nothing = self.finish_both(first, second)
        self.assertEqual(nothing, "")
        self.assertRegex(port, f"^port torusmp-port:[0-9a-f:]*:{self.hosts()[1]}\n$")
        self.expect_no_trace()

    def test_a_call_that_ends_says_why(self):
        gate = os.path.join(self.folder.name, "gate")
        first = self.start(ROLES, "waits", "meeting", gate)
        self.assertTrue(first.stdout.readline().startswith("open "))
        second = self.start(ROLES, "connect", "meeting", "1", "6")
        ids = {kernel.namespace_id(self.hosts()[0])}

        def carriers():
            words = {pid: command(pid).split(b"\0") for pid in kernel.processes_in(ids)}
            return [pid for pid, it in words.items() if it[0].endswith(b"torus-stand-in") and it[1] == b"--port"]
        eventually("the call", carriers)
        for pid in carriers():
            os.kill(pid, signal.SIGKILL)
        text = self.finish(second, code=1)
        # Before the port has answered the carrier, or after that.
        self.assertRegex(text, r"MPI_Comm_connect: .*(cannot reach \S+|the connection to the other side has ended): "
                         rf"torus-run: rank 0 \(host {self.hosts()[0]}, pid \d+\) was killed by SIGKILL \(Killed\)")
        with open(gate, "w"):
            pass
        self.finish(first)
        self.expect_no_trace()

    def test_jobs_on_different_hosts_of_a_torus_connect(self):
        hosts = self.hosts()
        first = self.start(ROLES, "accept", "meeting", "2", "1", options=["--host", ",".join(hosts[:4])])
        second = self.start(ROLES, "connect", "meeting", "2", "1", options=["--host", ",".join(hosts[6:])])
        self.assertEqual(self.finish_both(first, second)[1], "")
        self.expect_no_trace()

    def test_a_job_on_some_hosts_starts_processes_on_others(self):
        hosts = self.hosts()
        networks = self.finish(self.start(ROLES, "again", hosts[7], options=["--host", ",".join(hosts[:2])]))
        self.assertEqual(len(networks.split()), 5)
        self.assertIn(f"net:[{kernel.namespace_id(hosts[7])}]", networks)
        text = self.finish(self.start(ROLES, "again", "elsewhere", options=["--host", ",".join(hosts[:2])]),
                           code=53)  # MPI_ERR_SPAWN
        self.assertIn('info key host: "elsewhere" is not a host of this job\'s machine', text)
        self.expect_no_trace()

    def test_names_are_found_on_other_hosts(self):
        text = self.finish(self.start(ROLES, "apart", "meeting"))
        host = self.hosts()[0]
        for line, expected in zip(text.splitlines(), (
                'no open port is published as "meeting" on a host of the machine',
                'the name "meeting" is already published',
                'the name "meeting" is not published for this port on this host',
                f"no process of {host} has this port open",
                f"{host}x is not a host of this job's machine",
                f"no process of {host} has this port open",
                'no open port is published as "meeting" on a host of the machine'), strict=True):
            self.assertIn(expected, line)
        self.expect_no_trace()

    def test_children_outlive_a_parent_on_another_host(self):
        for code in 0, 5:
            gate = os.path.join(self.folder.name, "gate")
            job = self.start(ROLES, "leaves", "8", str(code), gate)
            self.assertTrue(job.stdout.readline().startswith("finalized "))
            ids = {kernel.namespace_id(name) for name in self.namespaces(self.testbed)}

            def parents():
                start = f"{ROLES}\0leaves\0".encode()
                return any(command(pid).startswith(start) for pid in kernel.processes_in(ids))
            eventually("the end of the parents", lambda: not parents())
            self.assertIsNone(job.poll())
            with open(gate, "w"):
                pass
            text = self.finish(job, code)
            self.assertEqual(sum(line.startswith("child ") for line in text.splitlines()), 8, text)
            self.assertEqual("that rank 7 (" in text, code == 5, text)
            os.remove(gate)
            self.expect_no_trace()

    def test_sessions_after_the_end_of_other_ranks(self):
        for way in "late", "late_some":
            self.assertEqual(self.finish(self.start(SESSIONS, way)), "")
            self.expect_no_trace()

    def test_a_child_that_dies(self):
        text = self.finish(self.start(ROLES, "parent", "killed", "8"), code=137)
        self.assertIn("lost: ", text)
        self.expect_no_trace()


if __name__ == "__main__":
    main()
