# SPDX-License-Identifier: BSD-3-Clause
"""Runs the jobs of compare-peers and parses their output."""

import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

import quiet
from console import Problem, Steps, TooSlow, progress, warn
from mpis import PEERS
from testbeds import Shape, Testbed

ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
GRACE = 5  # seconds for a peer to end after its last line


@dataclass
class Job:
    """The measures of one process group in one run."""

    ranks: int
    torus: str
    settings: tuple
    whole: bool  # the measure is its wall time
    testbed: Shape
    options: tuple
    peer_ranks: int = None
    measures: list = field(default_factory=list)

    def ranks_of(self, library):
        return self.peer_ranks or self.ranks if library in PEERS else self.ranks

    def program(self):
        return self.measures[0].program

    def words(self, seconds):
        if self.program() == "wilson":
            return list(self.options)
        if self.program() == "npb":
            return []
        tests = [m.test for m in self.measures if m.test] or ["nothing:0"]
        return ["--seconds", str(seconds), *self.options, *tests]


def jobs_of(chosen):
    jobs = {}
    for m in chosen:
        # Separate jobs, because memory allocated for one test must not count in the next.
        kind = m.test.split(":")[0] if m.test else None
        alone = m.name if kind in (None, "idle", "memory") or m.program == "npb" else ""
        # Separate jobs, because an operation that a peer cannot complete must not discard other
        # figures.
        if m.program == "collectives":
            alone = kind
        key = (m.testbed, m.raw, m.ring, m.ranks, m.torus, m.settings, m.options, m.program, m.peers,
               m.peer_ranks, alone)
        jobs.setdefault(key, Job(m.ranks, m.torus, m.settings, m.test is None, m.testbed, m.options,
                                 m.peer_ranks)).measures.append(m)
    return list(jobs.values())


def program_of(job, program):
    """npb is a folder of programs, one per measure."""
    return program / job.measures[0].test if job.program() == "npb" else program


def launch_command(library, job, built, cores):
    launcher, program = built
    program = program_of(job, program)
    ranks, fits = str(job.ranks_of(library)), job.ranks_of(library) <= cores
    if library == "ours":  # torusmp binds ranks by default
        command = [launcher, "-np", ranks, "--torus", job.torus]
        for setting in job.settings:
            command += ["--set", setting]
    elif PEERS[library].kind == "openmpi":
        command = [launcher, "-np", ranks]
        command += ["--bind-to", "core"] if fits else ["--oversubscribe", "--bind-to", "none"]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
    else:
        command = [launcher, "-np", ranks] + (["-bind-to", "core"] if fits else [])
    words = [str(c) for c in command + [program]]
    return words if library == "ours" else PEERS[library].command(words)


def environment(library):
    """The environment without the user's or an outer testbed's cluster: each job names its own."""
    inherited = {name: value for name, value in os.environ.items() if name != "TORUSMP_CONFIG"}
    if library in PEERS:
        inherited["PATH"] = PEERS[library].search_path(inherited.get("PATH", os.defpath))
    return inherited


def run(command, timeout, lines=None, library=None):
    """Output and wall seconds. A job that hangs is ended with everything it started. `lines`: one
    that has printed so many is over, also if it does not end in time: some peers take minutes to
    end where ranks outnumber cores."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = start(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True,
                      env=environment(library), start_new_session=True)
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            over = wait_for(child, timeout, out, lines)
        except BaseException as reason:
            end_session(child)
            if isinstance(reason, subprocess.TimeoutExpired):
                out.seek(0)
                raise TooSlow(f"did not end within {timeout} s: {' '.join(command)}",
                              out.read()) from None
            raise
        if over and child.returncode:
            err.seek(0)
            raise Problem(f"exit code {child.returncode}: {' '.join(command)}\n"
                          f"{err.read()[-2000:]}")
        out.seek(0)
        return out.read(), time.monotonic() - began


def start(command, **keywords):
    """Starts a process and leaves the signals that end this program blocked: one that came before the caller knows
    the process would leave it behind."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        return subprocess.Popen(command, **keywords,
                                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS))
    except BaseException:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
        raise


def wait_for(child, timeout, out, lines):
    """Returns True when the job has ended by itself."""
    deadline, complete = time.monotonic() + timeout, None
    while True:
        try:
            child.wait(0.2 if lines else timeout)
            return True
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if lines and complete is None and lines_of_results(out) >= lines:
                complete = now
            if complete is not None and now - complete > GRACE:
                end_session(child)
                return False
            if now >= deadline:
                raise


def lines_of_results(out):
    """The lines of the library and of tests; other lines are warnings of the library."""
    text = os.pread(out.fileno(), 1 << 20, 0)
    return len(re.findall(rb"^(?:library |\w+:\S+ [\d.])[^\n]*\n", text, re.MULTILINE))


def end_session(child, patience=5):
    # A launcher that is asked to end also ends its ranks; the second signal ends the rest of its
    # session.
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, how)
            child.wait(timeout=patience)
            break
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    quiet.wait_for_orphans()


