#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over network namespaces while cables of their torus die and come back.

  cable_testbeds.py --programs FILE... [--schedules 20] [--seed 1] [--torus 2x2x2,3x3x2] [--job wilson,traffic]
                     [--set transport.use=ethernet] [-v]

Each job runs while a schedule drawn from a seed cuts cables (the device goes down), silences them (everything is lost,
both ways or one way) and heals them, never so many that the torus falls apart. The job must end well, print what
it prints without faults, say nothing but what became of the cables, and nothing may be left of it.

  wilson     the solver: residuals and norm as without faults
  halo       halo_exchange with faces of 1 MiB
  traffic    cable_traffic: collectives, messages of 4 MiB, crowds of small ones

Exit codes: 0 all was right, 1 not (the seed is printed; --schedules 1 --seed N repeats that one), 2 usage,
77 namespaces cannot be made here.
"""
import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "testbed")]
from marked_job import MarkedJob, options_of  # noqa: E402
from netns import kernel  # noqa: E402
from netns.plan import Plan, parse_dims  # noqa: E402
from netns.testbed import STATE_VARIABLE, Testbed  # noqa: E402

# Seconds, transport.timeout: a silent cable is dead after so long, but so is a host whose daemon gets no time on a
# busy machine.
TIMEOUT = 4
PATIENCE = 120  # seconds for a job
# All that a job may say of it: the launcher does, a line for a death and one for a return.
NEWS = re.compile(r"torus-run: (warning: )?the cable from ")
GRIDS = {"2x2x2": ("4x4x4x8", "2x2x2x1"), "3x3": ("6x6x4x4", "3x3x1x1"), "3x3x2": ("6x6x4x4", "3x3x2x1"),
         "4x4": ("8x8x4x4", "4x4x1x1")}


class Wrong(Exception):
    pass


# ---- faults ----


class Cables:
    """The cables of a testbed and their faults."""

    def __init__(self, testbed, dice):
        self.testbed, self.dice = testbed, dice
        self.plan = testbed.load()
        self.dead = {}  # cable: its ends with a fault
        self.history = []

    def connected(self, dead):
        reached, grows = {0}, True
        while grows:
            grows = False
            for i, (a, _, b, _) in enumerate(self.plan.cables):
                if i not in dead and (a in reached) != (b in reached):
                    reached |= {a, b}
                    grows = True
        return len(reached) == self.plan.torus.size

    def kill(self, i, way):
        a, device_a, b, device_b = self.plan.cables[i]
        ends = [(a, device_a), (b, device_b)]
        if way != "silent":
            ends = [self.dice.choice(ends)]
        for node, device in ends:
            if way == "cut":
                self.testbed.cut(f"{node}:{device}")
            else:
                self.testbed.set(str(node), device, {"loss": 100})
        self.dead[i] = ends
        self.note(f"{way} {' '.join(f'{n}:{d}' for n, d in ends)}")

    def heal(self, i):
        for node, device in self.dead.pop(i):
            self.testbed.heal(f"{node}:{device}")
        self.note(f"healed {self.plan.cables[i]}")

    def heal_all(self):
        for i in list(self.dead):
            self.heal(i)

    def note(self, what):
        self.history.append(f"{time.monotonic() - self.began:.3f} {what}")

    began = 0.0

    def step(self):
        """Causes one more event."""
        dice = self.dice
        if self.dead and dice.random() < 0.45:
            return self.heal(dice.choice(list(self.dead)))
        living = [i for i in range(len(self.plan.cables)) if i not in self.dead]
        dice.shuffle(living)
        for i in living:
            if self.connected(set(self.dead) | {i}):
                way = dice.choices(("cut", "silent", "half", "flap"), (5, 2, 2, 2))[0]
                if way != "flap":
                    return self.kill(i, way)
                for _ in range(dice.randint(1, 4)):
                    self.kill(i, "cut")
                    time.sleep(dice.choice((0, 0.02, 0.1)))
                    self.heal(i)
                    time.sleep(dice.choice((0, 0.02, 0.1)))
                return None
        return self.heal(dice.choice(list(self.dead)))


# ---- jobs ----


class Job(MarkedJob):
    """torus-run and all that it starts, with a separate folder for its files."""

    def __init__(self, programs, testbed, kind, work, options=()):
        plan = testbed.load()
        super().__init__(testbed.name)
        self.ready, self.stop = work / "ready", work / "stop"
        self.started = work / "started"
        dims = "x".join(map(str, plan.dims))
        lattice, grid = GRIDS.get(dims, GRIDS["2x2x2"])
        words = {
            "wilson": [programs["torus-wilson"], "--lattice", lattice, "--grid", grid, "--kappa", "0.13", "--tolerance", "0",
                       "--iterations", "1500"],
            "halo": [programs["torus-halo-exchange"], "131072"],
            "traffic": [programs["cable_traffic"], "all", self.ready, self.stop, "12"],
            "ping": [programs["cable_traffic"], "ping", "1", self.ready, self.stop],
            "forever": [programs["cable_traffic"], "all", self.ready, self.stop],
        }[kind]
        self.out, self.err = open(work / "out", "w+"), open(work / "err", "w+")
        self.process = subprocess.Popen(
            [str(w) for w in ["ip", "netns", "exec", plan.front(), programs["torus-run"], "--config",
                              testbed.geometry_file, "-np", plan.torus.size, "--set", f"transport.timeout={TIMEOUT}s",
                              *options, "sh", "-c", 'touch "$0"; exec "$@"', self.started, *words]],
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, env=self.environment(), start_new_session=True)

    def await_file(self, path):
        deadline = time.monotonic() + PATIENCE
        while not path.exists():
            if self.process.poll() is not None:
                raise Wrong(f"the job ended too early, with {self.process.returncode}")
            if time.monotonic() > deadline:
                raise Wrong(f"the job has not begun after {PATIENCE} s")
            time.sleep(0.01)

    def end(self, seconds=PATIENCE):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.ask()
            raise Wrong(f"the job has not ended {seconds} s later") from None

    def ask(self):
        """Asks the ranks for their waits."""
        for pid in self.marked():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() not in ("torus-run", "sh", "ip", "ssh"):
                    os.kill(pid, signal.SIGUSR1)
        time.sleep(1)

    def said(self, file):
        file.flush()
        return Path(file.name).read_text(errors="replace")

    def finish(self):
        super().finish()
        self.out.close()
        self.err.close()


def result_of(text):
    """Returns the output of a job without its times."""
    return [re.sub(r"[\d.]+ (ms|s|us)\b.*", "", line) for line in text.splitlines()
            if not line.startswith(("time ", "speed "))]


# ---- schedules ----


def run_job(programs, testbed, kind, folder, options=(), schedule=None):
    """(what it printed, seconds). schedule: what happens meanwhile."""
    work = Path(tempfile.mkdtemp(dir=folder))
    begun = time.monotonic()
    job = Job(programs, testbed, kind, work, options)
    try:
        if schedule:
            job.await_file(job.started)
            schedule(job)
        status = job.end()
        if status != 0:
            raise Wrong(f"the job ended with {status}, expected 0")
        left = job.marked()
        if left:
            raise Wrong(f"processes are left: {left}")
        others = [line for line in job.said(job.err).splitlines() if not NEWS.match(line)]
        if others:
            raise Wrong(f"the job printed more than reports on cables: {others}")
        return job.said(job.out), time.monotonic() - begun
    except Wrong as wrong:
        raise Wrong(f"{wrong}\n{job.said(job.out)}\n{job.said(job.err)}") from None
    finally:
        job.finish()


def play(cables, most):
    """The schedule of one job, which runs until the job has ended."""
    def schedule(job):
        cables.began = time.monotonic()
        time.sleep(cables.dice.uniform(0, 0.6))
        for _ in range(most):
            if job.process.poll() is not None:
                break
            cables.step()
            time.sleep(cables.dice.choice((0, 0.03, 0.1, 0.3, 1.2)))
    return schedule


def run_under_faults(command, testbed, seed, wait_until_begun):
    """Runs a job that is silent without faults while cables die and come back. wait_until_begun(job) returns
    when the job has begun, or has ended. Raises Wrong if it does not end well, or prints other lines than
    those on cables."""
    cables = Cables(testbed, random.Random(seed))
    job = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_until_begun(job)
        play(cables, 30)(SimpleNamespace(process=job))
        printed = job.communicate(timeout=150)[0]
    finally:
        job.kill()
        job.communicate()
        cables.heal_all()
    others = [line for line in printed.splitlines() if not NEWS.match(line)]
    if job.returncode != 0 or others or not cables.history:
        raise Wrong(f"seed {seed}: exit {job.returncode}, {len(cables.history)} faults of cables\n{printed}\n"
                    + "\n".join(cables.history))


def suffer(programs, testbed, kind, seed, folder, options, expected):
    dice = random.Random(seed)
    cables = Cables(testbed, dice)
    try:
        out, seconds = run_job(programs, testbed, kind, folder, options,
                               play(cables, dice.choice((1, 3, 8, 30))))
        if result_of(out) != expected:
            raise Wrong(f"it printed\n{out}\nexpected\n" + "\n".join(expected))
        return seconds, len(cables.history)
    except Wrong as wrong:
        raise Wrong("\n".join([str(wrong), "what happened, by seconds:"] + cables.history)) from None
    finally:
        cables.heal_all()


def run(arguments, programs):
    failures = 0
    with tempfile.TemporaryDirectory(prefix="cables-") as folder:
        os.environ.setdefault(STATE_VARIABLE, os.path.join(folder, "state"))
        os.makedirs(os.environ[STATE_VARIABLE], mode=0o700, exist_ok=True)
        for dims in arguments.torus.split(","):
            testbed = Testbed(f"cb{os.getpid()}-{dims}")
            testbed.up(Plan(testbed.name, parse_dims(dims)))
            try:
                failures += run_on(arguments, programs, testbed, dims, folder)
            finally:
                testbed.down()
    return 1 if failures else 0


def run_on(arguments, programs, testbed, dims, folder):
    expected, times, quiet, events, failures = {}, {}, {}, 0, 0
    kinds = arguments.job.split(",")
    options = options_of(arguments.set)
    for n in range(arguments.schedules):
        kind, seed = kinds[n % len(kinds)], arguments.seed + n
        try:
            if kind not in expected:
                out, quiet[kind] = run_job(programs, testbed, kind, folder, options)
                expected[kind] = result_of(out)
            seconds, happened = suffer(programs, testbed, kind, seed, folder, options, expected[kind])
        except Wrong as wrong:
            print(f"cable_testbeds: {dims}, {kind}, seed {seed}: {wrong}", file=sys.stderr, flush=True)
            failures += 1
            if failures >= arguments.failures:
                return failures
            continue
        times.setdefault(kind, []).append(seconds)
        events += happened
        if arguments.v:
            print(f"{dims}, {kind}, seed {seed}: {happened} events, {seconds:.1f} s", flush=True)
    for kind, seconds in times.items():
        print(f"cable_testbeds: {dims}, {kind}: {len(seconds)} jobs ended well, {sum(seconds) / len(seconds):.1f} s on "
              f"average, {max(seconds):.1f} s at most, {quiet[kind]:.1f} s without faults", flush=True)
    print(f"cable_testbeds: {dims}: {events} cuts, silences and returns", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", required=True, nargs="+", help="torus-run, torus-wilson, torus-halo-exchange, cable_traffic")
    parser.add_argument("--schedules", type=int, default=20, help="on each torus")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--torus", default="2x2x2")
    parser.add_argument("--job", default="wilson,halo,traffic")
    parser.add_argument("--failures", type=int, default=1, help="how many before it ends")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the jobs")
    parser.add_argument("-v", action="store_true", help="a line for each job")
    arguments = parser.parse_args()
    programs = {Path(p).name: Path(p).resolve() for p in arguments.programs}
    reason = kernel.why_impossible()
    if reason or os.geteuid():
        print(f"skipped: {reason or 'a testbed that stays needs root'}")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the finally above
    return run(arguments, programs)


if __name__ == "__main__":
    sys.exit(main())
