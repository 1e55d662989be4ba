# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a testbed: which nodes, cables, addresses and routes a torus of namespaces has.

Pure: nothing here touches the machine. A Plan is made from the command line or from the saved
state of a testbed, and only `cables` and `faults` ever change (by the fault verbs).
"""
import itertools
import math
import re

MAX_DIMENSIONS = 6
MAX_NODES = 4096          # what 10.255.x.y and 10.254.x.y hold with room to spare
SWITCHES = "switches"
FRONT = "front"           # the namespace of the management network, where `run` runs its command


class PlanError(Exception):
    """The requested testbed cannot be built; has one message for the user."""


def parse_dims(text):
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text):
        raise PlanError(f"'{text}' is not a torus: expected extents like 2x2x2")
    dims = [int(part) for part in text.split("x")]
    if len(dims) > MAX_DIMENSIONS or math.prod(dims) > MAX_NODES:
        raise PlanError(f"{text} is too large: expected at most {MAX_DIMENSIONS} dimensions and {MAX_NODES} nodes")
    return dims


class Torus:
    """Row-major ranks, the last dimension fastest; the same rules as routing/torus.h."""

    def __init__(self, dims, periodic):
        self.dims, self.periodic = dims, periodic
        self.size = math.prod(dims)
        self._coordinates = list(itertools.product(*(range(extent) for extent in dims)))
        self._ranks = {c: rank for rank, c in enumerate(self._coordinates)}

    def neighbour(self, rank, dimension, sign):
        extent = self.dims[dimension]
        if extent == 1:
            return None
        c = list(self._coordinates[rank])
        c[dimension] += sign
        if not 0 <= c[dimension] < extent and not self.periodic[dimension]:
            return None
        c[dimension] %= extent
        return self._ranks[tuple(c)]

    def offset(self, a, b, dimension):
        extent = self.dims[dimension]
        ahead = (self._coordinates[b][dimension] - self._coordinates[a][dimension]) % extent
        straight = self._coordinates[b][dimension] - self._coordinates[a][dimension]
        if not self.periodic[dimension]:
            return straight
        if extent == 2:
            return straight  # both ways by the same cable, as in routing/torus.h
        return ahead if 2 * ahead <= extent else ahead - extent

    def first_step(self, a, b):
        """(dimension, sign) of the first step of the SDF path from a to b; None if a == b."""
        offsets = [(abs(self.offset(a, b, d)), d) for d in range(len(self.dims))]
        steps = [entry for entry in offsets if entry[0]]
        if not steps:
            return None
        dimension = min(steps)[1]
        return dimension, 1 if self.offset(a, b, dimension) > 0 else -1

    def path(self, a, b):
        """All steps of the SDF path from a to b."""
        steps = []
        while step := self.first_step(a, b):
            steps.append(step)
            a = self.neighbour(a, *step)
        return steps


def device_name(dimension, sign):
    return f"d{dimension}{'p' if sign > 0 else 'm'}"


def direction_name(dimension, sign):
    return f"{dimension}{'+' if sign > 0 else '-'}"


def parse_cables(text, nodes):
    """[[node, device, node, device]...] and groups of cables that share one segment, of
    "0-1,1:eth0-2:eth5,0:a+b-3:c+d": a device without a name is the next free of e0, e1, ...; "a+b-c+d" joins
    twins, two devices of each host on one cable."""
    cables, twins, counts, named = [], [], {}, set()
    for item in filter(None, text.split(",")):
        match = re.fullmatch(r"(\d+)(?::([\w.+]+))?-(\d+)(?::([\w.+]+))?", item)
        if not match or int(match[1]) >= nodes or int(match[3]) >= nodes or match[1] == match[3]:
            raise PlanError(f"--cables: '{item}' is not a cable: expected two nodes from 0 to {nodes - 1} as 0-1 or "
                            "0:eth0-1:eth1")
        ends = []
        for node, devices in ((int(match[1]), match[2]), (int(match[3]), match[4])):
            if devices is None:
                devices = f"e{counts.setdefault(node, 0)}"
                counts[node] += 1
            ends.append([(node, device) for device in devices.split("+")])
        if len(ends[0]) != len(ends[1]):
            raise PlanError(f"--cables: '{item}' has {len(ends[0])} and {len(ends[1])} devices: expected as many")
        for end in ends[0] + ends[1]:
            if end in named:
                raise PlanError(f"--cables: device {end[1]} of node {end[0]} is on two cables")
            named.add(end)
        if len(ends[0]) > 1:
            twins.append(list(range(len(cables), len(cables) + len(ends[0]))))
        cables += [[*a, *b] for a, b in zip(*ends)]
    return cables, twins


class Plan:
    def __init__(self, name, dims, *, open_dims=(), mbit=None, mtu=9000, routes=True, management=True,
                 ipv4=True, ranks_per_node=None, burst=None, wiring=None, fresh=False):
        self.name, self.dims = name, list(dims)
        self.wiring, self.fresh = wiring, fresh
        self.open_dims = sorted(set(open_dims))
        self.mbit, self.mtu, self.routes, self.management = mbit, mtu, routes, management
        self.ipv4, self.ranks_per_node, self.burst = ipv4, ranks_per_node, burst
        self.check()
        self.torus = Torus(self.dims, [d not in self.open_dims for d in range(len(self.dims))])
        self.cables, self.twins = parse_cables(wiring, self.torus.size) if wiring is not None else (
            self.planned_cables(), [])
        self.addresses = self.planned_addresses()
        self.faults = {}    # "3:d0p" -> {"loss": percent, "rate": Mbit/s, "mtu": bytes, "down": True}

    def check(self):
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", self.name):
            raise PlanError(f"'{self.name}' is not a name for a testbed: expected small letters, digits and '-'")
        for d in self.open_dims:
            if not 0 <= d < len(self.dims):
                raise PlanError(f"--open {d}: unknown dimension; expected 0 to {len(self.dims) - 1}")
        if self.ranks_per_node and len(self.ranks_per_node) != len(self.dims):
            raise PlanError(f"--ranks-per-node has {len(self.ranks_per_node)} extents: expected {len(self.dims)}")
        if self.wiring is not None and len(self.dims) != 1:
            raise PlanError("--cables: the number of nodes is expected, like 5, in place of extents")

    # ---- who there is ----

    def nodes(self):
        return range(self.torus.size)

    def host(self, node):
        return f"{self.name}-{node}"

    def front(self):
        return f"{self.name}-{FRONT}"

    def namespaces(self):
        return ([self.host(node) for node in self.nodes()] + ([self.front()] if self.management else [])
                + ([self.switches()] if self.twins else []))

    def switches(self):
        """The namespace of the bridges that replace cables with twins."""
        return f"{self.name}-{SWITCHES}"

    def node_number(self, word):
        """A node by number or by host name."""
        text = word[len(self.name) + 1:] if word.startswith(self.name + "-") else word
        if not text.isdigit() or int(text) >= self.torus.size:
            raise PlanError(f"'{word}' is not a node of {self.name}: expected 0 to {self.torus.size - 1}")
        return int(text)

    # ---- cables ----

    def planned_cables(self):
        """[node, device, node, device] each; two cables where a dimension of two wraps around."""
        cables = []
        for node, d in itertools.product(self.nodes(), range(len(self.dims))):
            peer = self.torus.neighbour(node, d, +1)
            if peer is not None:
                cables.append([node, device_name(d, +1), peer, device_name(d, -1)])
        return cables

    def planned_addresses(self):
        """(node, device) -> (own address, planned peer's): a device keeps its address when cables move."""
        addresses = {}
        for number, (a, device_a, b, device_b) in enumerate(self.cables):
            base = 4 * number
            first = f"10.{base >> 16}.{base >> 8 & 255}.{(base & 255) + 1}"
            second = f"10.{base >> 16}.{base >> 8 & 255}.{(base & 255) + 2}"
            addresses[a, device_a] = (first, second)
            addresses[b, device_b] = (second, first)
        return addresses

    def devices(self, node):
        return [device for (owner, device) in self.addresses if owner == node]

    def peer(self, node, device):
        """Returns the current other end of the cable of a device."""
        for a, device_a, b, device_b in self.cables:
            if (a, device_a) == (node, device):
                return b, device_b
            if (b, device_b) == (node, device):
                return a, device_a
        raise PlanError(f"{self.host(node)} has no cable at {device}")

    def find_end(self, word):
        """(node, device) of "3:d0p" or "3:0+"."""
        node_word, _, device = word.partition(":")
        node = self.node_number(node_word)
        return node, self.find_device(node, device)

    def find_device(self, node, word):
        match = re.fullmatch(r"(\d)([+-])", word)
        device = device_name(int(match[1]), 1 if match[2] == "+" else -1) if match else word
        known = self.devices(node)
        if device not in known:
            raise PlanError(f"{self.host(node)} has no link '{word}': expected one of {' '.join(known)}")
        return device

    # ---- addresses and routes ----

    def node_address(self, node):
        return f"10.255.{(node + 1) >> 8}.{(node + 1) & 255}"

    def management_addresses(self, node):
        """With prefix length; node None: the front."""
        low = 0xFFFE if node is None else node + 1
        v6 = f"fd54:254::{low:x}/64"
        return [v6] if not self.ipv4 else [f"10.254.{low >> 8}.{low & 255}/16", v6]

    def route_lines(self, node, only_device=None):
        """`ip` batch lines, none with cables of its own: to every other node and to each of its link addresses, along SDF paths."""
        if not self.routes or not self.ipv4 or self.fresh or self.wiring is not None:
            return []
        lines = []
        source = self.node_address(node)
        mine = {self.addresses[node, device][1] for device in self.devices(node)}
        for target in self.nodes():
            step = self.torus.first_step(node, target)
            if step is None:
                continue
            device = device_name(*step)
            if only_device not in (None, device):
                continue
            via = f"via {self.addresses[node, device][1]} dev {device} src {source}"
            lines.append(f"route replace {self.node_address(target)}/32 {via}")
            for other in self.devices(target):
                address = self.addresses[target, other][0]
                if address not in mine:  # those are reached on their own link
                    lines.append(f"route replace {address}/32 {via}")
        return lines

    # ---- the geometry file ----

    def geometry(self):
        def words(values):
            return "[" + ", ".join(values) + "]"
        if self.wiring is not None:
            return "\n".join(self.geometry_of_launch()[1:]) + "\n"
        lines = ["[torus]", f"dims = {words(map(str, self.dims))}",
                 f"periodic = {words('true' if p else 'false' for p in self.torus.periodic)}"]
        if self.ranks_per_node:
            lines.append(f"ranks_per_node = {words(map(str, self.ranks_per_node))}")
        hosts = ",\n    ".join(f'"{self.host(node)}"' for node in self.nodes())
        lines += ["", "[nodes]", f"hosts = [\n    {hosts}\n]"]
        return "\n".join(lines + self.geometry_of_links() + self.geometry_of_launch()) + "\n"

    def geometry_of_links(self):
        lines = ["", "[links]"]
        for d, extent in enumerate(self.dims):
            if extent > 1:
                lines += [f'"{direction_name(d, s)}" = "{device_name(d, s)}"' for s in (+1, -1)]
        return lines

    def geometry_of_launch(self):
        return ["", "[launch]", 'agent = "ip netns exec"',
                f'through = "{"network" if self.management else "torus"}"']

    # ---- saving ----

    def to_json(self):
        return {"name": self.name, "dims": self.dims, "open": self.open_dims, "mbit": self.mbit,
                "mtu": self.mtu, "routes": self.routes, "management": self.management, "ipv4": self.ipv4,
                "ranks_per_node": self.ranks_per_node, "burst": self.burst, "cables": self.cables,
                "wiring": self.wiring, "fresh": self.fresh,
                "faults": self.faults}

    @staticmethod
    def from_json(saved):
        plan = Plan(saved["name"], saved["dims"], open_dims=saved["open"], mbit=saved["mbit"],
                    mtu=saved["mtu"], routes=saved["routes"], management=saved["management"],
                    ipv4=saved["ipv4"], ranks_per_node=saved["ranks_per_node"],
                    burst=saved.get("burst"), wiring=saved.get("wiring"), fresh=saved.get("fresh", False))
        plan.cables, plan.faults = saved["cables"], saved["faults"]
        return plan
