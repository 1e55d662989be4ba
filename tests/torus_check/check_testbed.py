# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of torus-check in testbeds of namespaces. Arguments: SOURCE TORUS_CHECK TORUS_INFO [CLASS]."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_CHECK, TORUS_INFO = (sys.argv.pop(1) for _ in range(3))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns import kernel                                               # noqa: E402
from netns.testbed import Testbed                                              # noqa: E402
from netns.plan import Plan                                            # noqa: E402
from harness import TestbedTest, eventually, main, tool, write_agent_over_cables     # noqa: E402

AGENT = "ip netns exec"


class CheckTest(TestbedTest):
    before = []   # words before torus-check, to run it on a node

    def up(self, dims, *options, **planned):
        """Makes a testbed to check; self.plan and self.geometry describe it."""
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed, *options)
        self.plan = Plan(self.testbed, [int(d) for d in dims.split("x")], **planned)
        self.geometry = Testbed(self.testbed).geometry_file

    def check(self, *options, status=0, config=None):
        words = self.before + [TORUS_CHECK] + (["--config", config or self.geometry] if config != "" else [])
        words += list(options)
        done = subprocess.run(words, text=True, capture_output=True, timeout=200)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def judged(self, status=1, *options):
        """The report as JSON, and {(host, device): [(fault, text)]} of the cables that are not good."""
        report = json.loads(self.check("--json", "-", *options, status=status).stdout)
        bad = {}
        for cable in report["cables"]:
            self.assertEqual(cable["good"], not cable["findings"])
            if cable["findings"]:
                bad[cable["a"]["node"], cable["a"]["device"]] = [(f["fault"], f["text"]) for f in cable["findings"]]
        return report, bad

    def only_through_the_torus(self):
        """torus-check runs on node 0, with an agent that reaches neighbours only; returns its options."""
        pairs = {f"{self.plan.host(a)} {self.plan.host(b)}" for c in self.plan.cables
                 for a, b in ((c[0], c[2]), (c[2], c[0]))}
        agent = self.path("neighbours")
        with open(agent, "w") as f:
            f.write('#!/bin/sh\ncase "$(ip netns identify $$) $1" in\n' +
                    "|".join(f'"{pair}"' for pair in sorted(pairs)) + f') exec {AGENT} "$@";;\nesac\n'
                    'echo "no way to $1" >&2\nexit 255\n')
        os.chmod(agent, 0o755)
        self.before = ["ip", "netns", "exec", self.plan.host(0)]
        return ["--here", self.plan.host(0), "--set", "launch.through=torus", "--agent", agent]

    def only_by_address(self):
        """The same with an agent that takes a neighbour's address on a cable, and knows no names. Hosts call themselves
        as the testbed does."""
        agent = self.path("addresses")
        write_agent_over_cables(agent, self.plan, f"exec {AGENT}",
                                'unshare --uts sh -c \'echo "$0" >/proc/sys/kernel/hostname; exec "$@"\' "$host"')
        self.before = ["ip", "netns", "exec", self.plan.host(0)]
        return ["--here", self.plan.host(0), "--set", "launch.through=torus", "--agent", agent + " {address}"]

    def expect_no_process(self):
        ids = {kernel.namespace_id(host) for host in self.plan.namespaces() if kernel.namespace_id(host)}
        eventually("all processes are gone", lambda: not kernel.processes_in(ids))

    def everywhere(self, command):
        for node in self.plan.nodes():
            subprocess.run(["ip", "netns", "exec", self.plan.host(node), "sh", "-c", command], check=True)
