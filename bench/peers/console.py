# SPDX-License-Identifier: BSD-3-Clause
"""Progress and error messages of compare-peers."""

import sys
import time

# exit codes
OK, FAILED, USAGE = 0, 1, 2


class Problem(Exception):
    """Ends the program with one message; `code` is the exit code."""

    def __init__(self, message, code=FAILED):
        super().__init__(message)
        self.code = code


class TooSlow(Problem):
    """A job that exceeded its time limit, and its output so far."""

    def __init__(self, message, output):
        super().__init__(message)
        self.output = output


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


class Steps:
    """Counts finished steps and estimates the remaining time."""

    def __init__(self, of):
        self.of, self.done, self.start = max(of, 1), 0, time.monotonic()

    def text(self):
        percent = f"{100 * self.done // self.of} %"
        if not 0 < self.done < self.of:
            return percent
        left = (time.monotonic() - self.start) * (self.of - self.done) / self.done
        return f"{percent}, " + (f"{left:.0f} s left" if left < 120 else f"{left / 60:.0f} min left")


def warn(text):
    progress("")
    print(f"compare-peers: {text}", file=sys.stderr)
