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
    """The words by which torus-run is given settings: jobs inherit none from the environment."""
    return [word for setting in settings for word in ("--set", setting)]


class MarkedJob:
    """A launcher and all that it starts. Sub-classes start it, with environment() and as self.process."""

    def __init__(self, name):
        self.mark = f"{name}-{time.monotonic_ns()}"

    def environment(self, **more):
        """Ours without torusmp's own variables, with the mark."""
        return {n: v for n, v in os.environ.items() if not n.startswith("TORUSMP_")} | {MARK: self.mark} | more

    def marked(self):
        """Processes that came from this job, zombies not counted."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def finish(self):
        """Whatever becomes of the test: nothing of the job lives on."""
        for pid in self.marked():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
