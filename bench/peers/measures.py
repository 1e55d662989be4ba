# SPDX-License-Identifier: BSD-3-Clause
"""The measures of compare-peers, one row each. To add a measure, add a row to measures()."""

from dataclasses import dataclass

from mpis import PEERS
from testbeds import Shape

# Baselines without a message-passing library: TCP, and Ethernet frames.
BARE = {"raw": "bare sockets", "ring": "bare packet rings"}
ORDINARY = ("--ordinary",)  # memory: net_use_ordinary_memory()
# For rows about TCP, where links could carry frames.
OVER_TCP = ("transport.use=tcp",)


@dataclass(frozen=True)
class Measure:
    name: str
    test: str  # the program's test, "latency:8"; None: the wall time of a job that does nothing
    ranks: int
    torus: str  # of torusmp only
    unit: str
    more_is_better: bool = False
    target: float = None  # highest accepted ratio
    limit: float = None  # highest accepted value of torusmp
    settings: tuple = ()  # of torusmp only, "transport.local=links"
    peers: bool = True  # whether peers can run it
    peer_ranks: int = None  # ranks that the peers start, if fewer
    testbed: Shape = None  # the testbed; None: this host, over shared memory
    options: tuple = ()  # options of the program, ("--grid", "2x2x2")
    raw: bool = False  # whether bare sockets can do it
    raw_target: float = None  # highest accepted ratio to bare sockets
    ring: bool = False  # whether bare packet rings can do it
    ring_target: float = None  # highest accepted ratio to packet rings
    wire: float = None  # capacity of the wire, MB/s of payload
    least: float = None  # lowest accepted share of the wire
    # (measure, share): at least that share of torusmp's value there; if less is better, at most
    beside: tuple = None
    program: str = "exchange"  # or "collectives", "messages", "threads", "windows", "wilson", "npb"

    def libraries(self):
        bare = tuple(library for library in BARE if getattr(self, library))
        peers = [name for name, mpi in PEERS.items() if self.testbed is None or mpi.on_links()]
        return ("ours", *(peers if self.peers else ()), *bare)


def powers(first, last):
    while first <= last:
        yield first
        first *= 2


def measures():
    for size in (0, 8, 64, 512, 1024):
        target = 0.75 if size == 8 else None
        yield Measure(f"shm.latency.{size}", f"latency:{size}", 2, "2", "us", target=target)
    # 12, 16 and 20 KiB are around the change from eager to RMA.
    sizes = sorted({*powers(1 << 10, 4 << 20), 12 << 10, 20 << 10})
    for kind in ("pingpong", "stream"):
        for size in sizes:
            yield Measure(f"shm.bandwidth.{kind}.{size_name(size)}", f"{kind}:{size}", 2, "2",
                          "MB/s", more_is_better=True, target=1.0)
    # As above with memory from malloc, not from the library.
    for size in powers(1 << 10, 4 << 20):
        yield Measure(f"shm.ordinary.pingpong.{size_name(size)}", f"pingpong:{size}", 2, "2", "MB/s",
                      more_is_better=True, options=ORDINARY)
    for extent in (2, 3, 4):
        ranks, torus = extent**3, f"{extent}x{extent}x{extent}"
        yield Measure(f"shm.oversubscribed.halo.{ranks}", f"halo:{extent}", ranks, torus, "us",
                      target=0.7)
        yield Measure(f"shm.oversubscribed.sum.{ranks}", f"sum:{ranks}", ranks, torus, "us",
                      target=0.7)
    yield Measure("shm.startup.64", None, 64, "4x4x4", "ms", target=1.0)
    yield Measure("shm.idle", "idle:2", 8, "2x2x2", "%", limit=1.0)
    yield Measure("shm.memory.64", "memory:65536", 64, "4x4x4", "MiB", limit=64)
    for size in (8, 4 << 10, 256 << 10):
        yield Measure(f"relay.hop.{size_name(size)}", f"hop:{size}", 8, "8", "us",
                      settings=("transport.local=links",), peers=False)

    yield from shm_collectives()
    yield from costs("shm", ranks=2, torus="2")
    yield from mpi_measures()
    yield from window_measures()
    yield from testbed_measures()
    yield from window_testbed_measures()
    yield from testbed_collectives()
    yield from npb_measures()


