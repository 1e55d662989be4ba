#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random faults on jobs over network namespaces, one after the other.

  fault_testbeds.py --torus-run FILE --rank FILE [--faults 200] [--seed 1] [--torus 2x2] [--only KIND,...]
                    [--set transport.use=ethernet] [-v]

Each job is started with torus-run over a testbed, talks over all its links, and suffers one fault. Deadly
ones (a rank or the launcher killed, a rank stopped, a device down where links have no detours, all cables of a node cut, a
node gone) must end it in time with an error that names the culprit; the others (a cable cut, garbage, outsiders, replays,
half-open connections) must cost it nothing. After
each job no process, no socket in use and no file may be left.

Exit codes: 0 all was right, 1 not (the seed is printed; --faults 1 --seed N repeats that one), 2 usage,
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

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = Path(__file__).resolve().parent
TESTBED = HERE.parent / "testbed/torus-netns"
ATTACK = HERE / "attack.py"
TIMEOUT = 3  # seconds, transport.timeout where a fault is deadly
PATIENCE = 60  # where nothing may happen, also on a busy machine
# From a deadly fault to the end of the job: the timeout, the news, the launcher, and what a busy
# machine takes for it.
IN_TIME = TIMEOUT + 17


sys.path[:0] = [str(HERE), str(TESTBED.parent)]
from marked_job import MarkedJob, options_of  # noqa: E402
from netns import kernel  # noqa: E402
from netns.plan import Torus  # noqa: E402
from harness import tool  # noqa: E402


class Wrong(Exception):
    pass


