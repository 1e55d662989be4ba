#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the reports of torus-run on faults of cables, over schedules drawn from a seed.

  said_testbeds.py --programs torus-run torus-check cable_traffic --kind silent,exchanged,lossy
                   [--trials 3] [--seed 1] [--set transport.use=ethernet] [-v]

  silent     a cable of a correct job falls silent, both ways or one way; torus-run is asked by SIGUSR1, or ends the
             job by --timeout. It must not call that a hang for ever, and must name the cable when it has been silent
             for a while. Where the cable comes back the job must end well.
  exchanged  two devices of a host are exchanged, by their plugs or by their names. A job must use them as they are
             and name their cables once; torus-check must say which devices of which host are exchanged.
  lossy      a cable loses packets, or none does: torus-run names it once, or nothing.

Exit codes: 0 all was right, 1 not (the seed is printed; --trials 1 --seed N repeats that one), 2 usage,
77 namespaces cannot be made here.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "testbed")]
from marked_job import MarkedJob, options_of  # noqa: E402
from netns import kernel  # noqa: E402
from netns.plan import Plan, parse_dims  # noqa: E402
from netns.testbed import STATE_VARIABLE, Testbed, await_ready  # noqa: E402

PATIENCE = 120  # seconds for what has to happen at all
FAREWELL = re.compile(r"torus-run: the job exceeded its --timeout of ")


class Wrong(Exception):
    pass