def costs(where, **more):
    """Processor time of both ends of a stream, alone and with other work on their cores."""
    for suffix, options in (("", ()), (".loaded", ("--loaded",))):
        yield Measure(f"{where}.cpu.message.8{suffix}", "message:8", unit="us", options=options, **more)
        yield Measure(f"{where}.cpu.gigabyte.1MiB{suffix}", f"gigabyte:{1 << 20}", unit="s",
                      options=options, **{**more, "ring": False})


def mpi_measures():
    """Programs that use MPI: torusmp through mpi11, with the same calls as the peers."""
    def on(name, test, unit, ranks=2, torus="2", **more):
        return Measure(f"mpi.{name}", test, ranks, torus, unit, program="messages", **more)

    for size in (0, 8, 64, 512, 1024):
        eight = {"target": 0.8, "beside": ("shm.latency.8", 1.1)} if size == 8 else {}
        yield on(f"latency.{size}", f"latency:{size}", "us", **eight)
    for size in (8, 64, 512):
        yield on(f"rate.{size}", f"rate:{size}", "M/s", more_is_better=True, target=1 / 1.3)
    for size in powers(1 << 10, 4 << 20):
        yield on(f"bandwidth.{size_name(size)}", f"bandwidth:{size}", "MB/s", more_is_better=True,
                 target=1.0)
        if size >= 64 << 10:
            yield on(f"ordinary.{size_name(size)}", f"bandwidth:{size}", "MB/s", more_is_better=True,
                     options=ORDINARY)
    for threads in (2, 4):
        yield Measure(f"mpi.threads.rate.{threads}", f"rate:{threads}", 2, "2", "M/s",
                      program="threads", more_is_better=True, target=1.0)
    yield on("posted.1000", "posted:1000", "us", target=1.0)
    for extent in (16, 64):
        yield on(f"halo.{extent}", f"halo:{extent}", "us", 8, "2x2x2",
                 target=0.8 if extent == 64 else None)


def window_measures():
    """Accesses to windows (MPI_Win_allocate), each with its flush."""
    def on(name, test, ranks=2, torus="2", **more):
        return Measure(f"rma.{name}", test, ranks, torus, "us", program="windows", **more)

    for access in ("put", "get", "accumulate", "fetch", "swap"):
        yield on(f"{access}.8", f"{access}:8", target=0.5)
    for access in ("put", "get"):
        for size in (16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20):
            yield on(f"{access}.{size_name(size)}", f"{access}:{size}", target=0.9)
    yield on("away.8", "away:8", limit=100)
    yield on("halo.messages.27", "halo_messages:3", 27, "3x3x3")
    yield on("halo.put.27", "halo_put:3", 27, "3x3x3", beside=("rma.halo.messages.27", 1.0))


def window_testbed_measures():
    """The same over links: to a neighbour, and streams of puts over one hop and two."""
    def on(testbed, name, test, **more):
        return Measure(f"rma.tcp.{name}", test, testbed.nodes(), testbed.torus, "us",
                       program="windows", testbed=testbed, settings=OVER_TCP, **more)

    for access in ("put", "get", "accumulate", "fetch", "swap"):
        yield on(PAIR, f"{access}.8", f"{access}:8", target=0.9)
    for access in ("put", "get"):
        for size in (1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20):
            yield on(PAIR, f"{access}.{size_name(size)}", f"{access}:{size}", target=0.9)
    for size in (64 << 10, 1 << 20):
        one = f"stream.{size_name(size)}.1"
        for hops in (1, 2):
            yield on(SLOW_LINE, f"stream.{size_name(size)}.{hops}", f"put_stream:{size}@{hops}",
                     peers=False, beside=(f"rma.tcp.{one}", 1.1) if hops == 2 else None)


