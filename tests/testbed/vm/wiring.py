# SPDX-License-Identifier: BSD-3-Clause
"""The wiring of a torus of virtual machines: a Plan whose cables are links of soft-RoCE.

Pure: nothing here touches the machine. What a guest needs comes out as text: lines for `ip` and `rdma`,
the environment of a node, the geometry file.

In shape "many" each node is a guest with one NIC a link. In shape "one" all nodes share one guest and one network
namespace (moving a device with rxe into another namespace destroys the rxe device on Linux 6.1); a link is a veth
pair, and its devices are named after the node. There only IPv6 link-local addresses work: an IPv4 address of the same
host is routed over lo, where no rxe device listens.
"""
import shlex
from dataclasses import dataclass

from netns.plan import Plan, PlanError, device_name, direction_name

SHAPES = ("one", "many")
SHARED = "/run/rxe/shared"          # in the guests: the directory that the host and all nodes share
GEOMETRY = SHARED + "/geometry.toml"
PATH = "/run/rxe/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class End:
    """One end of a cable. `number` is the number of the cable; `side` distinguishes its two ends."""
    node: int
    place: str      # d0p: the device in a guest of its own
    device: str     # the device in the guest that it has here
    number: int
    side: int

    @property
    def rdma(self):
        return "rxe_" + self.device

    @property
    def mac(self):
        return f"52:54:00:{self.number >> 8:02x}:{self.number & 255:02x}:{self.side:02x}"

    @property
    def link_local(self):
        """The address that the kernel derives from the MAC address; as a GID it has index 0."""
        return f"fe80::5054:ff:fe{self.number >> 8:02x}:{(self.number & 255) << 8 | self.side:x}"

    @property
    def socket(self):
        return f"l{self.number}.{self.side}"


