#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ethernet frames over the cables of a testbed: ethernet_testbed_test.py SOURCE ETHERNET_TEST TRANSPORT_TEST HELPER
TORUS_RUN JOB TORUS_INFO [CLASS].
"""
import contextlib
import os
import re
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
SOURCE, ETHERNET_TEST, TRANSPORT_TEST, HELPER, TORUS_RUN, JOB, TORUS_INFO = (sys.argv.pop(1) for _ in range(7))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns import kernel                                                             # noqa: E402
from netns.testbed import Testbed                                                    # noqa: E402
from harness import TOOL, TestbedTest, main, tool                                          # noqa: E402

PATIENCE = 280                     # against what hangs
FORWARDED = 0x88b6                 # the type of frames that kernels forward
UNPRIVILEGED = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# The faults of a bad cable, as arguments of tc-netem(8).
DAMAGE = ["loss", "1%", "duplicate", "1%", "corrupt", "1%", "delay", "200us", "100us", "reorder", "98%"]


class CableTest(TestbedTest):
    """Two nodes with one cable between them."""

    def setUp(self):
        super().setUp()
        self.testbed = self.name()
        tool("up", "2", "--open", "0", "--name", self.testbed)
        self.ends = [(f"{self.testbed}-0", "d0p"), (f"{self.testbed}-1", "d0m")]

    def run_here(self, *words):
        environment = dict(os.environ, TORUSMP_TEST_TRANSPORT="ethernet",
                           TORUSMP_TEST_DEVICES=" ".join(device for _, device in self.ends),
                           TORUSMP_TEST_NAMESPACES=" ".join(f"{kernel.NETNS_DIR}/{name}" for name, _ in self.ends))
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def damage_cable(self):
        for name, device in self.ends:
            done = subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", device, "root", "netem",
                                   *DAMAGE], capture_output=True, text=True)
            if done.returncode:
                self.skipTest(f"cables cannot be damaged here: {done.stderr.strip()}")


class Transport(CableTest):
    def test_it_sends_frames_and_shows_them_to_no_other_process(self):
        self.run_here(ETHERNET_TEST)

    def test_it_keeps_the_contract(self):
        self.run_here(TRANSPORT_TEST, "[contract]")


class BadCable(CableTest):
    def test_it_keeps_the_contract(self):
        self.damage_cable()
        self.run_here(TRANSPORT_TEST, "[contract]~[lossless]")


class LossyCable(CableTest):
    def test_it_keeps_the_contract(self):
        for node, (_, device) in enumerate(self.ends):
            tool("set", self.testbed, str(node), device, "loss", "2")
        self.run_here(TRANSPORT_TEST, "[contract]~[lossless]")


class TorusTest(TestbedTest):
    """A torus of hosts."""
    torus = "2x2x2"
    options = ()

    def setUp(self):
        super().setUp()
        self.testbed = self.name()
        tool("up", self.torus, "--name", self.testbed, *self.options)

    def job(self, *settings, agent="ip netns exec", path=None, messages=300, most=None):
        words = [TORUS_RUN, "--config", Testbed(self.testbed).geometry_file, "--agent", agent]
        for setting in settings:
            words += ["--set", setting]
        environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}") if path else None
        words += [JOB, "--messages", str(messages)]
        if most:
            words += ["--most", str(most)]
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE, env=environment)


class Jobs(TorusTest):
    def test_messages_go_in_frames(self):
        for settings in ([], ["transport.checksum=true"]):
            done = self.job("transport.use=ethernet", *settings)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(done.stderr, "")


class LossyJobs(TorusTest):
    """A job in frames, over a cable that loses some of them."""
    torus = "3"

    # Messages this short all go in frames, so the kernel's TCP has nothing to send again.
    MOST = 200

    def test_the_cable_is_named_once_with_the_share_that_arrives_late(self):
        for device in ("d0p", "d0m"):  # both of node 1, so that frames in both directions of two cables suffer
            done = self.job("transport.use=ethernet", messages=2000, most=self.MOST)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("loses packets", done.stderr)
            tool("set", self.testbed, "1", device, "loss", "5")
            # The daemon looks once a second, and a job on an idle machine may end sooner.
            for messages in (600_000, 2_400_000, 9_600_000):
                done = self.job("transport.use=ethernet", "transport.timeout=60s", messages=messages, most=self.MOST)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                lines = [line for line in done.stderr.splitlines() if "loses packets" in line]
                if lines:
                    break
            tool("set", self.testbed, "1", device, "loss", "0")
            self.assertEqual(len(lines), 1, done.stderr)
            found = re.search(r"the cable from (.*) loses packets: ([0-9.]+) % of the packets received on (\S+) are",
                              lines[0])
            self.assertTrue(found, lines[0])
            self.assertIn(device, found[1])
            self.assertTrue(2 <= float(found[2]) <= 9, lines[0])


def folder_with_helper(test):
    """A folder that all users may enter, with a helper that may open sockets."""
    if os.environ.get("TESTBED_WAS_USER"):
        test.skipTest("this takes a user beside root")
    # Not on a file system that ignores capabilities.
    folder = tempfile.mkdtemp(prefix="torus-ethernet-test-")
    test.addCleanup(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    helper = shutil.copy(HELPER, folder)
    os.chmod(helper, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    done = subprocess.run(["setcap", "cap_net_raw=ep", helper], capture_output=True, text=True)
    if done.returncode:
        test.skipTest(f"files get no capabilities here: {done.stderr.strip()}")
    return folder


class UserJobs(TorusTest):
    """Jobs of an unprivileged user."""
    torus = "2x2"

    def setUp(self):
        self.programs = folder_with_helper(self)
        done = subprocess.run([*UNPRIVILEGED, TORUS_RUN, "--version"], capture_output=True, text=True)
        if done.returncode:
            self.skipTest(f"other users cannot run what was built here: {done.stderr.strip()}")
        super().setUp()

        # Starts node daemons, and so ranks, as that user.
        self.agent = os.path.join(self.programs, "agent")
        with open(self.agent, "w") as script:
            script.write(f'#!/bin/sh\nhost=$1\nshift\nexec ip netns exec "$host" {" ".join(UNPRIVILEGED)} "$@"\n')
        os.chmod(self.agent, 0o755)

    def test_messages_go_in_frames_where_the_helper_may_open_sockets(self):
        done = self.job("transport.use=ethernet", agent=self.agent, path=self.programs)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")

    def test_without_the_helper_the_job_prints_the_command_to_run(self):
        os.remove(os.path.join(self.programs, "torus-ethernet"))
        done = self.job("transport.use=ethernet", agent=self.agent)
        if done.returncode == 0:
            self.skipTest("a helper is installed where this build looks for it")
        self.assertIn("setcap cap_net_raw=ep", done.stderr)
        self.assertIn("or set transport.use to auto", done.stderr)


class Helper(CableTest):
    """An unprivileged user, and the program that opens sockets."""

    def setUp(self):
        self.programs = folder_with_helper(self)
        self.helper = os.path.join(self.programs, "torus-ethernet")
        self.test = shutil.copy(ETHERNET_TEST, self.programs)
        super().setUp()

    def run_unprivileged(self, *words):
        name, device = self.ends[0]
        return subprocess.run(["ip", "netns", "exec", name, *UNPRIVILEGED, "env", f"PATH={self.programs}:/usr/bin:/bin",
                               f"TORUSMP_TEST_DEVICES={device} {device}", *words],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)

    def test_a_user_gets_sockets_from_the_helper_and_can_open_none(self):
        done = self.run_unprivileged(self.test, "[unprivileged]")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_called_by_hand_it_prints_its_purpose(self):
        done = self.run_unprivileged(self.helper, "d0p")
        self.assertEqual(done.returncode, 2)
        self.assertIn("only the library of torusmp can use this program", done.stderr)


class Forwarding(TorusTest):
    """Ranks that are not neighbours, and the kernels between them."""
    torus = "6"
    NODES = 6
    SETTINGS = ["transport.use=ethernet", "routing.forward=kernel"]

    def info(self, node, *words, geometry=None, status=0):
        geometry = geometry or Testbed(self.testbed).geometry_file
        done = subprocess.run([TOOL, "exec", self.testbed, str(node), "--", TORUS_INFO, *words, "--config", geometry],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def forwarding(self, node, *words, **how):
        return self.info(node, "netplan", "--forwarding", "--node", str(node), *words, **how)

    def lay(self):
        done = subprocess.run([TOOL, "exec", self.testbed, "0", "--", TORUS_INFO, "netplan", "--forwarding", "--apply",
                               "--node", "0", "--config", Testbed(self.testbed).geometry_file],
                              capture_output=True, text=True, timeout=PATIENCE)
        refusals = "the kernel does not load BPF programs", "takes no filters (clsact)", "No such file or directory"
        if any(refusal in done.stderr for refusal in refusals):
            self.skipTest(f"the kernel forwards no frames here: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for node in range(1, self.NODES):
            self.forwarding(node, "--apply")

    def filter(self, node, *program):
        """Filters packets that arrive at any link of a node, before they are forwarded."""
        for device in ("d0p", "d0m"):
            done = subprocess.run(["ip", "netns", "exec", f"{self.testbed}-{node}", "tc", "-batch", "-"], text=True,
                                  input="".join(line + "\n" for line in kernel.filter_lines(device, program)),
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def far_frames(self, *settings, base=None):
        """Runs a job whose messages must arrive unchanged and in order. Returns it and the ranks that sent frames to far ones."""
        # So many messages that frames are trusted before they are over.
        done = self.job(*(base or self.SETTINGS), *settings, messages=20_000)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done, {int(line.split(":")[0].split()[1]) for line in done.stdout.splitlines()
                      if "frames sent to distant ranks" in line}

    def expect_frames(self, *settings, ranks, base=None):
        done, senders = self.far_frames(*settings, base=base)
        self.assertEqual(done.stderr, "")
        self.assertEqual(senders, set(ranks), done.stdout)

    def expect_some_frames(self):
        """If many frames are lost, torus-run may warn. Chance decides which rank sends first."""
        done, senders = self.far_frames()
        self.assertNotEqual(senders, set(), done.stdout)

    def test_it_is_laid_reported_and_taken_off(self):
        self.lay()
        self.assertIn("frames are forwarded", self.forwarding(3).stdout)
        self.forwarding(3, "--apply")     # once more
        self.assertIn('"forwards_frames": true', self.here(3, "--json", "-"))
        self.assertIn("are forwarded by this kernel", self.here(3))
        self.assertIn("removed from 2 links", self.forwarding(3, "--remove").stdout)
        self.assertIn("no forwarding program on d0p", self.forwarding(3, status=1).stdout)
        self.assertIn('"forwards_frames": false', self.here(3, "--json", "-"))
        self.assertIn("removed from 0 links", self.forwarding(3, "--remove").stdout)
        self.assertIn("frames are forwarded", self.forwarding(2).stdout)
        # The plan of another node.
        self.info(3, "netplan", "--forwarding", "--node", "2", "--apply")
        self.assertIn("expected torusmp:1:6:3:", self.forwarding(3, status=1).stdout)

    def here(self, node, *words):
        """Returns the output of torus-info on a host that knows its name."""
        done = subprocess.run(["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"{self.testbed}-{node}",
                               TOOL, "exec", self.testbed, str(node), "--", TORUS_INFO, *words, "--config",
                               Testbed(self.testbed).geometry_file], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_far_ranks_talk_in_frames_that_kernels_forward(self):
        self.lay()
        self.expect_frames(ranks=range(self.NODES))
        self.expect_frames("transport.checksum=true", ranks=range(self.NODES))

    def test_frames_dropped_on_the_path_are_sent_again(self):
        self.lay()
        for node in range(self.NODES):
            for device in ("d0p", "d0m"):
                tool("set", self.testbed, str(node), device, "loss", "2")
        self.expect_some_frames()

    def test_a_path_that_forwards_no_frames_or_only_short_ones_uses_tcp(self):
        self.lay()
        load_type, load_length = "40 0 0 12", "128 0 0 0"
        # Node 1 and 4 part the ring: frames get from 2 to 3, and from 5 to 0, which are neighbours.
        for node in (1, 4):
            self.filter(node, load_type, f"21 0 1 {FORWARDED}", kernel.DROP, kernel.GO_ON)
        self.expect_frames(ranks=[])
        for node in (1, 4):
            self.filter(node, load_type, f"21 0 3 {FORWARDED}", load_length, "37 0 1 1000", kernel.DROP, kernel.GO_ON)
        # Frames that these two send themselves meet no filter, and the answers are short.
        self.expect_frames(ranks=[1, 4])

    def test_frames_of_a_sender_without_credits_starve_no_rank(self):
        self.lay()
        stop = threading.Event()
        flood = threading.Thread(target=self.flood, args=(0, 3, stop))
        flood.start()
        try:
            self.expect_some_frames()
        finally:
            stop.set()
            flood.join()

    def flood(self, source, target, stop):
        """Sends frames without a session to another node, as fast as possible."""
        with kernel.inside(f"{self.testbed}-{source}"):
            out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            out.bind(("d0p", 0))
        # Addresses, type; version, hops, coordinates; nothing that is of any session.
        frame = b"\xff" * 6 + b"\x02" * 6 + struct.pack(">H", FORWARDED)
        frame += struct.pack("<BBH6H", 1, 255, 0, target, *[0] * 5) + bytes(1000)
        with out:
            while not stop.is_set():
                with contextlib.suppress(OSError):      # the device's queue is full
                    out.send(frame)

    def test_frames_dropped_by_queues_of_slow_links_are_sent_again(self):
        self.lay()
        for node in range(self.NODES):
            for device in ("d0p", "d0m"):
                tool("set", self.testbed, str(node), device, "rate", "20")
        self.expect_some_frames()

    def test_the_cost_of_a_hop_is_measured(self):
        self.lay()       # where that cannot be, nothing is measured
        done = subprocess.run([os.path.join(SOURCE, "bench", "forwarding-cost"), "--torus-info", TORUS_INFO, "--rounds",
                               "3"], capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        figure = r"(a hop -?\d+\.\d+ us; 104 B over 1 to 6 hops( \d+\.\d+){6}|not measured: .*)"
        self.assertRegex(done.stdout, rf"^frames  {figure}\nip      {figure}\n$")

    def test_shortcuts_beside_the_relay_go_in_frames_where_these_are_forwarded_and_in_order_where_not(self):
        beside = ["transport.use=ethernet", "routing.forward=auto"]
        self.expect_frames(base=beside, ranks=[])
        self.lay()
        self.expect_frames(base=beside, ranks=range(self.NODES))

    def test_without_forwarding_the_job_prints_the_remedy(self):
        done = self.job(*self.SETTINGS)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("does not forward frames", done.stderr)
        self.assertIn("torus-info netplan --forwarding --apply", done.stderr)




if __name__ == "__main__":
    main()