# The NAS Parallel Benchmarks need squares for BT and SP, powers of two for the others.
NPB_TORI = {2: "2", 4: "2x2", 8: "2x2x2", 9: "3x3", 16: "4x4"}
NPB_KERNELS = {k: (4, 9, 16) if k in ("BT", "SP") else (2, 4, 8, 16)
               for k in ("BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP")}
NPB_MBIT = 200  # rate of the links of npb.*.tcp


def npb_measures():
    for kernel, counts in NPB_KERNELS.items():
        for letter in "SW":
            for ranks in counts:
                name, test = f"npb.{kernel}.{letter}.{ranks}", f"{kernel.lower()}.{letter}.x"
                more = {"more_is_better": True, "program": "npb"}
                yield Measure(name, test, ranks, NPB_TORI[ranks], "Mop/s", target=1.0, **more)
                if letter == "W":
                    yield Measure(name + ".tcp", test, ranks, NPB_TORI[ranks], "Mop/s",
                                  target=1 / 1.1, testbed=Shape(NPB_TORI[ranks], mbit=NPB_MBIT),
                                  settings=OVER_TCP, **more)


PAIR = Shape("2", open_dims="0")
LINE = Shape("7", open_dims="0")
FORWARDING_LINE = Shape("7", open_dims="0", forwarding=True)
SLOW_LINE = Shape("7", open_dims="0", mbit=200)
SLOW_CUBE = Shape("2x2x2", mbit=200)
FAST_CUBE = Shape("2x2x2", mbit=1000)
SLOW_SQUARE = Shape("2x2", open_dims="0,1", mbit=200)


