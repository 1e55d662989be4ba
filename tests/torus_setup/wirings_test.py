#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-setup on hosts that are cabled at random: it ends with a machine on which a halo exchange and all
collectives are right, or with one sentence that is true, and its undo restores every host byte for byte.
wirings_test.py SOURCE TORUS_SETUP TORUS_RUN HALO_EXCHANGE COLLECTIVES [CLASS].

The environment: WIRINGS_SEED (of the first wiring), WIRINGS_COUNT, WIRINGS_HOSTS (at most so many) and
WIRINGS_KINDS (ring,line ...; all)."""
import itertools
import math
import os
import random
import re
import shutil
import sys
import time

sys.dont_write_bytecode = True
from torus_setup_test import TORUS_RUN, SetupTest, run      # noqa: E402
from netns import kernel                                         # noqa: E402
from netns.plan import Plan                                      # noqa: E402
from harness import main, tool                                   # noqa: E402

COLLECTIVES = sys.argv.pop(1)
SEED = int(os.environ.get("WIRINGS_SEED", 1))
COUNT = int(os.environ.get("WIRINGS_COUNT", 3))
KINDS = os.environ.get("WIRINGS_KINDS", "")
MOST = int(os.environ.get("WIRINGS_HOSTS", 6))
PORTS = (["eth0", "eth1", "eth2", "eth3", "eth4", "eth5", "eth6", "eth7"],
         ["enp1s0f0", "enp1s0f1", "enp2s0", "enp3s0", "enp4s0f0", "enp4s0f1", "enp5s0", "enp6s0"],
         ["tb0", "tb1", "lan2", "lan1", "usb4", "p3p1", "p3p2", "em1"])
TWIN_PORTS = [("enp1s0f0", "enP2p1s0f0"), ("enp1s0f1", "enP2p1s0f1"), ("enp9s0", "enP9p1s0")]


def grid(extents, around):
    """Pairs of neighbours; a dimension of two is one cable."""
    nodes = list(itertools.product(*map(range, extents)))
    pairs = []
    for node in nodes:
        for d, extent in enumerate(extents):
            if node[d] + 1 < extent or (around and extent > 2):
                far = (*node[:d], (node[d] + 1) % extent, *node[d + 1:])
                pairs.append((nodes.index(node), nodes.index(far)))
    return pairs


def connected(pairs, size):
    seen, ahead = {0}, [0]
    while ahead:
        node = ahead.pop()
        for pair in pairs:
            if node in pair and (far := sum(pair) - node) not in seen:
                seen.add(far)
                ahead.append(far)
    return len(seen) == size


class Wiring:
    """A number of hosts and their cables, in the words of torus-netns --cables."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        kinds = [self.ring, self.line, self.star, self.mesh, self.torus, self.torus_with_a_hole, self.parallel,
                 self.parallel_ring, self.ring_with_a_double, self.twins, self.tree, self.irregular, self.two_parts,
                 self.far_apart, self.too_many]
        kinds = [kind for kind in kinds if KINDS in ("", kind.__name__) or kind.__name__ in KINDS.split(",")]
        kind = kinds[seed % len(kinds)]
        self.twin, self.reason = False, None
        self.kind = kind.__name__
        self.size, pairs = kind()
        order = self.shuffled(range(self.size))     # which host is which node
        self.pairs = [(order[a], order[b]) for a, b in pairs]
        self.random.shuffle(self.pairs)
        free = {node: self.ports(node) for node in range(self.size)}
        ends = [(f"{a}:{self.port(free[a])}", f"{b}:{self.port(free[b])}") for a, b in self.pairs]
        self.cables = ",".join("-".join(end) for end in ends)
        spare = [node for node in range(self.size) if not self.twin and free[node]]
        # A port without a cable costs the longest time that a driver needs for a carrier.
        self.idle = {node: free[node].pop() for node in spare
                     if self.random.random() < 0.3} if self.random.random() < 0.25 else {}
        # The share of devices that are up before.
        self.up = self.random.choice([0, 0, 0, 0.5, 1])
        # Two devices of a host whose names are exchanged later, as by another plug or kernel.
        cabled = [node for node in range(self.size) if sum(node in pair for pair in self.pairs) > 1 or self.twin]
        self.exchanged = self.random.choice(cabled) if cabled and self.up in (0, 1) and self.random.random() < 0.3 else None
        # Whether no other network joins the hosts; then the devices must be up.
        self.alone = (self.up == 1 and self.exchanged is None and not self.twin and not self.reason and
                      random.Random(f"alone {seed}").random() < 0.7)

    def ports(self, node):
        if self.twin:
            return self.shuffled(TWIN_PORTS)
        ports = self.random.choice(PORTS)
        ports = ports + [f"{name}x" for name in ports] if self.kind == "too_many" else ports
        return self.shuffled(ports)

    def shuffled(self, things):
        return self.random.sample(things, len(things))

    def port(self, free):
        name = free.pop()
        return name if isinstance(name, str) else "+".join(name)

    def hosts(self, least, most):
        """Few hosts are drawn more often than many."""
        most = max(least, min(most, MOST))
        return least + int((most - least + 1) * self.random.random() ** 2)

    def ring(self):
        size = self.hosts(3, 16)
        return size, [(i, (i + 1) % size) for i in range(size)]

    def line(self):
        size = self.hosts(2, 16)
        return size, [(i, i + 1) for i in range(size - 1)]

    def star(self):
        size = self.hosts(4, 9)
        return size, [(0, i) for i in range(1, size)]

    def mesh(self):
        size = self.random.choice([3, 4, 4, 4, 5, 6])
        return size, list(itertools.combinations(range(size), 2))

    def extents(self):
        fitting = [e for e in ((2, 2), (2, 3), (2, 4), (3, 3), (2, 2, 2), (3, 4), (4, 4), (2, 2, 4), (2, 8))
                   if math.prod(e) <= max(MOST, 4)]
        return fitting[int(len(fitting) * self.random.random() ** 1.5)]

    def torus(self):
        extents = self.extents()
        return math.prod(extents), grid(extents, self.random.random() < 0.7)

    def torus_with_a_hole(self):
        size, pairs = self.torus()
        for _ in range(self.random.randint(1, 3)):
            for hole in self.shuffled(pairs):
                rest = list(pairs)
                rest.remove(hole)
                if connected(rest, size):
                    pairs = rest
                    break
        return size, pairs

    def parallel(self):
        return 2, [(0, 1)] * self.random.randint(2, 4)

    def parallel_ring(self):
        """Each cable twice, as between hosts whose cards have two ports."""
        size, pairs = self.ring() if self.random.random() < 0.5 else self.line()
        return size, pairs * 2

    def ring_with_a_double(self):
        size, pairs = self.ring()
        return size, pairs + self.random.choices(pairs, k=self.random.randint(1, 2))

    def twins(self):
        self.twin = True
        size = self.hosts(2, 4)
        around = size > 2 and self.random.random() < 0.7
        return size, [(i, (i + 1) % size) for i in range(size if around else size - 1)]

    def tree(self):
        size = self.hosts(3, 16)
        pairs = []
        degree = dict.fromkeys(range(size), 0)
        for i in range(1, size):
            far = self.random.choice([j for j in range(i) if degree[j] < 6])
            pairs.append((far, i))
            degree[far] += 1
            degree[i] += 1
        return size, pairs

    def irregular(self):
        size, pairs = self.tree()
        for _ in range(self.random.randint(1, size)):
            a, b = self.random.sample(range(size), 2)
            if all(sum(node in pair for pair in pairs) < 7 for node in (a, b)):
                pairs.append((a, b))
        return size, pairs

    def two_parts(self):
        size = self.hosts(4, 16)
        half = self.random.randint(2, size - 2)
        self.reason = "no cable was found between these 2 parts: "
        return size, [(i, i + 1) for i in range(size - 1) if i + 1 != half]

    def far_apart(self):
        """One host without a cable."""
        size = self.hosts(3, 8)
        self.reason = "no cable was found between these 2 parts: "
        return size, [(i, i + 1) for i in range(size - 2)]

    def too_many(self):
        self.reason = r" has 1[34] cables: expected at most 12"
        return 3, [(0, 1)] * 13 + [(1, 2)]

    def parts(self):
        """The sets of hosts that cables join."""
        part = list(range(self.size))
        for _ in range(self.size):
            for a, b in self.pairs:
                part[a] = part[b] = min(part[a], part[b])
        return {frozenset(node for node in range(self.size) if part[node] == number) for number in part}

    def __str__(self):
        return (f"{self.kind} of {self.size}: --cables {self.cables}; idle {self.idle}; up {self.up}; "
                f"exchanged {self.exchanged}; alone {self.alone}")


