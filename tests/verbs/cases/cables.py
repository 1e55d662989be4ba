#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""On node 0 of a testbed: jobs whose cables die and come back.

  cables.py SCHEDULES [FIRST-SEED [all|far]]

Each job talks over all links, or between opposite corners only, so that relays place what arrives (cable_traffic), while a schedule drawn from a seed takes devices down, loses everything on a
cable, both ways or one way, and heals them again, never so many that the torus falls apart. The job must end well and every
byte be right.
"""
import csv
import os
import random
import subprocess
import sys
import time
from pathlib import Path

# Seconds, transport.timeout: a silent cable is dead after so long, and so is a host whose daemon is not heard. All share one
# emulated core, which may stand still for some seconds on a busy machine.
TIMEOUT = 15
PATIENCE = 240  # seconds, against hangs
EVENTS = 8


class Wrong(Exception):
    pass


def on(node, *command):
    done = subprocess.run(["rxe-exec", f"node-{node}", "sh", "-c", " ".join(command)], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        raise Wrong(f"on node {node}: {' '.join(command)}: {done.stderr}")


class Cables:
    def __init__(self, dice):
        self.dice, self.dead, self.history, self.began = dice, {}, [], time.monotonic()
        self.cables = []
        with open(os.environ["RXE_LINKS"]) as f:
            for line in f:
                if line.startswith("#"):
                    continue
                node, _, device, _, _, peer, _, far, _, _ = line.split()
                if (peer, far, node, device) not in self.cables:
                    self.cables.append((node, device, peer, far))

    def connected(self, dead):
        reached, grows = {"0"}, True
        while grows:
            grows = False
            for i, (a, _, b, _) in enumerate(self.cables):
                if i not in dead and (a in reached) != (b in reached):
                    reached |= {a, b}
                    grows = True
        return len(reached) == int(os.environ["RXE_SIZE"])

    def kill(self, i, way):
        a, device_a, b, device_b = self.cables[i]
        ends = [(a, device_a), (b, device_b)]
        if way != "silent":
            ends = [self.dice.choice(ends)]
        for node, device in ends:
            on(node, f"ip link set dev {device} down" if way == "cut" else f"tc qdisc add dev {device} root netem loss 100%")
        self.dead[i] = way, ends
        self.note(f"{way} {ends}")

    def heal(self, i):
        way, ends = self.dead.pop(i)
        for node, device in ends:
            # With what went with it: neighbours, routes.
            on(node, f"grep -w 'dev {device}' /run/rxe/ip | ip -force -batch - 2>/dev/null; true" if way == "cut"
               else f"tc qdisc del dev {device} root")
        self.note(f"healed {ends}")

    def heal_all(self):
        while self.dead:
            self.heal(next(iter(self.dead)))

    def note(self, what):
        self.history.append(f"{time.monotonic() - self.began:.2f} {what}")

    def step(self):
        living = [i for i in range(len(self.cables)) if i not in self.dead and self.connected({*self.dead, i})]
        if not living or (self.dead and self.dice.random() < 0.45):
            return self.heal(self.dice.choice(list(self.dead)))
        i = self.dice.choice(living)
        way = self.dice.choices(("cut", "silent", "half", "flap"), (5, 2, 2, 2))[0]
        if way != "flap":
            return self.kill(i, way)
        for _ in range(self.dice.randint(1, 3)):
            self.kill(i, "cut")
            time.sleep(self.dice.choice((0, 0.05)))
            self.heal(i)
        return None


def say_what_is_awaited(job):
    """Each rank does."""
    job.send_signal(10)
    time.sleep(10)


def wait(job, until, what):
    end = time.monotonic() + PATIENCE
    while not until():
        if job.poll() is not None:
            raise Wrong(f"the job ended {what}, exit code {job.returncode}")
        if time.monotonic() > end:
            say_what_is_awaited(job)
            raise Wrong(f"{PATIENCE} s were not enough {what}")
        time.sleep(0.02)


def bytes_written():
    """By all ranks of the job that runs."""
    seen = subprocess.run(["torus-top", "--csv", "--show", "links"], text=True, capture_output=True, timeout=PATIENCE)
    if seen.returncode:
        raise Wrong(f"torus-top: {seen.stderr}")
    return sum(int(row["written"]) for row in csv.DictReader(seen.stdout.splitlines()))


def run(seed, traffic):
    dice = random.Random(seed)
    work = Path(os.environ["RXE_SHARED"]) / "cables"
    work.mkdir(exist_ok=True)
    ready, stop = work / "ready", work / "stop"
    for file in (ready, stop):
        file.unlink(missing_ok=True)
    size = os.environ["RXE_SIZE"]
    command = ["torus-run", "-np", size, "--set", f"transport.timeout={TIMEOUT}s", "cable_traffic", traffic, ready, stop]
    said = open(work / "said", "w+")
    cables = Cables(dice)
    if seed % 4 == 0:  # dead from the start
        cables.kill(dice.randrange(len(cables.cables)), "cut")
    job = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    try:
        wait(job, ready.exists, "before any fault")
        for _ in range(EVENTS):
            cables.step()
            time.sleep(dice.choice((0, 0.1, 0.5, 0.5, 1.5, 1.5, TIMEOUT + 2)))
            if job.poll() is not None:
                raise Wrong(f"the job ended with {job.returncode}")
        if dice.random() < 0.5:
            cables.heal_all()
        if traffic == "far" and not bytes_written():
            raise Wrong("no relay has placed anything")
        stop.touch()
        cables.note("asked to end")
        end = time.monotonic() + PATIENCE
        while job.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if job.poll() is None:
            say_what_is_awaited(job)
            raise Wrong(f"the job has not ended {PATIENCE} s after it was asked to")
        said.seek(0)
        if job.returncode or "all bytes were right" not in said.read():
            raise Wrong(f"the job ended with {job.returncode}")
    except Wrong as wrong:
        said.seek(0)
        print(f"seed {seed}: {wrong}\n  " + "\n  ".join(cables.history) + "\nthe job said:\n" + said.read()[-20000:], flush=True)
        return False
    finally:
        if job.poll() is None:
            job.terminate()
            try:
                job.wait(60)
            except subprocess.TimeoutExpired:
                print(f"seed {seed}: torus-run does not end when it is asked to", flush=True)
                job.kill()
                job.wait()
        cables.heal_all()
    print(f"seed {seed}: {len(cables.history)} events, {time.monotonic() - cables.began:.1f} s", flush=True)
    return True


def main():
    schedules, first = int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    traffic = (sys.argv[3:] or ["all"])[0]
    failed = [seed for seed in range(first, first + schedules) if not run(seed, traffic)]
    print(f"figure: {schedules - len(failed)} of {schedules} jobs ended well while cables died and came back")
    if failed:
        print(f"failed: seeds {failed}; cables.py 1 SEED repeats one")
    return 1 if failed else 0


sys.exit(main())