def testbed_measures():
    def on(testbed, name, test, unit, settings=OVER_TCP, **more):
        return Measure(name, test, testbed.nodes(), testbed.torus, unit, testbed=testbed,
                       settings=settings, **more)

    for size in (0, 8, 64, 512, 1024):
        yield on(PAIR, f"tcp.latency.{size}", f"latency:{size}", "us", raw=True,
                 target=1.0 if size == 8 else None, raw_target=1.15 if size == 8 else None)
    for kind in ("pingpong", "stream"):
        for size in (1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20):
            least = 1 / 0.95 if (kind, size) == ("stream", 1 << 20) else None
            yield on(PAIR, f"tcp.bandwidth.{kind}.{size_name(size)}", f"{kind}:{size}", "MB/s",
                     more_is_better=True, raw=True, raw_target=least)
    frames = {"settings": ("transport.use=ethernet",), "raw": True}
    for size in (0, 8, 64, 512, 1024):
        eight = {"raw_target": 0.5, "ring_target": 1.4} if size == 8 else {}
        yield on(PAIR, f"eth.latency.{size}", f"latency:{size}", "us", ring=True, **frames, **eight)
    yield on(PAIR, "eth.rate.8", "stream:8", "MB/s", more_is_better=True, ring=True, target=0.5,
             **frames)
    for kind in ("pingpong", "stream"):
        for size in (8 << 10, 64 << 10, 1 << 20):
            yield on(PAIR, f"eth.bandwidth.{kind}.{size_name(size)}", f"{kind}:{size}", "MB/s",
                     more_is_better=True, **frames)
    pair = {"ranks": PAIR.nodes(), "torus": PAIR.torus, "testbed": PAIR, "raw": True}
    yield from costs("tcp", settings=OVER_TCP, **pair)
    yield from costs("eth", ring=True, settings=("transport.use=ethernet",), **pair)
    for size in (64 << 10, 1 << 20):
        yield on(SLOW_CUBE, f"aggregate.links.{size_name(size)}", f"links:{size}", "MB/s",
                 more_is_better=True, raw=True, options=("--grid", "2x2x2"),
                 wire=48 * SLOW_CUBE.wire_rate(), least=0.95 if size == 1 << 20 else None)
    for size in (64 << 10, 1 << 20):
        yield on(FAST_CUBE, f"aggregate.node.{size_name(size)}", f"node:{size}", "MB/s",
                 more_is_better=True, raw=True, options=("--grid", "2x2x2"),
                 wire=6 * FAST_CUBE.wire_rate(), least=0.95 if size == 1 << 20 else None)
    for size in (8, 4 << 10):
        yield on(LINE, f"relay.tcp.hop.{size_name(size)}", f"hop:{size}", "us",
                 options=("--line",))
    # The same tests with forwarding in kernels: packets of TCP by routes, beside the relay or in
    # its place, or frames by tc programs.
    for size in (8, 1 << 10):
        yield on(LINE, f"relay.ip.hop.{size_name(size)}", f"hop:{size}", "us",
                 options=("--line",), peers=False, settings=(*OVER_TCP, "routing.forward=kernel"))
        yield on(LINE, f"relay.auto.hop.{size_name(size)}", f"hop:{size}", "us",
                 options=("--line",), peers=False, settings=(*OVER_TCP, "routing.forward=auto"))
        yield on(FORWARDING_LINE, f"relay.frames.hop.{size_name(size)}", f"hop:{size}", "us",
                 options=("--line",), peers=False, limit=0.7 if size == 8 else None,
                 settings=("routing.forward=kernel", "transport.use=ethernet"))
    for hops in (1, 2, 3, 4, 6):
        yield on(SLOW_LINE, f"relay.tcp.stream.{hops}", f"stream:65536@{hops}", "MB/s",
                 more_is_better=True, wire=SLOW_LINE.wire_rate(),
                 beside=("relay.tcp.stream.1", 0.9) if hops == 4 else None)
    for hops in (1, 3):
        for way, forward in (("tcp", "relay"), ("ip", "kernel"), ("auto", "auto")):
            yield on(SLOW_LINE, f"relay.{way}.stream.1MiB.{hops}", f"stream:{1 << 20}@{hops}",
                     "MB/s", more_is_better=True, peers=False, wire=SLOW_LINE.wire_rate(),
                     settings=(*OVER_TCP, f"routing.forward={forward}"),
                     beside=(f"relay.{way}.stream.1MiB.1", 0.9) if hops == 3 else None)
    yield on(SLOW_SQUARE, "relay.tcp.diagonal.4MiB", f"pingpong:{4 << 20}@3", "MB/s",
             more_is_better=True, wire=SLOW_SQUARE.wire_rate(), least=1.2)
    # Compared with bare links.
    for torus, lattice in (("2x2x2", "8x8x8x16"), ("3x3x2", "12x12x8x16")):
        yield on(Shape(torus), f"wilson.{torus}", "wilson", "us", program="wilson", settings=(),
                 # The map makes neighbours in the grid neighbours by cable: the last dimension of a torus runs
                 # fastest over its ranks, the first of a grid of QMP over its nodes.
                 options=("--lattice", lattice, "--grid", torus + "x1", "--tolerance", "0", "--iterations", "200",
                          "-qmp-logic-map", "3", "2", "1", "0"))


# The operations of collectives.c, with the sizes of a block or of a vector.
SMALL, MIDDLE, LARGE = 8, 16 << 10, 4 << 20
COLLECTIVES = {
    "broadcast": (SMALL, MIDDLE, LARGE),
    "sum": (SMALL, MIDDLE, LARGE),
    "reduce": (SMALL, MIDDLE, LARGE),
    "scatter": (64, 1 << 10, MIDDLE),
    "gather": (64, 1 << 10, MIDDLE),
    "allgather": (64, 1 << 10, MIDDLE),
    "reduce_scatter": (64, 1 << 10, MIDDLE),
    "alltoall": (64, 1 << 10, MIDDLE),
    "scan": (SMALL, MIDDLE),
    "barrier": (0,),
}