def sh(*words, check=True):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if check and done.returncode:
        raise Wrong(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def change(*words):
    """Makes a testbed, or changes one."""
    try:
        tool(*map(str, words))
    except AssertionError as refusal:
        raise Wrong(str(refusal)) from None


class Testbed:
    def __init__(self, torus, work):
        self.name, self.torus = f"fault{os.getpid()}-{time.monotonic_ns() % 10**6}", torus
        self.extents = [int(e) for e in torus.split("x")]
        self.geometry = work / "geometry.toml"
        change("up", torus, "--name", self.name, "--geometry", self.geometry)
        nodes = 1
        for extent in self.extents:
            nodes *= extent
        self.hosts = [f"{self.name}-{n}" for n in range(nodes)]

    def down(self):
        tool("down", self.name, status=None)

    def places(self):
        return self.hosts + [f"{self.name}-front"]


class Job(MarkedJob):
    """torus-run and all that it starts, with a separate folder for its files."""

    def __init__(self, arguments, testbed, work, timeout, options=()):
        super().__init__(testbed.name)
        self.testbed = testbed
        self.temporary = work / "tmp"
        self.temporary.mkdir()
        self.ready, self.stop = work / "ready", work / "stop"
        self.output = open(work / "output", "w+")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", f"{testbed.name}-front", arguments.torus_run, "--config", testbed.geometry,
             "-np", str(len(testbed.hosts)), "--set", f"transport.timeout={timeout}s", *options, arguments.rank,
             testbed.torus, self.ready, self.stop],
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
            env=self.environment(TMPDIR=str(self.temporary)), start_new_session=True)

    def said(self):
        self.output.flush()
        return Path(self.output.name).read_text(errors="replace")

    def until_ready(self):
        deadline = time.monotonic() + PATIENCE
        while not self.ready.exists():
            if self.process.poll() is not None:
                raise Wrong(f"the job ended before any fault, with {self.process.returncode}")
            if time.monotonic() > deadline:
                raise Wrong(f"the job does not communicate after {PATIENCE} s")
            time.sleep(0.02)

    def end(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            alive = "\n".join(f"  {pid} {state_of(pid)}: {command_of(pid)}" for pid in self.marked())
            raise Wrong(f"the job has not ended {seconds} s later; still there:\n{alive}") from None

    def ranks(self, host):
        """Processes of the rank on a node."""
        return [pid for pid in map(int, sh("ip", "netns", "pids", host).split())
                if pid in self.marked() and "fault_rank" in command_of(pid).split(" ")[0]]

    def finish(self):
        super().finish()
        self.output.close()


def state_of(pid):
    """Like "S (sleeping) in do_epoll_wait"."""
    with contextlib.suppress(OSError):
        state = re.search(r"State:\s*(.*)", Path(f"/proc/{pid}/status").read_text())[1]
        return f"{state} in {Path(f'/proc/{pid}/wchan').read_text()}"
    return "gone"


def command_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def lines_of(place, table):
    """The lines of a table of sockets in a namespace; none if the namespace is gone."""
    with contextlib.suppress(OSError), kernel.inside(place), open(f"/proc/thread-self/net/{table}") as f:
        return f.read().splitlines()[1:]
    return []


def listening(place):
    """TCP ports with a listener in a namespace, of either family."""
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in lines_of(place, table):
            words = line.split()
            if words[3] == "0A":
                ports.add(int(words[1].rsplit(":", 1)[1], 16))
    return sorted(ports)


def sockets_in_use(place):
    """Lines of the tables whose socket belongs to a process, without connections that only the kernel still closes."""
    lines = [f"{place} packet: {line.strip()}"
             for line in lines_of(place, "packet")
             if line.split()[3] != "0003"]  # attack.py records
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in lines_of(place, table):
            if line.split()[9] != "0":
                lines.append(f"{place} {table}: {line.strip()}")
    return lines


# ---- faults: each returns what the error must name (one of them), or nothing where none may come ----


def some_rank(job, dice):
    number = dice.randrange(len(job.testbed.hosts))
    pids = job.ranks(job.testbed.hosts[number])
    if len(pids) != 1:
        raise Wrong(f"{job.testbed.hosts[number]} has the rank processes {pids}, expected one")
    return number, pids[0]


def dead_link_of(number):
    """A neighbour may notice it before the launcher, and end the job."""
    return rf"link between rank ({number}\b|\d+\b[^\n;]* and rank {number}\b)[^\n]* is dead; rank \d+\b[^\n]* saw: "


def kill_rank(job, dice):
    number, pid = some_rank(job, dice)
    os.kill(pid, dice.choice((signal.SIGKILL, signal.SIGTERM)))
    return [rf"rank {number} \(host [^,]*, pid {pid}\) was killed", dead_link_of(number)]


def stop_rank(job, dice):
    number, pid = some_rank(job, dice)
    os.kill(pid, signal.SIGSTOP)
    return [rf"rank {number} \(host [^,]*, pid {pid}\) has been stopped", dead_link_of(number)]


def cut_device(job, dice):
    number = dice.randrange(len(job.testbed.hosts))
    dimension, sign = dice.randrange(len(job.testbed.extents)), dice.choice("pm")
    change("cut", job.testbed.name, f"{number}:d{dimension}{sign}")
    torus = Torus(job.testbed.extents, [True] * len(job.testbed.extents))
    other = torus.neighbour(number, dimension, 1 if sign == "p" else -1)
    return [rf"link between rank {a}\b[^\n;]* and rank {b}\b[^\n]* is dead; rank ({a}|{b})\b[^\n]* saw: "
            for a, b in ((number, other), (other, number))]


def cut_cable(job, dice):
    """A cable that others can replace."""
    cut_device(job, dice)


def cut_off(job, dice):
    """All cables of a node: no path to it is left."""
    return cut_off_one(job, dice.randrange(len(job.testbed.hosts)))


def cut_off_one(job, number):
    for dimension in range(len(job.testbed.extents)):
        for sign in "pm":
            change("cut", job.testbed.name, f"{number}:d{dimension}{sign}")
    return [rf"no detour is left around the dead links between [^\n]*\brank {number}\b"]


def cut_off_again(job, dice):
    """All cables of a node, one of which was dead before."""
    number = dice.randrange(len(job.testbed.hosts))
    change("cut", job.testbed.name, f"{number}:d0p")
    time.sleep(dice.uniform(0, 0.3))
    change("heal", job.testbed.name, f"{number}:d0p")
    time.sleep(dice.uniform(0, 2))
    return cut_off_one(job, number)


def kill_node(job, dice):
    number = dice.randrange(len(job.testbed.hosts))
    change("kill-node", job.testbed.name, number)
    return [rf"node {number}, rank {number}\) is lost", dead_link_of(number)]


def kill_launcher(job, dice):
    job.process.kill()
    return [""]  # it can say nothing any more


def attack(kind):
    def act(job, dice):
        # From a neighbour's side of a cable, from the node itself, and from the management network.
        target = dice.choice(job.testbed.places())
        ports = listening(target)
        if not ports:
            return None
        for source in dice.sample(job.testbed.places(), 2) + [target]:
            sh("ip", "netns", "exec", source, sys.executable, ATTACK, kind, str(dice.randrange(10**9)),
               *addresses(target), "--", *ports, check=False)
        return None
    return act


def addresses(place):
    return re.findall(r"inet (\d+\.\d+\.\d+\.\d+)", sh("ip", "-n", place, "-4", "addr"))


FAULTS = {
    "killed": kill_rank,
    "stopped": stop_rank,
    "device": cut_device,
    "cable": cut_cable,
    "cut off": cut_off,
    "node": kill_node,
    "launcher": kill_launcher,
    "garbage": attack("garbage"),
    "outsider": attack("outsider"),
    "half-open": attack("half-open"),
    "replay": attack("replay"),
    "cut off again": cut_off_again,
}
DEADLY = ("killed", "stopped", "device", "cut off", "cut off again", "node", "launcher")


# ---- one fault ----


def suffer(arguments, testbed, kind, dice, work):
    """Runs one job with one fault. Returns the seconds until it ended."""
    recorder = start_recorder(testbed, work, dice) if kind == "replay" else None
    settings = arguments.set + (["routing.detour=false"] if kind == "device" else [])
    job = Job(arguments, testbed, work, TIMEOUT if kind in DEADLY else PATIENCE, options_of(settings))
    try:
        if kind not in DEADLY and dice.random() < 0.5:
            FAULTS[kind](job, dice)  # while connections are established, too
        job.until_ready()
        time.sleep(dice.uniform(0, 0.3))
        begun = time.monotonic()
        culprits = FAULTS[kind](job, dice)
        if culprits is None:
            time.sleep(dice.uniform(0, 0.2))
            if job.process.poll() is not None:
                raise Wrong(f"it ended the job, with {job.process.returncode}")
            begun = time.monotonic()
            job.stop.touch()
        status = job.end(IN_TIME if culprits else PATIENCE)
        seconds = time.monotonic() - begun
        judge(job, status, culprits)
        return seconds
    except Wrong as wrong:
        raise Wrong(f"{wrong}\n{job.said()}") from None
    finally:
        job.finish()
        if recorder:
            recorder.kill()
            recorder.wait()


# A line for the death of a cable and one for its return.
CABLE_NEWS = re.compile(r"torus-run: (warning: )?the cable from ")


def judge(job, status, culprits):
    said = job.said()
    if culprits is None and status != 0:
        raise Wrong(f"the job ended with {status}, expected 0: the fault does not affect it")
    if culprits and status == 0:
        raise Wrong("the job ended with 0, expected an error")
    lines = [line for line in said.splitlines()
             if line.startswith("torus-run: ") and not CABLE_NEWS.match(line)] or [""]
    if culprits and not any(re.search(culprit, lines[-1]) for culprit in culprits):
        raise Wrong(f"nothing names the culprit: expected one of {culprits}")
    if culprits and len(lines) > 1:
        raise Wrong("torus-run prints more than the cause")
    if "wrong bytes" in said:
        raise Wrong("wrong bytes arrived")
    # Killed processes need a moment to disappear.
    deadline = time.monotonic() + 10
    while (left := left_behind(job)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left:
        raise Wrong("left behind: " + "; ".join(left))


def left_behind(job):
    left = [f"process {pid}: {command_of(pid)}" for pid in job.marked()]
    left += [f"file {path}" for path in job.temporary.rglob("*")]
    alive = sh("ip", "netns", "list").split()
    for place in job.testbed.places():
        if place in alive:
            left += sockets_in_use(place)
    return left


def start_recorder(testbed, work, dice):
    """Records the packets of a rank on one of its devices, from the first packet on."""
    host = dice.choice(testbed.hosts)
    recorder = subprocess.Popen(
        ["ip", "netns", "exec", host, sys.executable, str(ATTACK), "record", str(work / "recording")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    recorder.stdout.readline()  # it listens
    os.environ["TORUSMP_FAULT_RECORDING"] = str(work / "recording")
    return recorder


def run(arguments):
    shared_before = set(os.listdir("/dev/shm"))
    times = {}
    testbed = None
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        try:
            for n in range(arguments.faults):
                seed = arguments.seed + n
                dice = random.Random(seed)
                kind = arguments.only[seed % len(arguments.only)]
                work = Path(folder) / str(n)
                work.mkdir()
                testbed = testbed or Testbed(arguments.torus, work)
                try:
                    seconds = suffer(arguments, testbed, kind, dice, work)
                except Wrong as wrong:
                    print(f"fault_testbeds: seed {seed}, {kind}: {wrong}", file=sys.stderr)
                    return 1
                times.setdefault(kind, []).append(seconds)
                if arguments.v:
                    print(f"seed {seed}: {kind}, over after {seconds:.2f} s", flush=True)
                testbed = mended(testbed, kind)
        finally:
            if testbed:
                testbed.down()
    left = set(os.listdir("/dev/shm")) - shared_before
    if any("torusmp" in name for name in left):
        print(f"fault_testbeds: left in /dev/shm: {sorted(left)}", file=sys.stderr)
        return 1
    print(f"fault_testbeds: {arguments.faults} faults on {arguments.torus}, each job ended rightly and in time")
    for kind, seconds in times.items():
        print(f"  {kind:13} {len(seconds):4} times, over after {sum(seconds) / len(seconds):.2f} s on "
              f"average, {max(seconds):.2f} s at most")
    return 0


def mended(testbed, kind):
    """Returns the repaired testbed; None if the next job needs another one."""
    if kind in ("device", "cable", "cut off", "cut off again"):
        change("heal", testbed.name)
    if kind != "node":
        return testbed
    testbed.down()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torus-run", required=True)
    parser.add_argument("--rank", required=True)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--torus", default="2x2")
    parser.add_argument("--only", default=",".join(FAULTS), metavar="KIND,...", help="some of: " + ", ".join(FAULTS))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the jobs")
    parser.add_argument("-v", action="store_true", help="a line for each fault")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(FAULTS):
        parser.error(f"unknown kind {', '.join(unknown)}: expected {', '.join(FAULTS)}")
    possible = subprocess.run([TESTBED, "possible"], capture_output=True, text=True)
    if possible.returncode or os.geteuid():
        print(possible.stderr.strip() or "fault_testbeds: a testbed that stays needs root")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through the finally above
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
