# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose processes are known by a mark in their environment, on any host and with any parent."""
import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

MARK = "TORUSMP_FAULT_TEST"


def options_of(settings):
    """The options that pass settings to torus-run. Jobs inherit no settings from the environment."""
    return [word for setting in settings for word in ("--set", setting)]


class MarkedJob:
    """A launcher and all that it starts. Sub-classes start it, with environment() and as self.process."""

    def __init__(self, name):
        self.mark = f"{name}-{time.monotonic_ns()}"

    def environment(self, **more):
        """The environment of this process without torusmp's variables, with the mark."""
        return {n: v for n, v in os.environ.items() if not n.startswith("TORUSMP_")} | {MARK: self.mark} | more

    def marked(self):
        """The processes of this job, without zombies."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def finish(self):
        """Ends all processes of the job, however the test ends."""
        for pid in self.marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