def shm_collectives():
    for torus, ranks in (("2", 2), ("2x2x2", 8), ("3x3x3", 27), ("4x4x4", 64)):
        for operation, sizes in COLLECTIVES.items():
            for size in sizes if ranks == 8 else sizes[:1]:
                name = f"collectives.{operation}.{size_name(size)}.shm.{ranks}"
                yield Measure(name, f"{operation}:{size}", ranks, torus, "us",
                              program="collectives",
                              target=0.7 if operation == "sum" and size == SMALL else None)


# Links slow enough for two cores to fill all 192 link ends of 32 nodes.
WIDE = Shape("4x4x2", mbit=20)
WIDE_STEPS = 4 // 2 + 4 // 2 + 2 // 2  # hops to the farthest node


def testbed_collectives():
    testbed, links = WIDE, 2 * len(WIDE.extents())

    def on(name, test, **more):
        more = {"program": "collectives", "settings": OVER_TCP, **more}
        return Measure(f"collectives.{name}.tcp", test, testbed.nodes(), testbed.torus, "us", testbed=testbed,
                       **more)

    # Each rank sends and receives this many bytes in an allreduce, over all its links.
    least_sum = 2 * LARGE * (testbed.nodes() - 1) / testbed.nodes() / (links * testbed.wire_rate())
    targets = {
        ("broadcast", LARGE): {"target": 0.5,
                               "beside": ("collectives.broadcast_tree.4MiB.tcp", 1 / 3)},
        ("sum", LARGE): {"target": 0.5, "limit": 1.5 * least_sum},
        ("sum", SMALL): {"beside": ("collectives.hop.8.tcp", 1.3 * WIDE_STEPS)},
        ("alltoall", MIDDLE): {"target": 1 / 1.5},
    }
    for size in COLLECTIVES["scatter"]:
        baseline = f"collectives.scatter_apart.{size_name(size)}.tcp"
        targets["scatter", size] = {"target": 0.5, "beside": (baseline, 1 / 3)}
    yield on("hop.8", "latency:8", program="exchange", peers=False)
    for operation, sizes in COLLECTIVES.items():
        for size in sizes:
            yield on(f"{operation}.{size_name(size)}", f"{operation}:{size}",
                     **targets.get((operation, size), {}))
    # torusmp with the algorithms for comparison: the paper's baseline, and a single tree.
    for operation, sizes in (("scatter_apart", COLLECTIVES["scatter"]), ("broadcast_tree", (LARGE,))):
        for size in sizes:
            yield on(f"{operation}.{size_name(size)}", f"{operation}:{size}", peers=False)


# The sizes that torus-bench report measures.
HERE_MESSAGES = (1, 16, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20)
HERE_COLLECTIVES = {"broadcast": (8, 4 << 10, 256 << 10), "sum": (8, 4 << 10, 256 << 10),
                    "scatter": (64, 4 << 10, 32 << 10), "alltoall": (64, 512, 4 << 10)}


def here_measures(shape, testbed=None):
    """On a torus of this shape: on the nodes of that testbed or, if there is none, as ranks of this host."""
    nodes = shape.nodes()
    pair = {"ranks": nodes, "torus": shape.torus, "peer_ranks": 2} if testbed else {"ranks": 2, "torus": "2"}
    for size in HERE_MESSAGES:
        if size <= 64 << 10:
            yield Measure(f"here.latency.{size_name(size)}", f"latency:{size}", unit="us", testbed=testbed, **pair)
        if size >= 256:
            yield Measure(f"here.pingpong.{size_name(size)}", f"pingpong:{size}", unit="MB/s", testbed=testbed,
                          more_is_better=True, **pair)
    if testbed and not shape.open_dims and min(shape.extents()) > 1:
        for kind in ("links", "node"):
            yield Measure(f"here.{kind}.64KiB", f"{kind}:{64 << 10}", nodes, shape.torus, "MB/s", testbed=testbed,
                          more_is_better=True, options=("--grid", shape.torus))
    for operation, sizes in HERE_COLLECTIVES.items():
        for size in sizes:
            yield Measure(f"here.{operation}.{size_name(size)}", f"{operation}:{size}", nodes, shape.torus, "us",
                          testbed=testbed, program="collectives")


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)
