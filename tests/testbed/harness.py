# SPDX-License-Identifier: BSD-3-Clause
"""Shared by tests in a testbed: the tool, testbeds with unique names, and links seen from inside.

A test program calls main(), which gives exit 77 where namespaces cannot be made; as an ordinary user it
goes on as root of a user namespace of its own.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from netns import kernel

HERE = os.path.dirname(os.path.realpath(__file__))
TOOL = os.path.join(HERE, "torus-netns")
PATIENCE = 60


def load_tool():
    loader = importlib.machinery.SourceFileLoader("torus_netns", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("torus_netns", loader))
    loader.exec_module(module)
    return module


torus_netns = load_tool()
# The verbs that neither replace this process nor handle its signals.
HERE_VERBS = ("up", "down", "list", "cut", "heal", "set", "swap", "kill-node")


def tool(*words, status=0):
    """Runs torus-netns. Most verbs run in this process: an interpreter takes ten times as long to start as a cable
    to be cut. testbed_test.py starts the program."""
    if words[0] in HERE_VERBS:
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = torus_netns.answer(words)
        done = subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())
    else:
        done = subprocess.run([TOOL, *words], text=True, capture_output=True, timeout=200)
    return expect_status(done, status, words)


def tool_program(*words, status=0):
    """Runs torus-netns as a program."""
    done = subprocess.run([TOOL, *words], text=True, capture_output=True, timeout=200)
    return expect_status(done, status, words)


def expect_status(done, status, words):
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(words)}: exit {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done


def eventually(what, condition):
    """Waits for a condition. What is not true soon is tested more rarely, because many conditions are slow to test."""
    end, pause = time.monotonic() + PATIENCE, 0.01
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(pause)
        pause = min(1.1 * pause, 0.2)
    return result


def alive(pid):
    """Returns True if a process runs; a zombie does not run."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class TestbedTest(unittest.TestCase):
    """Testbeds of a test have unique names, and are removed after it in any case."""
    made = itertools.count()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="testbed-test-")
        self.addCleanup(self.folder.cleanup)
        os.environ["TORUS_NETNS_STATE"] = os.path.join(self.folder.name, "state")

    def name(self):
        name = f"tb{os.getpid()}-{next(self.made)}"
        self.addCleanup(tool, "down", name, status=None)
        return name

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def namespaces(self, name):
        return sorted(n for n in kernel.namespaces() if n.startswith(name + "-"))

    def expect_no_trace(self, name):
        self.assertEqual(self.namespaces(name), [])
        self.assertFalse(os.path.exists(os.path.join(os.environ["TORUS_NETNS_STATE"], name)))
        self.assertNotIn(name, tool("list").stdout)


# ---- links, seen from inside the namespaces ----

def link_socket(namespace, device):
    """A UDP socket of a namespace that hears IPv6 link-local multicast on one device."""
    with kernel.inside(namespace):
        index = socket.if_nametoindex(device)
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        s.bind(("::", 9900))
        group = socket.inet_pton(socket.AF_INET6, "ff02::1")
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group + struct.pack("@I", index))
        return s, index


def far_ends(plan, deaf=0):
    """{(node, device): what that device hears} when every device says who it is. `deaf`: how many should hear
    nothing; those get a little longer than the others needed."""
    sockets = {end: link_socket(plan.host(end[0]), end[1]) for end in plan.addresses}
    try:
        for (node, device), (s, index) in sockets.items():
            try:
                s.sendto(f"{node} {device}".encode(), ("ff02::1", 9900, 0, index))
            except OSError:
                pass   # down: says nothing
        heard = {}
        for end, (s, _) in sockets.items():
            s.settimeout(0)
            heard[end] = None
        deadline = time.monotonic() + PATIENCE
        while None in heard.values() and time.monotonic() < deadline:
            if list(heard.values()).count(None) == deaf:
                deadline = min(deadline, time.monotonic() + 0.2)
            for end, (s, _) in sockets.items():
                try:
                    node, device = s.recv(100).decode().split()
                    heard[end] = (int(node), device)
                except BlockingIOError:
                    pass
            time.sleep(0.001)
        return heard
    finally:
        for s, _ in sockets.values():
            s.close()


def udp_arrives(namespace, source, target_namespace, target):
    """Returns True if a datagram arrives over the routes. It is sent repeatedly until then."""
    with kernel.inside(target_namespace):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.bind((target, 0))
    with kernel.inside(namespace):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.bind((source, 0))
    with receiver, sender:
        receiver.settimeout(0.5)
        for _ in range(20):
            try:
                sender.sendto(b"?", receiver.getsockname())
                receiver.recv(10)
                return True
            except OSError:
                continue
    return False


def become_root():
    """Restarts an unprivileged user's test as root of its own namespaces."""
    os.environ["TESTBED_WAS_USER"] = "1"
    os.execvp("unshare", ["unshare", "-Urnm", "--", sys.executable, *sys.orig_argv[1:]])


def link_address(host, device):
    def shown():
        done = subprocess.run(["ip", "-n", host, "-j", "-6", "addr", "show", "dev", device, "scope", "link"], text=True,
                              capture_output=True, timeout=200)
        return [it["local"] for link in json.loads(done.stdout) for it in link.get("addr_info", [])
                if not it.get("tentative")]
    eventually(f"an address of {device}", shown)
    return shown()[0]


def write_agent_over_cables(path, plan, enter, on_host=""):
    """Writes a program that takes "ADDRESS COMMAND..." and runs COMMAND on the neighbour that has this address on a
    cable. `enter`: words that start a command on the host named behind them; `on_host`: words before COMMAND."""
    ways = [f'"{plan.host(near)} {link_address(plan.host(far), back)}%{out}") host={plan.host(far)};;'
            for a, one, b, other in plan.cables for near, out, far, back in ((a, one, b, other), (b, other, a, one))]
    with open(path, "w") as f:
        f.write('#!/bin/sh\ncase "$(ip netns identify $$) $1" in\n' + "\n".join(ways) +
                '\n*) echo "no way to $1" >&2; exit 255;;\nesac\nshift\n' + f'{enter} "$host" {on_host} "$@"\n')
    os.chmod(path, 0o755)


def main():
    """Runs the classes named on the command line, after the arguments of the test itself."""
    reason = kernel.why_impossible()
    if reason:
        print(f"skipped: network namespaces cannot be made here: {reason}")
        sys.exit(77)
    if os.geteuid():
        become_root()
    if os.environ.get("TESTBED_WAS_USER"):
        kernel.mount_private()
    result = unittest.main(module="__main__", exit=False).result
    sys.exit(77 if result.skipped and len(result.skipped) == result.testsRun else not result.wasSuccessful())