class Wiring(Plan):
    def __init__(self, dims, shape, *, use="verbs", mtu=4200, routes=False, open_dims=()):
        if routes and shape == "one":
            raise PlanError("--routes needs a kernel of its own for each node: use --shape many")
        self.shape, self.use = shape, use
        super().__init__("node", dims, open_dims=open_dims, mtu=mtu, routes=routes)
        if len(self.cables) > 0xffff:
            raise PlanError(f"{len(self.cables)} cables are more than MAC addresses are made for here")
        self.far = {}
        for number, (a, device_a, b, device_b) in enumerate(self.cables):
            one, other = self.make_end(a, device_a, number, 1), self.make_end(b, device_b, number, 2)
            self.far[one], self.far[other] = other, one

    def make_end(self, node, place, number, side):
        device = place if self.shape == "many" else f"n{node}{place}"
        return End(node, place, device, number, side)

    def guests(self):
        return range(self.torus.size if self.shape == "many" else 1)

    def ends(self, node):
        found = {end.place: end for end in self.far if end.node == node}
        return [found[place] for place in sorted(found, key=lambda place: (place[:-1], place[-1] != "p"))]

    def ends_in(self, guest):
        return [end for node in self.nodes() if self.shape == "one" or node == guest for end in self.ends(node)]

    def address(self, end):
        """The IPv4 address, only if each node has its own kernel; as a GID it has index 1."""
        return self.addresses[end.node, end.place][0]

    # ---- lines for the kernel of a guest ----

    def ip_lines(self, guest):
        lines, later = ["link set dev lo up"], []
        if self.shape == "many":
            lines.append(f"addr add {self.node_address(guest)}/32 dev lo")
            if self.torus.size > 1:
                lines.append("link set dev mgmt up")
                lines += [f"addr add {address} dev mgmt" for address in self.management_addresses(guest)]
        for end in self.ends_in(guest):
            far = self.far[end]
            if self.shape == "many":
                lines += [f"link set dev {end.device} mtu {self.mtu} up",
                          f"addr add {self.address(end)}/30 dev {end.device}"]
                later.append(neighbour_line(self.address(far), far.mac, end.device))
            elif end.side == 1:
                lines += [f"link add {end.device} address {end.mac} mtu {self.mtu} type veth "
                          f"peer name {far.device} address {far.mac} mtu {self.mtu}",
                          f"link set dev {end.device} up", f"link set dev {far.device} up"]
            later.append(neighbour_line(far.link_local, far.mac, end.device))
        return lines + later + (self.route_lines(guest) if self.shape == "many" else [])

    def rdma_lines(self, guest):
        return [f"link add {end.rdma} type rxe netdev {end.device}" for end in self.ends_in(guest)]

    def mgmt_mac(self, guest):
        return f"52:54:01:00:{guest >> 8:02x}:{guest & 255:02x}"

    def nic_names(self, guest):
        """MAC and name of each NIC: the kernel does not guarantee their order."""
        if self.shape == "one":
            return []
        names = [f"{end.mac} {end.device}" for end in self.ends_in(guest)]
        return names + ([f"{self.mgmt_mac(guest)} mgmt"] if self.torus.size > 1 else [])

    # ---- routes ----

    def route_lines(self, node, only_device=None):
        """To every node's own address along the SDF path, as on a cluster; to each address of its links by the
        way that ends there.

        A queue pair between two nodes that share no cable lies between the first device of the path from the lower
        to the higher one and the path's last device. RoCE packets must come in by the device that the queue pair
        is on, in both directions, so a link's address is reached through that very link wherever one of the two
        paths leads there."""
        if not self.routes:
            return []
        mine = {self.addresses[node, place][1] for place in self.devices(node)}
        lines = []
        for target in self.nodes():
            if target == node:
                continue
            lines.append(self.route_line(node, self.node_address(target), device_name(*self.torus.first_step(node, target))))
            lines += [self.route_line(node, self.address(end), self.way_to(node, end))
                      for end in self.ends(target) if self.address(end) not in mine]
        return lines

    def route_line(self, node, address, place):
        return f"route replace {address}/32 via {self.addresses[node, place][1]} dev {place}"

    def pair_step(self, here, there):
        """The first step from `here` of the one path of this pair, as routing/pair_path.h has it."""
        if here < there:
            return self.torus.first_step(here, there)
        dimension, sign = self.torus.path(there, here)[-1]
        return dimension, -sign

    def way_to(self, node, end):
        """The device by which `node` sends to the address of `end`: routing/pair_path.h, next_hop_into()."""
        if device_name(*self.pair_step(end.node, node)) == end.place:
            return device_name(*self.pair_step(node, end.node))
        before = self.far[end].node
        if node == before:
            return self.far[end].place
        distance = lambda a, b: len(self.torus.path(a, b))  # noqa: E731
        nearer = before if distance(node, before) + 1 == distance(node, end.node) else end.node
        return device_name(*self.torus.first_step(node, nearer))

    # ---- the files for programs ----

    def geometry_of_links(self):
        if self.shape == "many":
            return super().geometry_of_links()
        lines = []
        for node in self.nodes():
            lines += ["", f'[links."{self.host(node)}"]']
            lines += [f'"{direction_of(end.place)}" = "{end.device}"' for end in self.ends(node)]
        return lines

    def geometry_of_launch(self):
        """Emulated nodes of a busy machine are silent for seconds now and then; none is to be given up for that."""
        return ["", "[launch]", 'agent = "rxe-exec"', 'bind = "none"', "", "[transport]", f'use = "{self.use}"',
                'timeout = "30s"']

    def hosts_file(self):
        """Returns /etc/hosts. On one guest all names are loopback addresses, and rxe-exec finds the nodes."""
        lines = ["127.0.0.1 localhost"]
        for node in self.nodes():
            many = self.shape == "many" and self.torus.size > 1
            address = self.management_addresses(node)[0].split("/")[0] if many else f"127.0.1.{node + 1}"
            lines.append(f"{address} {self.host(node)}")
        return "\n".join(lines) + "\n"

    def links_file(self):
        """Returns a line for each end, for programs that use the links without torusmp."""
        lines = ["# node place netdev rdma address peer peer-place peer-netdev peer-rdma peer-address"]
        for node in self.nodes():
            lines += [" ".join((str(node), *self.words(end), str(self.far[end].node), *self.words(self.far[end])))
                      for end in self.ends(node)]
        return "\n".join(lines) + "\n"

    def words(self, end):
        address = self.address(end) if self.shape == "many" else f"{end.link_local}%{end.device}"
        return end.place, end.device, end.rdma, address

    def environment(self, node, more=()):
        """Returns variables for a shell. HOME and TERM have the values of a login."""
        values = {"PATH": PATH, "HOME": "/root", "TERM": "dumb", "LANG": "C.UTF-8", "TORUSMP_CONFIG": GEOMETRY,
                  "RXE_SHARED": SHARED, "RXE_SHAPE": self.shape, "RXE_DIMS": "x".join(map(str, self.dims)),
                  "RXE_SIZE": self.torus.size, "RXE_NODE": node, "RXE_GIDX": 0, "RXE_LINKS": SHARED + "/links"}
        values.update(word.partition("=")[::2] for word in more)
        return "".join(f"export {name}={shlex.quote(str(value))}\n" for name, value in values.items())


def neighbour_line(address, mac, device):
    """Neighbours are given, not asked for: a queue pair's move to RTR fails where the answer takes a second."""
    return f"neigh replace {address} lladdr {mac} dev {device} nud permanent"


def direction_of(place):
    return direction_name(int(place[1:-1]), 1 if place[-1] == "p" else -1)
