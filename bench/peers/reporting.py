# SPDX-License-Identifier: BSD-3-Clause
"""Prints the figures of compare-peers as lines and as JSON, and checks them against their targets."""

import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import quiet
from measures import BARE
from mpis import PEERS

PLOT = Path(__file__).resolve().parents[1] / "plot/torus-plot"


def number(value):
    """Formats three significant digits, never with an exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def ratio_of(m, values, others=None):
    """Below 1: torusmp is faster than the best of the others (None: all MPIs)."""
    peers = [values[p] for p in others or PEERS if p in values]
    if not peers or "ours" not in values:
        return None
    if m.more_is_better:
        return max(peers) / values["ours"] if values["ours"] else None
    return values["ours"] / min(peers) if min(peers) else None


def libraries():
    return ("ours", *PEERS, *BARE)


def summary(m, results):
    return {l: statistics.median(results.samples[m.name, l])
            for l in libraries() if (m.name, l) in results.samples}


def mark_of(samples):
    return quiet.MARK if quiet.scatters(samples) else ""


def unsteady(results):
    """(measure, library, scatter) for figures whose samples scatter."""
    return [(name, library, quiet.scatter_of(samples)) for (name, library), samples in results.samples.items()
            if quiet.scatters(samples)]


def line_of(m, results, built):
    values, words = summary(m, results), [m.name]

    def word(library):
        if library in values:
            return number(values[library]) + m.unit + mark_of(results.samples[m.name, library])
        if library not in m.libraries():
            return "none"
        if (m.name, library) in results.in_another_mode:
            return "other-mode"
        return "failed" if library in built[m.program] else "absent"

    def two_digits(ratio):
        return "none" if ratio is None else f"{ratio:.2f}"

    words += [f"{library}={word(library)}" for library in ("ours", *PEERS)]
    words.append(f"ratio={two_digits(ratio_of(m, values))}")
    for bare in BARE:
        if bare in m.libraries():
            words += [f"{bare}={word(bare)}",
                      f"to_{bare}={two_digits(ratio_of(m, values, (bare,)))}"]
    if m.wire and "ours" in values:
        words.append(f"of_wire={two_digits(values['ours'] / m.wire)}")
    return " ".join(words)


def shortfall(m, results):
    """How the measure misses its target, or None."""
    values = summary(m, results)
    ratio = ratio_of(m, values)
    if m.target is not None and ratio is not None and ratio > m.target:
        return f"{m.name}: ratio {ratio:.2f}, wanted at most {m.target}"
    if m.limit is not None and values.get("ours", 0) > m.limit:
        return f"{m.name}: {number(values['ours'])} {m.unit}, wanted at most {m.limit} {m.unit}"
    for bare, wanted in (("raw", m.raw_target), ("ring", m.ring_target)):
        ratio = ratio_of(m, values, (bare,))
        if wanted is not None and ratio is not None and ratio > wanted:
            return f"{m.name}: ratio to {BARE[bare]} {ratio:.2f}, wanted at most {wanted:.2f}"
    if m.least is not None and "ours" in values and values["ours"] < m.least * m.wire:
        return f"{m.name}: {values['ours'] / m.wire:.2f} of the wire, wanted at least {m.least}"
    if m.beside and "ours" in values:
        name, share = m.beside
        there = results.samples.get((name, "ours"))
        wanted = share * statistics.median(there) if there else None
        misses = there and (values["ours"] < wanted if m.more_is_better else
                            values["ours"] > wanted)
        if misses:
            return (f"{m.name}: {number(values['ours'])} {m.unit}, wanted at "
                    f"{'least' if m.more_is_better else 'most'} {share:.2f} of {name}, which is "
                    f"{number(statistics.median(there))}")
    return None


def machine():
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return {
        "cpu": model.group(1) if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release()}",
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "load": os.getloadavg()[0],
    }


def plot_table(chosen, results, host):
    """The ratios as a table that torus-plot draws, one row per measure."""
    others = [l for l in (*PEERS, *BARE) if any((m.name, l) in results.samples for m in chosen)]
    rows = []
    for m in chosen:
        values = summary(m, results)
        ratios = [ratio_of(m, values, (l,)) for l in others]
        if any(r is not None for r in ratios):
            rows.append({"measure": m.name, "x": 0, "beside": False, "figures": [
                {"median": r, "best": r, "samples": [] if r is None else [r]} for r in ratios]})
    columns = [{"group": "", "name": BARE.get(l) or results.labels.get(l, l),
                "unit": "", "draw": "points", "colour": i, "count": False}
               for i, l in enumerate(others)]
    return {"tool": "torus-bench", "command": "compare-peers", "ran_on": host,
            "title": "torusmp beside others", "key": "measure", "x_label": "", "linear": False,
            "y_label": "time of torusmp over the other's: left of 1, torusmp is ahead",
            "levels": [{"name": "equal", "unit": "", "value": 1, "colour": 6}],
            "columns": columns, "rows": rows, "notes": [], "links": [], "link_rates": []}


def draw(path, chosen, results, host):
    with tempfile.TemporaryDirectory(prefix="compare-peers-") as folder:
        job = Path(folder) / "job.json"
        job.write_text(json.dumps([{"file": str(Path(path).absolute()), "map": None,
                                    "subtitle": f"{host['cpu']}, {host['cores']} cores, {host['system']}",
                                    "table": plot_table(chosen, results, host)}]))
        subprocess.run([sys.executable, PLOT, job], check=True)


def write_json(path, chosen, results, arguments, host, beside):
    rows = []
    for m in chosen:
        rows.append({
            "name": m.name, "unit": m.unit, "program": m.program, "test": m.test, "ranks": m.ranks,
            "torus": m.torus, "links": m.testbed is not None,
            "more_is_better": m.more_is_better, "target_ratio": m.target, "limit": m.limit,
            "median": summary(m, results), "ratio": ratio_of(m, summary(m, results)),
            "ratio_to_raw": ratio_of(m, summary(m, results), ("raw",)),
            "ratio_to_ring": ratio_of(m, summary(m, results), ("ring",)), "wire": m.wire,
            "links_mbit": m.testbed.mbit if m.testbed else None,
            "samples": {l: results.samples[m.name, l] for l in libraries()
                        if (m.name, l) in results.samples},
        })
    document = {"host": host, "libraries": results.labels, "runs": arguments.runs,
                "beside": beside, "round_trips_ns": results.modes.runs,
                "statistic": "best" if arguments.best else "median", "measures": rows,
                "failures": [{"measure": n, "library": l, "message": t}
                             for (n, l), t in results.failures.items()]}
    Path(path).write_text(json.dumps(document, indent=1) + "\n")
