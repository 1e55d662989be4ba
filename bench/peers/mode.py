# SPDX-License-Identifier: BSD-3-Clause
"""The mode of the machine: how near its first two processors are to each other (mode.c).

A virtual machine moves between modes by itself, and figures of messages in memory differ by factors
between them, so samples of different modes are never mixed.
"""

import re
import subprocess
from collections import Counter

APART = 1.5  # round trips whose ratio is larger are of different modes
MOST_NAMES = 5  # of measures in one line
CHANGED = -1  # in place of a round trip: of no mode


def probe(program):
    """Round trip of a cache line between two processors in ns; None if there is only one."""
    done = subprocess.run([program], capture_output=True, text=True)
    found = re.match(r"([\d.]+) ns ([\d.]+) GB/s$", done.stdout)
    return float(found[1]) if found else None


def modes_of(trips):
    """Round trips in groups, shortest first: [[88, 91], [402]]."""
    groups = []
    for trip in sorted(trips):
        if groups and trip <= APART * groups[-1][-1]:
            groups[-1].append(trip)
        else:
            groups.append([trip])
    return groups


def prevalent(trips):
    """(least, most) round trip of the mode with the most runs; of equal ones the nearer. None: not known."""
    known = [trip for trip in trips if trip is not None and trip != CHANGED]
    if not known:
        return None
    group = max(modes_of(known), key=len)
    return group[0], group[-1]


class Modes:
    """The mode of each run of a library in a comparison."""

    def __init__(self, program):
        self.program, self.runs, self.left_out = program, [], Counter()
        self.disturbed = []  # measures with runs during which the mode changed

    def probe(self):
        """The present round trip; None if not known."""
        return probe(self.program) if self.program else None

    def end_run(self, begun):
        """The round trip of a run of one library, before which it was `begun`. CHANGED: the mode has
        changed meanwhile; None: not known."""
        ended = self.probe()
        if begun is None or ended is None:
            trip = None
        else:
            trip = begun if len(modes_of([begun, ended])) == 1 else CHANGED
        self.runs.append(trip)
        return trip

    def divide(self, name, samples):
        """Of [(round trip, value)] per library, the values in the prevalent mode of the measure; all
        values if no run stayed in one mode."""
        trips = [trip for pairs in samples.values() for trip, _ in pairs]
        limits = prevalent(trips)
        if CHANGED in trips:
            self.disturbed.append(name)

        def counts(trip):
            if limits is None:  # the modes of all are unknown
                return True
            return trip is not None and limits[0] <= trip <= limits[1]
        kept = {library: [value for trip, value in pairs if counts(trip)] for library, pairs in samples.items()}
        self.left_out[name] += sum(len(samples[l]) - len(kept[l]) for l in samples)
        return {library: values for library, values in kept.items() if values}

    def text(self):
        """A line of the report."""
        changed = sum(trip == CHANGED for trip in self.runs)
        groups = modes_of(trip for trip in self.runs if trip is not None and trip != CHANGED)
        if not groups and changed:
            return "mode of the machine: not known, since it changed during each run"
        if not groups:
            return "mode of the machine: not known (it needs two processors and a C compiler)"
        parts = []
        for group in groups:
            least, most = (f"{trip:.0f}" for trip in (group[0], group[-1]))
            parts.append(f"{least if least == most else f'{least} to {most}'} ns ({len(group)} run{'s' * (len(group) > 1)})")
        text = "a cache line goes from one processor to the other and back in " + " or ".join(parts)
        if changed:
            text += f"; it changed during {changed} run{'s' * (changed > 1)}"
        dropped = sum(self.left_out.values())
        return text + (f"; {dropped} samples are left out, whose run was in another mode than most of their measure"
                       if dropped else "")

    def warning(self):
        """A line of the report; None if the mode changed during no run. A change there and back within
        a run cannot be seen, and is likely where others were seen."""
        if not self.disturbed:
            return None
        more = len(self.disturbed) - MOST_NAMES
        names = ", ".join(self.disturbed[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        return (f"the mode changed during runs of {names}, and may have changed and changed back during others: "
                "measure these again before you use their ratios")
