# SPDX-License-Identifier: BSD-3-Clause
"""Decides whether a measurement is reliable, from the scatter of its samples and the load of other programs.

Scatter is the distance between the quartiles of the samples, divided by their median. Other load is the processor
time of the machine (/proc/stat) minus the time of this process and of all processes that it has started, or that
these have left behind, in processors: 0.5 is half of one.
"""

import contextlib
import ctypes
import os
import statistics
import time

MOST_SCATTER = 0.25
MOST_BESIDE = 0.1
FEWEST = 3  # the fewest samples with quartiles
MARK = "~"  # follows a figure whose samples scatter


def scatter_of(samples):
    """None if there are too few samples."""
    if len(samples) < FEWEST:
        return None
    first, median, third = statistics.quantiles(samples, n=4, method="inclusive")
    return (third - first) / median if median else 0.0


def scatters(samples):
    scatter = scatter_of(samples)
    return scatter is not None and scatter > MOST_SCATTER


def machine_seconds():
    """Processor time of all programs and of other machines on this host's processors. Time of interrupts is left out:
    packets over our own links are handled there."""
    with open("/proc/stat") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:]]
    user, nice, system, steal = ticks[0], ticks[1], ticks[2], ticks[7] if len(ticks) > 7 else 0
    return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def adopt_orphans():
    """From now on processes whose parents end become children of this one, as daemons that a launcher leaves behind
    with the ranks they have started; else init waits for them, and their time seems to be that of other programs."""
    set_child_subreaper = 36  # linux/prctl.h
    ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def wait_for_orphans(patience=2.0):
    """Waits for the children that end in time. The caller must have waited for those that it knows."""
    end = time.monotonic() + patience
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.01)


class Beside:
    """Processor time of other programs from now on. Read it when all started programs have ended."""

    def __init__(self):
        adopt_orphans()
        self.start, self.machine, self.own = time.monotonic(), machine_seconds(), own_seconds()

    def processors(self):
        wait_for_orphans()
        elapsed = max(time.monotonic() - self.start, 1e-3)
        # Both clocks tick in hundredths of a second.
        return max(0.0, (machine_seconds() - self.machine - (own_seconds() - self.own)) / elapsed)


def beside_now(seconds=2.0):
    """Processor time that other programs use while this one waits."""
    beside = Beside()
    time.sleep(seconds)
    return beside.processors()


def too_busy(processors):
    return processors > MOST_BESIDE