class Wirings(SetupTest):
    def up_wired(self, wiring):
        name = self.name()
        tool("up", str(wiring.size), "--name", name, "--cables", wiring.cables, "--fresh")
        self.dress(Plan(name, [wiring.size], wiring=wiring.cables, fresh=True),
                   random.Random(wiring.cables).choice(["systemd-networkd", "NetworkManager", "networking"]))
        for node, device in wiring.idle.items():
            kernel.batch("ip", [f"link add {device} type veth peer name idle{node} netns {self.plan.front()}"],
                         self.plan.host(node))
        for node in self.plan.nodes():
            self.bring_up(node, [d for d in self.plan.devices(node) if wiring.random.random() < wiring.up])
        self.over_cables = None
        if wiring.alone:
            for host in self.hosts:
                kernel.batch("ip", ["link del mgmt"], host)
            self.write_agent_over_cables()

    def expect_right(self, program):
        on = [] if self.over_cables is None else [self.agent, self.hosts[0]]
        done = run(*on, TORUS_RUN, "--config", self.file, program)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def expect_true(self, wiring, said, shown):
        """The reason for the refusal must be one line that names a fault of these cables."""
        lines = [line for line in said.splitlines() if not line.startswith("torus-check: note")]
        reasons = [line for line in lines if not line.startswith("torus-setup: no geometry file was written")]
        self.assertEqual(len(reasons), 1, said + shown[-2000:])
        self.assertIsNotNone(wiring.reason, said + shown[-2000:])
        self.assertRegex(reasons[0], wiring.reason)
        if "parts: " in wiring.reason:
            named = reasons[0].split("parts: ")[1].removesuffix(". No file was written").split("; ")
            parts, found = wiring.parts(), []
            for words in (re.split(", | and ", part) for part in named):
                more = re.fullmatch(r"(\d+) more", words[-1])      # a long list is cut
                hosts = {self.hosts.index(name) for name in (words[:-1] if more else words)}
                whole = next(part for part in parts if hosts <= part)
                self.assertEqual(len(whole), len(hosts) + (int(more[1]) if more else 0), said)
                found.append(whole)
            self.assertEqual((len(found), set(found)), (len(parts), parts), said)

    def expect_machine(self, done, ready=True):
        self.assertEqual(done.returncode, 0 if ready else 1, done.stdout + done.stderr)
        self.assertIn("The machine is ready" if ready else "The machine works without the faulty cables", done.stdout)
        # torus-setup says so only after the halo exchange was right.
        self.expect_right(COLLECTIVES)
        if ready:       # fixed routes lead over missing cables, too
            self.expect_all_reach_all()

    def exchange(self, node):
        one, other = self.plan.devices(node)[:2]
        up = [name for name, is_up, _ in self.network(self.plan.host(node))[0] if is_up]
        lines = [f"link set {device} down" for device in (one, other)]
        lines += [f"link set {one} name other", f"link set {other} name {one}", f"link set other name {other}"]
        kernel.batch("ip", lines + [f"link set {device} up" for device in (one, other) if device in up],
                     self.plan.host(node))

    def expect_no_rest(self):
        """Each address is on one host and device, and no file names a link that is gone."""
        addresses = [line.split()[3] for host in self.hosts for line in self.network(host)[1]
                     if line.split()[3].startswith("10.")]
        self.assertEqual(len(addresses), len(set(addresses)), addresses)

    def try_out(self, seed):
        """Prints one line, at once, since a soak is long."""
        wiring = Wiring(seed)
        begin = time.monotonic()
        outcome = "WRONG"
        try:
            with self.subTest(seed=seed, wiring=str(wiring)):
                outcome = self.set_up_and_undo(wiring)
        finally:
            print(f"seed {seed}: {wiring.kind} of {wiring.size}, {len(wiring.pairs)} cables: {outcome}, "
                  f"{time.monotonic() - begin:.1f} s", flush=True)
            tool("down", self.plan.name)
            for name in (self.file, self.file + ".old"):
                if os.path.exists(name):
                    os.remove(name)
            for host in self.hosts:
                shutil.rmtree(self.path(host))

    def set_up_and_undo(self, wiring):
        self.up_wired(wiring)
        before = self.state()
        done = run(*self.command("--yes"), *self.hosts)
        # Ports without a cable at both ends of a hole are those of a missing cable.
        missing = wiring.kind == "torus_with_a_hole" and bool(wiring.idle) and "missing; jobs use" in done.stdout
        if done.returncode != 0 and not missing:
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.expect_true(wiring, done.stderr, done.stdout)
            self.setup("--undo")
            self.expect_state(before)
            return "a reason"
        self.assertIsNone(wiring.reason, done.stdout)
        with open(self.file) as f:
            text = f.read()
        for host in self.hosts:
            self.assertIn(f'"{host}"', text)
        self.expect_machine(done, not missing)
        if wiring.exchanged is not None:
            self.exchange(wiring.exchanged)
            self.expect_machine(run(*self.command("--yes"), *self.hosts), not missing)
            self.expect_no_rest()
        self.setup("--undo")
        if wiring.exchanged is not None:
            self.exchange(wiring.exchanged)
        if wiring.alone:        # devices that were brought up stay up
            for node, device in wiring.idle.items():
                kernel.batch("ip", [f"link set {device} down"], self.plan.host(node))
        self.expect_state(before)
        return "".join(["a machine", " with missing cables" if missing else "",
                        " that only cables join" if wiring.alone else "",
                        ", and again with exchanged devices" if wiring.exchanged is not None else ""])

    def test_random_wirings(self):
        for seed in range(SEED, SEED + COUNT):
            self.try_out(seed)


if __name__ == "__main__":
    main()
