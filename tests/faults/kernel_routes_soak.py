#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose messages kernels forward, while cables fall silent, die and flap, and routes are lost:

  kernel_routes_soak.py --torus-run FILE --torus-info FILE --traffic FILE [--trials N] [--seed N]

A trial is one of the kinds below, with cable, moment and length by the seed. Every line that torus-run prints is
judged: it must name the cable that was touched, and nothing else. Trial K of seed S is repeated by --seed S --only K.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "testbed"))
from netns import kernel                                               # noqa: E402
from netns.plan import Plan                                            # noqa: E402
from netns.testbed import Testbed                                      # noqa: E402
from harness import tool                                               # noqa: E402

NODES = 5          # odd: there is one shortest way, the same both ways
TIMEOUT = 4        # seconds, transport.timeout: daemons of a busy machine may get no time for a while
PATIENCE = 120


class Wrong(Exception):
    pass


class Trial:
    """One job, or two, in a separate testbed."""

    def __init__(self, programs, seed, number):
        self.programs = programs
        self.random = random.Random(seed * 1000003 + number)
        self.folder = tempfile.TemporaryDirectory(prefix="kernel-routes-")
        os.environ["TORUS_NETNS_STATE"] = self.path("state")
        self.name = f"kr{os.getpid()}-{number}"
        tool("up", str(NODES), "--name", self.name)
        self.plan = Plan(self.name, [NODES])
        self.job = None
        self.node = self.random.randrange(NODES)     # the cable from its d0p is the one that is touched
        self.said = ""

    def end(self):
        if self.job is not None and self.job.poll() is None:
            self.job.kill()
            self.job.wait()
        tool("down", self.name)
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ends(self):
        return (self.node, "d0p"), self.plan.peer(self.node, "d0p")

    # ---- the job ----

    def start(self, forward, *traffic):
        for name in ("ready", "stop"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        self.out, self.err = open(self.path("out"), "w+"), open(self.path("err"), "w+")
        self.job = subprocess.Popen(
            [self.programs.torus_run, "--config", Testbed(self.name).geometry_file, "--agent", "ip netns exec", "--set",
             f"routing.forward={forward}", "--set", "transport.use=tcp", "--set", f"transport.timeout={TIMEOUT}s",
             self.programs.traffic, *traffic, self.path("ready"), self.path("stop")],
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def await_traffic(self):
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(self.path("ready")):
            if self.job.poll() is not None or time.monotonic() > deadline:
                raise Wrong("the job did not begin")
            time.sleep(0.01)

    def await_end(self, patience=PATIENCE):
        try:
            status = self.job.wait(patience)
        except subprocess.TimeoutExpired:
            raise Wrong(f"the job did not end within {patience} s") from None
        with open(self.path("err")) as f:
            self.said = f.read()
        with open(self.path("out")) as f:
            self.printed = f.read()
        return status

    def stop(self):
        open(self.path("stop"), "w").close()
        if status := self.await_end():
            raise Wrong(f"exit {status}")
        self.expect_cable_lines(self.said.splitlines())

    # ---- what is said ----

    def expect_cable_lines(self, lines):
        """Returns the lines about the faulty cable. No other cable may be named."""
        (a, device_a), (b, device_b) = self.ends()
        cable = f"the cable from {self.plan.host(a)} {device_a} (0+) to {self.plan.host(b)} {device_b} (0-) "
        for line in lines:
            if not re.match(f"torus-run: (warning: )?{re.escape(cable)}(is dead|is back|was dead|died|has been dead|has been up|"
                            "is flapping)", line):
                raise Wrong(f"a line about another cable: {line}")

    # ---- faults ----

    def silence(self):
        for node, device in self.ends():
            tool("set", self.name, str(node), device, "loss", "100")

    def heal(self):
        tool("heal", self.name)

    def switch_off_and_on(self, most=0):
        """Changes one end of the cable, with a pause of up to this length after each change. Returns the end."""
        node, device = self.random.choice(self.ends())
        for state in ("down", "up"):
            subprocess.run(["ip", "-n", self.plan.host(node), "link", "set", device, state], check=True)
            self.pause(most)
        return node

    def pause(self, most):
        time.sleep(self.random.uniform(0, most))

    # ---- the kinds ----

    def short_silence(self):
        """A silence shorter than transport.timeout ends nothing, however idle connections were before."""
        self.start("kernel", self.random.choice(["all", "calm", "calm"]))
        self.await_traffic()
        self.pause(2)
        self.silence()
        time.sleep(self.random.uniform(0.5, 0.8) * TIMEOUT)
        self.heal()
        self.pause(1)
        self.stop()

    def dead_cable(self):
        """A cable that stays silent ends the job, with one error that names the route over it."""
        self.start("kernel", self.random.choice(["all", "calm"]))
        self.await_traffic()
        self.pause(1)
        self.silence()
        if self.await_end() == 0:
            raise Wrong("the job succeeded")
        lines = self.said.splitlines()
        errors = [line for line in lines if "the kernels' route there:" in line]
        self.expect_cable_lines([line for line in lines if line not in errors])
        if len(errors) != 1:
            raise Wrong(f"{len(errors)} errors name a route")
        (a, _), (b, _) = self.ends()
        route = errors[0].split("the kernels' route there:")[1]
        names = re.findall(rf"{self.name}-(\d+)", route)
        if not any({int(x), int(y)} == {a, b} for x, y in zip(names, names[1:])):
            raise Wrong(f"the route does not lead over the cable: {names}")

    def lost_routes(self):
        """Routes that went with a device are named, with the command that brings them back."""
        if self.random.random() < 0.5:       # the way out of the cluster hides that there is none
            for node in self.plan.nodes():
                subprocess.run(["ip", "-n", self.plan.host(node), "route", "add", "default", "dev", "mgmt"], check=True)
        node = self.switch_off_and_on()
        self.start("kernel", "calm")
        status, lines = self.await_end(30), self.said.splitlines()
        if status == 0 or len(lines) != 1:
            raise Wrong(f"exit {status}")
        found = re.search(r'Restore them with "torus-info ([^"]+)" as root on (\S+) ', lines[0])
        if not found or f"host {self.plan.host(node)} has no route" not in lines[0]:
            raise Wrong("the message has no host or no command")
        for host in found.group(2).split(","):
            # All namespaces have the machine's name.
            subprocess.run(["ip", "netns", "exec", host, self.programs.torus_info, *found.group(1).split(), "--node", host],
                           check=True, stdout=subprocess.DEVNULL)
        self.start("kernel", "calm")
        self.await_traffic()
        self.stop()

    def flapping(self):
        """With shortcuts, a flapping cable causes only a short pause."""
        if self.node == 2:                   # on no way from rank 0
            self.node = 1
        self.start("auto", "ping", "2" if self.node in (0, 1) else "3")
        self.await_traffic()
        for _ in range(self.random.randrange(1, 4)):
            self.pause(1)
            if self.random.random() < 0.3:
                self.silence()
                time.sleep(self.random.uniform(1, 3))
                self.heal()
            else:
                self.switch_off_and_on(1)
        self.pause(1)
        self.stop()
        self.longest = float(re.search(r"longest ([\d.]+) ms", self.printed).group(1)) / 1e3


KINDS = [Trial.short_silence, Trial.dead_cable, Trial.lost_routes, Trial.flapping]


def main():
    parser = argparse.ArgumentParser()
    for option in ("--torus-run", "--torus-info", "--traffic"):
        parser.add_argument(option, required=True)
    parser.add_argument("--trials", type=int, default=len(KINDS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--kind", choices=[kind.__name__ for kind in KINDS])
    options = parser.parse_args()
    if reason := kernel.why_impossible():
        print(f"network namespaces cannot be made here: {reason}", file=sys.stderr)
        return 77
    wrong, done, longest = 0, {kind.__name__: 0 for kind in KINDS}, []
    for number in range(options.trials) if options.only is None else [options.only]:
        kind = KINDS[number % len(KINDS)]
        if options.kind and kind.__name__ != options.kind:
            continue
        trial = Trial(options, options.seed, number)
        try:
            kind(trial)
            done[kind.__name__] += 1
            if kind is Trial.flapping:
                longest.append(trial.longest)
        except Wrong as error:
            wrong += 1
            print(f"trial {number} ({kind.__name__}) of seed {options.seed}: {error}\n{trial.said}", flush=True)
        finally:
            trial.end()
    counts = ", ".join(f"{count} {name}" for name, count in done.items())
    print(f"{wrong} wrong; well: {counts}; longest round trip while a cable flapped: "
          + " ".join(f"{it:.2f}" for it in sorted(longest)) + " s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
