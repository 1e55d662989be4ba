# SPDX-License-Identifier: BSD-3-Clause
"""What compare-peers says on the way, and how it gives up."""

import sys

# exit codes
OK, FAILED, USAGE = 0, 1, 2


class Problem(Exception):
    """Ends the program with one message; code is the exit code."""

    def __init__(self, message, code=FAILED):
        super().__init__(message)
        self.code = code


class TooSlow(Problem):
    """A job that did not end in time, and what it had printed until then."""

    def __init__(self, message, output):
        super().__init__(message)
        self.output = output


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def warn(text):
    progress("")
    print(f"compare-peers: {text}", file=sys.stderr)