def values_in(job, output, seconds, best, whole=True):
    """{measure name: value} and the library's name for itself. If not `whole`, figures may be missing."""
    label, found = "", {}
    rows = {}
    for line in output.splitlines():
        words = line.split()
        if line.startswith("library "):
            label = line[len("library "):].strip().replace(" Version:", "")
        elif len(words) == 4:
            rows[words[0]] = words
    for m in job.measures:
        if m.test is None:
            found[m.name] = seconds * 1e3
        elif m.test in rows:
            found[m.name] = float(rows[m.test][2 if best else 1])
        elif not whole:
            continue
        elif m.program == "npb":
            found[m.name] = npb_rate(output)
        elif m.test == "wilson":
            time_line = re.search(r"([\d.]+) us an iteration", output)
            if not time_line:
                raise Problem(f"printed no time of an iteration:\n{output[-2000:]}")
            found[m.name] = float(time_line[1])
        else:
            raise Problem(f"printed no line for {m.test}:\n{output[-2000:]}")
    return label, found


def npb_rate(output):
    """Mop/s of a run that verified its result."""
    if not re.search(r"^ *Verification *= +SUCCESSFUL *$", output, re.MULTILINE):
        raise Problem(f"did not verify its answer:\n{output[-2000:]}")
    rate = re.search(r"^ *Mop/s total *= +([\d.]+(?:E[+-]?\d+)?) *$", output, re.MULTILINE)
    if not rate:
        raise Problem(f"printed no line 'Mop/s total':\n{output[-2000:]}")
    return float(rate[1])


class Results:
    def __init__(self, modes):
        self.modes = modes
        self.samples = {}  # (measure name, library) -> values of one mode
        self.runs = {}  # measure name -> {library: [(round trip, value)]}
        self.labels = {}
        self.failures = {}  # (first measure name of the job, library) -> message
        self.in_another_mode = set()  # (measure name, library) without a sample of the measure's mode

    def add(self, library, trip, label, found):
        if label:
            self.labels[library] = label
        for name, value in found.items():
            self.runs.setdefault(name, {}).setdefault(library, []).append((trip, value))

    def end_measure(self, name):
        """Keeps the samples of its prevalent mode."""
        runs = self.runs.pop(name, {})
        kept = self.modes.divide(name, runs)
        for library in runs:
            if library in kept:
                self.samples[name, library] = kept[library]
            else:
                self.in_another_mode.add((name, library))


def libraries_of(job, built):
    return [l for l in job.measures[0].libraries() if l in built[job.program()]]


def run_job(job, built, arguments, results, testbed, steps):
    cores = len(os.sched_getaffinity(0))
    for number in range(arguments.runs):
        for library in libraries_of(job, built):
            at = steps.text()
            steps.done += 1
            if (job.measures[0].name, library) in results.failures:
                continue
            progress(f"{at}: run {number + 1} of {arguments.runs}: {job.ranks} ranks, {library}, "
                     f"{len(job.measures)} tests from {job.measures[0].name}")
            how, words = built[job.program()][library], job.words(arguments.seconds)
            patient = None
            if testbed:
                how = how[0], program_of(job, how[1])
                command = testbed.command(library, how, job.ranks_of(library), words, job.settings,
                                          job.peer_ranks)
                if library in PEERS and job.program() not in ("wilson", "npb"):
                    patient = 1 + len(job.measures)
            else:
                command = launch_command(library, job, how, cores) + words
            begun = results.modes.probe()
            try:
                output, seconds = run(command, arguments.timeout, patient, library)
                trip = results.modes.end_run(begun)
                results.add(library, trip, *values_in(job, output, seconds, arguments.best))
            except Problem as problem:
                trip = results.modes.end_run(begun)
                if isinstance(problem, TooSlow):
                    results.add(library, trip, *values_in(job, problem.output, 0, arguments.best, False))
                results.failures[(job.measures[0].name, library)] = str(problem)
                warn(f"{library}: {problem}")
    for m in job.measures:
        results.end_measure(m.name)


def run_all(chosen, built, arguments, results):
    """Yields each job when it is done. A testbed serves all jobs of its shape in turn."""
    jobs, number = jobs_of(chosen), 0
    testbed = None
    steps = Steps(arguments.runs * sum(len(libraries_of(job, built)) for job in jobs))
    try:
        for job in sorted(jobs, key=lambda job: str(job.testbed) if job.testbed else ""):
            if job.testbed and (testbed is None or testbed.shape != job.testbed):
                if testbed:
                    testbed.close()
                    testbed = None
                number += 1
                if not job.testbed.here:
                    progress(f"building a testbed of {job.testbed.torus}")
                testbed = Testbed(job.testbed, f"cmp{os.getpid()}-{number}")
                if job.testbed.forwarding:
                    testbed.lay_forwarding(built["exchange"]["ours"][0].with_name("torus-info"))
            run_job(job, built, arguments, results, testbed if job.testbed else None, steps)
            progress("")
            yield job
    finally:
        if testbed:
            testbed.close()