class Job(MarkedJob):
    """torus-run with cable_traffic, with a separate folder for its files."""

    def __init__(self, trial, *arguments, rounds=0):
        testbed, plan = trial.testbed, trial.plan
        super().__init__(testbed.name)
        self.ready, self.stop = trial.folder / "ready", trial.folder / "stop"
        traffic = [trial.programs["cable_traffic"], "all", self.ready, self.stop, *([rounds] if rounds else [])]
        self.err = open(trial.folder / "err", "w+")
        self.out = open(trial.folder / "out", "w+")
        self.process = subprocess.Popen(
            [str(w) for w in ["ip", "netns", "exec", plan.front(), trial.programs["torus-run"], "--config",
                              testbed.geometry_file, "-np", plan.torus.size, *trial.options, *arguments, *traffic]],
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, env=self.environment(), start_new_session=True)

    def lines(self):
        return Path(self.err.name).read_text(errors="replace").splitlines()

    def wait_until(self, what, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None:
                raise Wrong(f"the job ended too early ({what}), with {self.process.returncode}")
            if time.monotonic() > end:
                raise Wrong(f"{what}: not within {seconds} s")
            time.sleep(0.02)

    def end(self, wanted, seconds=PATIENCE):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Wrong(f"the job has not ended within {seconds} s") from None
        if status not in wanted:
            raise Wrong(f"the job ended with {status}, expected {' or '.join(map(str, wanted))}")
        return status

    def finish(self):
        super().finish()
        self.err.close()
        self.out.close()


class Trial:
    """A testbed and its faults."""

    def __init__(self, programs, dice, dims, folder, options):
        self.programs, self.dice, self.folder, self.options = programs, dice, Path(folder), options
        self.testbed = Testbed(f"said{os.getpid()}-{time.monotonic_ns() % 1000000}")
        self.testbed.up(Plan(self.testbed.name, parse_dims(dims)))
        self.plan = self.testbed.load()

    def name_of(self, cable):
        """The cable as messages name it."""
        a, device_a, b, device_b = cable
        ends = sorted(((a, device_a), (b, device_b)), key=lambda end: end[1][2], reverse=True)
        names = [f"{self.plan.host(n)} {d} ({d[1]}{'+' if d[2] == 'p' else '-'})" for n, d in ends]
        return f"the cable from {names[0]} to {names[1]}"

    def set_loss(self, ends, percent):
        for node, device in ends:
            self.testbed.set(str(node), device, {"loss": percent})

    def check(self):
        """Returns torus-check's findings, without the machine's own network."""
        done = subprocess.run(["ip", "netns", "exec", self.plan.front(), str(self.programs["torus-check"]), "--config",
                               self.testbed.geometry_file], text=True, capture_output=True, timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr


# ---- a cable falls silent ----


def silent(trial):
    dice = trial.dice
    cable = dice.choice(trial.plan.cables)
    ends = dice.choice([[cable[:2], cable[2:]], [cable[:2]], [cable[2:]]])
    by_timeout = dice.random() < 0.3
    limit = dice.randint(6, 9)
    # Long enough that the cable is not given up meanwhile.
    job = Job(trial, "--set", "transport.timeout=60s", *(["--timeout", limit] if by_timeout else []))
    try:
        job.wait_until("the ranks talk", job.ready.exists)
        began = time.monotonic()
        time.sleep(dice.uniform(0, 0.5))
        trial.set_loss(ends, 100)
        since = time.monotonic()
        if by_timeout:
            job.end([124], PATIENCE)
            # The ranks may have met so late that the time was over too soon.
            if began + limit - since > 3.5:
                expect_named(trial, job, cable)
        else:
            for pause in sorted(dice.uniform(0.05, 3) for _ in range(dice.randint(1, 4))):
                time.sleep(max(0, since + pause - time.monotonic()))
                ask(job)
            time.sleep(max(0, since + 4 - time.monotonic()))
            ask(job)
            expect_named(trial, job, cable)
            for node, device in ends:
                trial.testbed.heal(f"{node}:{device}")
            job.stop.touch()
            job.end([0])
        for line in job.lines():
            if "cannot go on" in line:
                raise Wrong(f"a correct job was reported to hang: {line}")
    finally:
        show(job)


def ask(job):
    """Sends SIGUSR1 and returns the answer."""
    before = len(summaries(job))
    os.kill(torus_run_of(job), signal.SIGUSR1)
    job.wait_until("an answer to SIGUSR1", lambda: len(summaries(job)) > before)


def torus_run_of(job):
    """`ip netns exec` replaces itself by the program that it starts."""
    return job.process.pid


def summaries(job):
    return [line for line in job.lines() if re.match(r"torus-run: (the job |no rank waits)", line)
            and not FAREWELL.match(line)]


def expect_named(trial, job, cable):
    last = summaries(job)[-1] if summaries(job) else "nothing"
    wanted = f"torus-run: the job waits: {trial.name_of(cable)} has been silent for "
    if not last.startswith(wanted):
        raise Wrong(f"torus-run said\n  {last}\nexpected\n  {wanted}...")


# ---- two devices of a host are exchanged ----


def rename(namespace, one, other):
    """Exchanges two device names while addresses stay with the plugs, as after another order of the kernel."""
    kernel.batch("ip", [f"link set {one} down", f"link set {other} down", f"link set {one} name spare",
                        f"link set {other} name {one}", f"link set spare name {other}", f"link set {one} up",
                        f"link set {other} up"], namespace)


def exchanged(trial):
    dice, plan = trial.dice, trial.plan
    node = dice.randrange(plan.torus.size)
    one, other = sorted(dice.sample(plan.devices(node), 2))
    if dice.random() < 0.5:
        rename(plan.host(node), one, other)
        await_ready(plan, [(node, one), (node, other)])
    else:
        trial.testbed.swap(f"{node}:{one}", f"{node}:{other}")
    named = re.compile(rf"the devices ({one} and {other}|{other} and {one}) of {plan.host(node)} are exchanged: ")
    job = Job(trial, rounds=2)
    try:
        job.end([0], 60)
        wanted = re.compile(rf"the job uses them as they are: from .*{plan.host(node)} ({one}|{other}) ")
        if len(job.lines()) != 1 or not wanted.search(job.lines()[0]):
            raise Wrong(f"torus-run said {job.lines()}, expected one line on the cables of {plan.host(node)}")
    finally:
        show(job)
    status, text = trial.check()
    if status == 0 or not named.search(text):
        raise Wrong(f"torus-check ended with {status} and said\n{text}")


# ---- a cable loses packets ----


def lossy(trial):
    dice = trial.dice
    cable = dice.choice(trial.plan.cables)
    percent = dice.choice([0, 0, 5, 10, 20])
    job = Job(trial, "--set", "transport.timeout=60s")
    try:
        job.wait_until("the ranks talk", job.ready.exists)
        if percent:
            trial.set_loss([cable[:2], cable[2:]], percent)
            wanted = f"warning: {trial.name_of(cable)} loses packets: "
            job.wait_until(f"a word on {percent} % loss", lambda: any(wanted in line for line in job.lines()))
            trial.set_loss([cable[:2], cable[2:]], 0)
        time.sleep(dice.uniform(2, 4))
        job.stop.touch()
        job.end([0])
        warnings = [line for line in job.lines() if "loses packets" in line]
        if len(warnings) != (1 if percent else 0):
            raise Wrong(f"{len(warnings)} warnings of loss, with {percent} % of it on one cable")
    finally:
        show(job)


# ---- trials ----


def show(job):
    failed = sys.exc_info()[1]
    if isinstance(failed, Wrong):
        failed.args = (f"{failed}\n--- what torus-run said\n" + "\n".join(job.lines()),)
    job.finish()


KINDS = {"silent": (silent, ("3", "4", "2x2", "3x2")), "exchanged": (exchanged, ("4", "3", "5", "3x3", "4")),
         "lossy": (lossy, ("3", "2x2"))}


def run(arguments, programs):
    failures, seconds = 0, {}
    for kind in arguments.kind.split(","):
        play, tori = KINDS[kind]
        for n in range(arguments.trials):
            seed = arguments.seed + n
            dice = random.Random(seed)
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="said-") as folder:
                trial = Trial(programs, dice, dice.choice(tori), folder, options_of(arguments.set))
                try:
                    play(trial)
                except Wrong as wrong:
                    failures += 1
                    print(f"said_testbeds: {kind}, seed {seed}, {'x'.join(map(str, trial.plan.dims))}: {wrong}",
                          file=sys.stderr, flush=True)
                    if failures >= arguments.failures:
                        return 1
                finally:
                    trial.testbed.down()
            seconds.setdefault(kind, []).append(time.monotonic() - began)
            if arguments.v:
                print(f"{kind}, seed {seed}: {seconds[kind][-1]:.1f} s", flush=True)
    for kind, all_seconds in seconds.items():
        print(f"said_testbeds: {kind}: {len(all_seconds)} trials, {sum(all_seconds) / len(all_seconds):.1f} s on average, "
              f"{max(all_seconds):.1f} s at most", flush=True)
    print(f"said_testbeds: {failures} failed", flush=True)
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", required=True, nargs="+", help="torus-run, torus-check, cable_traffic")
    parser.add_argument("--kind", default=",".join(KINDS))
    parser.add_argument("--trials", type=int, default=3, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=int, default=1, help="how many before it ends")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the jobs")
    parser.add_argument("-v", action="store_true", help="a line for each trial")
    arguments = parser.parse_args()
    if unknown := set(arguments.kind.split(",")) - set(KINDS):
        parser.error(f"unknown kind {', '.join(unknown)}: expected {', '.join(KINDS)}")
    programs = {Path(p).name: Path(p).resolve() for p in arguments.programs}
    reason = kernel.why_impossible()
    if reason or os.geteuid():
        print(f"skipped: {reason or 'a testbed that stays needs root'}")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the finally above
    with tempfile.TemporaryDirectory(prefix="said-") as folder:
        os.environ.setdefault(STATE_VARIABLE, folder)
        return run(arguments, programs)


if __name__ == "__main__":
    sys.exit(main())
