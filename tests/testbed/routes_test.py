#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IP streams between all nodes of a testbed while its cables are cut and healed, over the routes of
torus-info netplan --routes bird: routes_test.py TORUS_INFO [CLASS].

By hand, on a machine that does nothing else:
    ROUTES_SECONDS=600 ROUTES_SEED=7 ROUTES_LONGEST=2 routes_test.py TORUS_INFO Ring"""
import itertools
import os
import random
import selectors
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from netns import kernel                                           # noqa: E402
from netns.plan import Plan                                        # noqa: E402
from harness import TOOL, TestbedTest, eventually, main            # noqa: E402
from harness import tool_program as tool                           # noqa: E402

SECONDS = float(os.environ.get("ROUTES_SECONDS", 6))
SEED = int(os.environ.get("ROUTES_SEED", 1))
# Seconds for which a stream may stop. Fixed routes stop it until TCP tries again after the cable is back.
LONGEST = float(os.environ.get("ROUTES_LONGEST", 2))


class Streams:
    """A TCP stream between the addresses of every two nodes, in both directions, and the longest pause of each."""

    def __init__(self, plan):
        self.ends = {(a, b): self.connect(plan, a, b) for a, b in itertools.permutations(plan.nodes(), 2)}
        self.pauses = dict.fromkeys(self.ends, (0, 0))      # (seconds, when it ended)
        self.last = dict.fromkeys(self.ends, time.monotonic())
        self.over = False
        self.threads = [threading.Thread(target=run) for run in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def connect(plan, a, b):
        with kernel.inside(plan.host(b)):
            listener = socket.create_server((plan.node_address(b), 0))
        with kernel.inside(plan.host(a)):
            sender = socket.socket()
        sender.bind((plan.node_address(a), 0))
        with listener:
            sender.connect(listener.getsockname())
            receiver = listener.accept()[0]
        sender.setblocking(False)
        receiver.setblocking(False)
        return sender, receiver

    def send(self):
        while not self.over:
            for sender, _ in self.ends.values():
                try:
                    sender.send(b"x" * 1000)
                except BlockingIOError:
                    pass    # its path is cut; the kernel holds what is not acknowledged
            time.sleep(0.01)

    def receive(self):
        with selectors.DefaultSelector() as selector:
            for pair, (_, receiver) in self.ends.items():
                selector.register(receiver, selectors.EVENT_READ, pair)
            while not self.over:
                for key, _ in selector.select(0.1):
                    key.fileobj.recv(1 << 20)
                    now = time.monotonic()
                    self.pauses[key.data] = max(self.pauses[key.data], (now - self.last[key.data], now))
                    self.last[key.data] = now

    def end(self):
        """The longest pause of all, when it ended, and its pair."""
        self.over = True
        for thread in self.threads:
            thread.join()
        now = time.monotonic()
        for sender, receiver in self.ends.values():
            sender.close()
            receiver.close()
        return max((*max(self.pauses[pair], (now - self.last[pair], now)), pair) for pair in self.ends)


class Routes(TestbedTest):
    dims = None

    def setUp(self):
        super().setUp()
        if not shutil.which("bird"):
            self.skipTest("bird is not installed")
        name = self.name()
        geometry = self.path("geometry.toml")
        tool("up", self.dims, "--name", name, "--no-routes", "--geometry", geometry)
        self.plan = Plan(name, [int(d) for d in self.dims.split("x")], routes=False)
        self.keepers = []
        self.addCleanup(self.end_keepers)
        for node in self.plan.nodes():
            self.keepers.append(subprocess.Popen(
                [TOOL, "exec", name, str(node), "--", TORUS_INFO, "netplan", "--config", geometry, "--node", str(node),
                 "--apply", "--keep", "--routes", "bird"], stdout=subprocess.DEVNULL,
                env={**os.environ, "RUNTIME_DIRECTORY": self.folder.name}))
        eventually("routes between all nodes", lambda: all(self.knows_all(node) for node in self.plan.nodes()))

    def end_keepers(self):
        for process in self.keepers:
            process.terminate()
            process.wait()

    def routes(self, node):
        return subprocess.run(["ip", "-n", self.plan.host(node), "-o", "route"], text=True, capture_output=True,
                              check=True).stdout.splitlines()

    def knows_all(self, node):
        found = {line.split()[0] for line in self.routes(node)}
        return all(self.plan.node_address(other) in found for other in self.plan.nodes() if other != node)

    def hops(self, node, target):
        """The devices of the routes to a node."""
        line = next((line for line in self.routes(node) if line.split()[0] == self.plan.node_address(target)), "")
        words = line.split()
        return sorted(words[i + 1] for i, word in enumerate(words) if word == "dev")

    def connected_without(self, dead):
        seen, ahead = {0}, [0]
        while ahead:
            node = ahead.pop()
            for number, (a, _, b, _) in enumerate(self.plan.cables):
                if number not in dead and node in (a, b) and (other := b if node == a else a) not in seen:
                    seen.add(other)
                    ahead.append(other)
        return len(seen) == self.plan.torus.size

    def damage(self, cable, how):
        a, device_a, b, device_b = self.plan.cables[cable]
        if how == "cut":
            tool("cut", self.plan.name, f"{a}:{device_a}")
        else:       # no carrier is lost
            tool("set", self.plan.name, str(a), device_a, "loss", "100")
            tool("set", self.plan.name, str(b), device_b, "loss", "100")

    def heal(self, cable):
        a, device_a, b, device_b = self.plan.cables[cable]
        tool("heal", self.plan.name, f"{a}:{device_a}")
        tool("heal", self.plan.name, f"{b}:{device_b}")
        # The next cut may need this cable, so it must carry traffic again.
        eventually("a healed cable is used", lambda: device_a in self.hops(a, b) and device_b in self.hops(b, a))

    def expect_streams_that_go_on(self):
        random_source = random.Random(SEED)
        streams = Streams(self.plan)
        dead, cuts, story = set(), 0, []
        try:
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                time.sleep(random_source.uniform(0.3, 2))
                whole = [c for c in range(len(self.plan.cables))
                         if c not in dead and self.connected_without(dead | {c})]
                if dead and (not whole or random_source.random() < 0.5):
                    cable = random_source.choice(sorted(dead))
                    how = "heal"
                    begin = time.monotonic()
                    self.heal(cable)
                    dead.remove(cable)
                else:
                    cable = random_source.choice(whole)
                    how = random_source.choice(["cut", "silent"])
                    begin = time.monotonic()
                    self.damage(cable, how)
                    dead.add(cable)
                    cuts += 1
                story.append((begin, time.monotonic(), f"{how} {self.plan.cables[cable]}"))
            time.sleep(2)
        finally:
            longest, end, pair = streams.end()
        print(f"{self.dims}: {cuts} cables died under {len(streams.ends)} streams; longest pause {longest:.2f} s, of "
              f"the stream {pair}. Around it:")
        for first, last, what in story:
            if end - longest - 1 < last and first < end + 1:
                print(f"  {first - end + longest:.2f} to {last - end + longest:.2f} s after its begin: {what}")
        self.assertGreater(cuts, 0)
        self.assertLess(longest, LONGEST, f"the stream of {pair} stopped; seed {SEED}")


class Ring(Routes):
    dims = "4"

    def test_streams_go_on_while_cables_die_and_come_back(self):
        self.expect_streams_that_go_on()

    def test_equal_paths_are_used_and_a_dead_cable_is_not(self):
        eventually("two paths to the opposite node", lambda: self.hops(0, 2) == ["d0m", "d0p"])
        self.damage(0, "silent")
        eventually("one path to the opposite node", lambda: self.hops(0, 2) == ["d0m"])
        self.assertEqual(self.hops(0, 1), ["d0m"])
        self.heal(0)
        eventually("two paths again", lambda: self.hops(0, 2) == ["d0m", "d0p"])

    def test_routes_end_with_their_program(self):
        self.keepers[0].terminate()
        eventually("no routes of BIRD", lambda: not any("proto bird" in line for line in self.routes(0)))


class Plane(Routes):
    dims = "3x3"

    def test_streams_go_on_while_cables_die_and_come_back(self):
        self.expect_streams_that_go_on()


del Routes      # it has no dimensions of its own


if __name__ == "__main__":
    TORUS_INFO = sys.argv.pop(1)
    main()
