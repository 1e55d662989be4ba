#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that hang, and the report of torus-run on each: the first line must name
the cause. The same lines are the table of docs/debugging.md, which must agree.

  hang_test.py TORUS-RUN PROGRAM DOCUMENT          runs all cases, compares the table
  hang_test.py TORUS-RUN PROGRAM DOCUMENT --write  writes the table
  hang_test.py TORUS-RUN PROGRAM DOCUMENT CASE...  runs only these

No case depends on time: torus-run is asked again until its answer is the same twice and names the
cause; the limit is only against a test that hangs itself."""

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

RANKS = 4
LIMIT = 120  # seconds, for one case

# Name, what is wrong with the program, what the line must match; flags of torus-run.
CASES = [
    ("tag", "a receive and its message have different tags",
     r"rank 1 receives tag 77 from rank 0; rank 0 sent tag 78, 4 B, at least", []),
    ("communicators", "they are on different communicators",
     r"rank 1 receives tag 5 from rank 0 on copy; rank 0 sent tag 5, 4 B on MPI_COMM_WORLD, at least", []),
    ("crossed_exchange", "both sides of an exchange use the wrong tag",
     r"rank 0 receives tag 1 from rank 1; rank 1 sent tag 2, 8 B", []),
    ("not_in_step", "a synchronous send meets another receive",
     r"rank 1 receives tag 5 from rank 0; rank 0 sends tag 8, 4 B", []),
    ("size", "members of a broadcast give different sizes", r"(1000|2000) B.*(1000|2000)|different counts", []),
    ("root", "members name different roots", r"root 0.*root 2|root 2.*root 0|does not match|different counts", []),
    ("order", "members call collectives in a different order",
     r"called (allreduce|barrier).*called (allreduce|barrier)|called MPI_(Allreduce|Barrier).*called MPI_(Allreduce|Barrier)|does not match|different counts", []),
    ("crossed_barriers", "the same collective on different communicators",
     r"0 -> 2 -> 0: rank 0 in MPI_Barrier on a, rank 2 in MPI_Barrier on b", []),
    ("between_groups", "only one side of an inter-communicator calls",
     r"0 -> 2 -> 0: rank 0 in MPI_Barrier on both halves, rank 2 in MPI_Barrier$", []),
    ("splits", "one rank does not come to MPI_Comm_split",
     r"0 -> 1 -> 0: rank 0 in MPI_Comm_split, rank 1 in MPI_Recv from rank 0, tag 5", []),
    ("creates", "one rank does not come to MPI_Comm_create",
     r"0 -> 1 -> 0: rank 0 in MPI_Recv from rank 1, tag 5, rank 1 in MPI_Comm_create$", []),
    ("cyclic_sends", "all ranks send before receiving", r"0 -> 1 -> 2 -> 0, all in MPI_Send of 1 MiB", []),
    ("to_itself", "a synchronous send to itself", r"0 -> 0: rank 0 in MPI_Ssend of 4 B to rank 0, tag 5", []),
    ("unserved", "a receive without a sender",
     r"0 -> 1 -> 0: rank 0 in MPI_Barrier, rank 1 in MPI_Recv from rank 0, tag 5", []),
    ("wildcard", "a receive from any rank without a sender",
     r"rank 0 is in MPI_Recv from any rank, tag 9, but no rank can send it: ranks 1-3 wait too", []),
    ("any_of_several", "none of several receives gets a message",
     r"0 -> 1 -> 0: rank 0 in MPI_Waitany from rank 1, tag 5, rank 1 in MPI_Barrier", []),
    ("probe", "a probe for a message that is not sent",
     r"0 -> 1 -> 0: rank 0 in MPI_Recv from rank 1, tag 6, rank 1 in MPI_Probe from rank 0, tag 5", []),
    ("not_started", "a persistent send is not started",
     r"0 -> 1 -> 0: .*; rank 0 created that send but has not started it", []),
    ("declared", "a declared send (QMP) is not started",
     r"0 -> 1 -> 0: .*rank 1 in QMP_wait from rank 0; rank 0 created that send but has not started it", []),
    ("finalized", "some ranks end while one still receives",
     r"0 -> 1 -> 0: rank 0 in MPI_Finalize[^,]*, rank 1 in MPI_Recv from rank 0, tag 5", []),
    ("infinite_loop", "one rank computes forever", r"ranks 0, 1 and 3 wait for rank 2, which computes", []),
    ("looks", "one rank polls for a message",
     r"ranks 0, 1 and 3 wait for rank 2, which repeatedly calls MPI_Iprobe for a message from rank 0, tag 5", []),
    ("tests", "one rank polls a receive with MPI_Test",
     r"ranks 0, 1 and 3 wait for rank 2, which repeatedly calls MPI_Test for a message from rank 0, tag 5", []),
    ("forgotten_wait", "a send that is never waited for",
     r"ranks 1-3 wait for rank 0, which computes", ["--set", "transport.copy=pipeline"]),
    ("credits", "a rank is sent more than it receives", r"ranks 0, 2 and 3 wait for rank 1, which computes", []),
    ("sleeping", "one rank sleeps",
     r"ranks 0-2 wait for rank 3, which sleeps outside the library \(sleep\)", []),
    ("stopped", "one rank is stopped", r"ranks 0, 2 and 3 wait for rank 1, which is stopped by a signal",
     ["--set", "transport.timeout=300s"]),
    ("not_joined", "one rank does not call MPI_Init",
     r"ranks 0, 1 and 3 wait for rank 2, which has not called MPI_Init", []),
    ("exits", "one rank exits without MPI_Finalize", r"rank 1 .* exited with code 0 without MPI_Finalize", []),
]


# The library finds these out itself and ends the job; which rank is first to say so differs.
ENDS = {"size": "the job ends by itself, with an error that names the ranks and both sizes",
        "root": "the job ends by itself, with an error that names the ranks that differ",
        "order": "the job ends by itself, with an error that names the ranks that differ"}


def settled(line):
    """Returns a line without the parts that differ between runs."""
    line = re.sub(r"\d+ (h \d+ min|min \d+ s)\b|\d+(\.\d+)? m?s\b", "12 s", line)
    line = re.sub(r"\(host [^,)]*, pid \d+\)", "(host n0, pid 4711)", line)
    return line.strip()


class Job:
    """torus-run with a case, and its output as it arrives."""

    def __init__(self, torus_run, program, name, flags, ranks=RANKS):
        self.ranks = ranks
        self.process = subprocess.Popen(
            [torus_run, "-np", str(ranks), *flags, program, name], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.lines = queue.Queue()
        self.placed = queue.Queue()
        self.seen = []
        for stream, to in ((self.process.stdout, self.placed), (self.process.stderr, self.lines)):
            threading.Thread(target=self.read, args=(stream, to), daemon=True).start()

    @staticmethod
    def read(stream, to):
        with stream:
            for line in stream:
                to.put(line.rstrip("\n"))
        to.put(None)

    def await_places(self, deadline):
        for _ in range(self.ranks):
            if self.placed.get(timeout=max(0.1, deadline - time.monotonic())) is None:
                return

    def next_line(self, deadline):
        """Returns the next line of torus-run itself; None if it has ended."""
        while True:
            line = self.lines.get(timeout=max(0.1, deadline - time.monotonic()))
            if line is None:
                return None
            self.seen.append(line)
            if line.startswith("torus-run: "):
                return line[len("torus-run: "):]

    def ask(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.terminate()  # a second one kills what is left
                self.process.wait(30)


def first_line(job, wanted):
    """Returns the line that names the cause, or else the last line."""
    deadline = time.monotonic() + LIMIT
    job.await_places(deadline)
    before = None
    while time.monotonic() < deadline:
        job.ask()
        line = job.next_line(deadline)
        if line is None:
            return before
        if re.search(wanted, line) and (job.process.poll() is not None or not line.startswith("the job ")):
            return line  # the job has ended by itself, and says why
        if re.search(wanted, line) and before is not None and settled(before) == settled(line):
            return line
        before = line
        time.sleep(0.1)
    return before


def run(torus_run, program, names):
    rows, wrong = [], []
    for name, mistake, wanted, flags in CASES:
        if names and name not in names:
            continue
        job = Job(torus_run, program, name, flags)
        try:
            line = first_line(job, wanted)
        except queue.Empty:
            line = None
        finally:
            job.end()
        good = line is not None and re.search(wanted, line) is not None
        print(f"{'ok  ' if good else 'BAD '} {name}: {line}", flush=True)
        if not good:
            wrong.append(name)
            print("     expected", wanted, *job.seen[-40:], sep="\n     ")
        rows.append((mistake, ENDS.get(name) or f"`{settled(line or '')}`"))
    return rows, wrong


# ---- what is said without being asked, and what goes to files ----

def end_by_itself(torus_run, program, flags, name, ranks=RANKS):
    result = subprocess.run([torus_run, "-np", str(ranks), *flags, program, name], text=True,
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
    return result.returncode, result.stderr


def check(good, what, text):
    print(f"{'ok  ' if good else 'BAD '} {what}", flush=True)
    if not good:
        print(text)
    return [] if good else [what]


def run_unasked(torus_run, program):
    wrong = []
    cause = "the job cannot go on: 0 -> 1 -> 0: rank 0 in MPI_Barrier, rank 1 in MPI_Recv from rank 0, tag 5"
    code, errors = end_by_itself(torus_run, program, ["--timeout", "5"], "unserved")
    wrong += check(code == 124 and cause in errors and errors.count("cannot go on") == 1,
                   "at the end of the job's time", errors)
    with tempfile.TemporaryDirectory() as folder:
        job = Job(torus_run, program, "unserved",
                  ["--set", "watchdog.after=1s", "--reports", folder + "/reports"])
        deadline = time.monotonic() + LIMIT
        try:
            line = job.next_line(deadline)
            while line is not None and cause not in line:
                line = job.next_line(deadline)
            while line is not None and "reports of all ranks" not in job.seen[-1]:
                line = job.lines.get(timeout=max(0.1, deadline - time.monotonic()))
                job.seen.append(line)
        except queue.Empty:
            line = None
        finally:
            job.end()
        wrong += check(line is not None, "when a wait lasts long", "\n".join(map(str, job.seen)))
        reports = sorted(os.listdir(folder + "/reports")) if line else []
        text = "".join(open(f"{folder}/reports/{name}", encoding="utf-8").read() for name in reports)
        wrong += check(reports == ["rank.0", "rank.1", "rank.2", "rank.3"] and
                       "receive of up to 4 B from rank 0 (MPI_COMM_WORLD, tag 5): no message yet" in text,
                       "reports of ranks in files", text)
    code, errors = end_by_itself(torus_run, program, ["--set", "mpi.check=true"], "leftovers", 2)
    wrong += check("rank 0 sent tag 78, 4 B, which was never received; rank 1 receives tag 77 from rank 0"
                   in errors, "leftovers at the end", errors)
    return wrong


def run_many(torus_run, program):
    """The report on 64 ranks fits a screen."""
    job = Job(torus_run, program, "ring", [], 64)
    try:
        line = first_line(job, r"0 -> 1 -> 2 -> \.\.\. -> 63 -> 0 \(64 ranks\), all in MPI_Send of 1 MiB")
        time.sleep(0.5)  # the rest of the last summary
        while not job.lines.empty():
            job.seen.append(job.lines.get())
    except queue.Empty:
        line = None
    finally:
        job.end()
    starts = [i for i, text in enumerate(job.seen) if text and text.startswith("torus-run: the job")]
    longest = max((b - a for a, b in zip(starts, starts[1:])), default=99)
    return check(line is not None and longest <= 24, "64 ranks in a ring", "\n".join(map(str, job.seen)))


BEGIN, END = "<!-- the table of hangs -->\n", "<!-- its end -->\n"


def table(rows):
    text = "| what is wrong | first line |\n|---|---|\n"
    return text + "".join(f"| {mistake} | {line} |\n" for mistake, line in rows)


def main():
    torus_run, program, document = sys.argv[1:4]
    names = [word for word in sys.argv[4:] if not word.startswith("--")]
    rows, wrong = run(torus_run, program, names)
    if names:
        sys.exit(1 if wrong else 0)
    wrong += run_unasked(torus_run, program) + run_many(torus_run, program)
    with open(document, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    if "--write" in sys.argv and not wrong:
        with open(document, "w", encoding="utf-8") as file:
            file.write(text[:begin] + table(rows) + text[end:])
    elif text[begin:end] != table(rows):
        print(f"the table of {os.path.basename(document)} is not what torus-run says; "
              "hang_test.py TORUS-RUN PROGRAM DOCUMENT --write writes it. It should be:\n" + table(rows))
        wrong.append("table")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
