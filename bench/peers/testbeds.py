# SPDX-License-Identifier: BSD-3-Clause
"""Runs the exchange and other programs on a torus of network namespaces, with torusmp, Open MPI, MPICH and bare
sockets, each started as on a cluster.

A Testbed is made by tests/testbed/torus-netns and removed by close(), or it is the testbed around this program, made
by torus-netns run. It runs one job at a time.
"""

import ipaddress
import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[2] / "tests/testbed/torus-netns"
IMPOSSIBLE = 77  # exit code of torus-netns if namespaces cannot be made
MTU = 9000
# The share of payload in a full packet: Ethernet, IP and TCP with timestamps use the rest.
PAYLOAD_SHARE = (MTU - 20 - 32) / (MTU + 14)
LINK_PORT = 40100  # port of bare sockets, plus one for each axis


ROUTES = 186  # the routing protocol number of this program's routes, to distinguish them


class TestbedError(Exception):
    pass


@dataclass(frozen=True)
class Shape:
    torus: str  # "2x2x2"
    open_dims: str = ""  # "0,1": dimensions that do not wrap around
    mbit: float = 0  # of each link in each direction; 0: not shaped
    here: str = ""  # folder of an existing testbed
    forwarding: bool = False  # kernels forward frames between ranks that are not neighbours

    def extents(self):
        return [int(e) for e in self.torus.split("x")]

    def nodes(self):
        product = 1
        for extent in self.extents():
            product *= extent
        return product

    def wire_rate(self):
        """Payload rate of one link in one direction, MB/s of 10^6 bytes."""
        return self.mbit / 8 * PAYLOAD_SHARE


def why_impossible():
    """None if testbeds can be made, otherwise the reason."""
    done = subprocess.run([TESTBED, "possible"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or f"{TESTBED} possible ended with {done.returncode}"
    return "a testbed that stays needs root" if os.geteuid() else None


def testbed_around():
    """The shape of the testbed that `torus-netns run` made around this program, or None."""
    name, root = os.environ.get("TORUS_TESTBED"), os.environ.get("TORUS_NETNS_STATE")
    if not name or not root:
        return None
    folder = Path(root) / name
    try:
        saved = json.loads((folder / "testbed.json").read_text())
    except (OSError, ValueError) as wrong:
        raise TestbedError(f"TORUS_TESTBED is {name}, which is not a testbed: {wrong}") from None
    if not saved["management"] or not saved["ipv4"] or any(n != 1 for n in saved["ranks_per_node"] or ()):
        return None  # the peers need a network to start over, its addresses, and one rank per node
    return Shape("x".join(map(str, saved["dims"])), ",".join(map(str, saved["open"])), saved["mbit"] or 0,
                 str(folder))


class Testbed:
    def __init__(self, shape, name):
        self.shape, self.name = shape, Path(shape.here).name if shape.here else name
        self.folder = tempfile.TemporaryDirectory(prefix="compare-peers-testbed-")
        self.work = Path(self.folder.name)
        self.geometry = Path(shape.here or self.work) / "geometry.toml"
        self.hosts = [f"{self.name}-{rank}" for rank in range(shape.nodes())]
        self.up = True  # also while it is only partly made
        try:
            if not shape.here:
                self.make()
            self.read_addresses()
            self.lay_link_routes()
            self.write_raw_plan()
        except BaseException:
            self.close()
            raise

    def make(self):
        command = [TESTBED, "up", self.shape.torus, "--name", self.name, "--mtu", MTU, "--geometry",
                   self.geometry]
        if self.shape.open_dims:
            command += ["--open", self.shape.open_dims]
        if self.shape.mbit:
            command += ["--mbit", self.shape.mbit]
        call(command)

    def close(self):
        """Removes everything that this object made."""
        if self.up and not self.shape.here:
            subprocess.run([TESTBED, "down", self.name], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        for host in self.hosts if self.up and self.shape.here else ():
            subprocess.run(["ip", "-n", host, "route", "flush", "proto", str(ROUTES)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.up = False
        self.folder.cleanup()

    # ---- the network as seen by the kernels ----

    def read_addresses(self):
        self.links, self.node_address, self.management = [], [], []
        for host in self.hosts:
            found = {}
            for device in ip(host, "addr"):
                for address in device["addr_info"]:
                    found.setdefault(device["ifname"], []).append(
                        ipaddress.ip_interface(f"{address['local']}/{address['prefixlen']}"))
            self.links.append({name: a[0] for name, a in found.items() if name[0] == "d"})
            self.node_address.append(next(a for a in found["lo"] if not a.ip.is_loopback))
            self.management.append(found["mgmt"][0].ip)

    def lay_link_routes(self):
        """A route to every link's address along the path to its node: the peers name nodes by the
        addresses of their links."""
        for rank, host in enumerate(self.hosts):
            paths = {r["dst"]: r for r in ip(host, "route") if "gateway" in r}
            mine = [a.network for a in self.links[rank].values()]
            batch = []
            for other in range(len(self.hosts)):
                if other == rank:
                    continue
                path = paths[str(self.node_address[other].ip)]
                batch += [f"route replace {a.ip}/32 via {path['gateway']} dev {path['dev']} proto {ROUTES}"
                          for a in self.links[other].values()
                          if not any(a.ip in network for network in mine)]
            if batch:
                call(["ip", "-n", host, "-batch", "-"], input="\n".join(batch) + "\n")

    # ---- starting ----

    def write_agent(self, talking):
        """What every launcher calls in the place of ssh: [OPTIONS] HOST WORDS, for a shell. Where
        there is a core for each rank that has something to do, node n gets the n-th: the nodes know
        nothing of each other, and each library would bind all its ranks to the same core."""
        self.agent = self.work / "agent"
        cores = sorted(os.sched_getaffinity(0))
        # Open MPI's daemons assume that they are on one host, and would share one folder of files.
        lines = ["#!/bin/sh", 'while [ "${1#-}" != "$1" ]; do shift; done', "host=$1", "shift",
                 f'export TMPDIR={shlex.quote(str(self.work))}/"$host"', 'mkdir -p "$TMPDIR"']
        if talking <= len(cores):
            cases = " ".join(f'{host}) exec ip netns exec "$host" taskset -c {cores[rank]} sh -c "$*";;'
                             for rank, host in enumerate(self.hosts[:talking]))
            lines.append(f"case $host in {cases} esac")
        lines.append('exec ip netns exec "$host" sh -c "$*"')
        self.agent.write_text("\n".join(lines) + "\n")
        self.agent.chmod(0o755)

    def write_raw_plan(self):
        """Writes the plan of bare.h, whose axes count from the last dimension of the torus."""
        extents = self.shape.extents()
        lines = [f"size {len(self.hosts)}", f"root {self.management[0]} {LINK_PORT - 1} {4 << 20}"]
        for rank, links in enumerate(self.links):
            for device, address in links.items():
                dimension, sign = int(device[1:-1]), 1 if device[-1] == "p" else -1
                peer, far = next((r, a) for r, others in enumerate(self.links)
                                 for a in others.values()
                                 if a.network == address.network and a.ip != address.ip)
                axis = len(extents) - 1 - dimension
                lines.append(f"link {rank} {axis} {sign} {peer} {device} {address.ip} {far.ip} "
                             f"{LINK_PORT + axis}")
        self.raw_plan = self.work / "raw.plan"
        self.raw_plan.write_text("\n".join(lines) + "\n")

    def lay_forwarding(self, torus_info):
        for node, host in enumerate(self.hosts):
            call(["ip", "netns", "exec", host, torus_info, "netplan", "--forwarding", "--apply",
                  "--node", node, "--config", self.geometry])

    def command(self, library, built, ranks, words, settings=(), talking=None):
        """`talking`: the number of ranks that do not only wait."""
        launcher, program = built
        words = [str(w) for w in (program, *words)]
        self.write_agent(talking or ranks)
        return [str(w) for w in getattr(self, "start_" + library)(launcher, ranks, words, settings)]

    def start_ours(self, launcher, ranks, words, settings):
        chosen = [w for s in settings for w in ("--set", s)]
        return ["ip", "netns", "exec", f"{self.name}-front", launcher, "-np", ranks, "--config",
                self.geometry, "--agent", self.agent, "--set", "launch.bind=none", *chosen, *words]

    def start_openmpi(self, launcher, ranks, words, _settings):
        hosts = ",".join(f"{host}:1" for host in self.hosts[:ranks])
        every = [a.network for links in self.links for a in links.values()]
        links = every[0]
        while not all(network.subnet_of(links) for network in every):
            links = links.supernet()
        # mpirun does this itself if it knows that ranks outnumber cores; here every node looks
        # idle.
        oversubscribed = ranks > len(os.sched_getaffinity(0))
        yielding = ["--mca", "mpi_yield_when_idle", "1"] if oversubscribed else []
        return ["ip", "netns", "exec", self.hosts[0], launcher, "--allow-run-as-root", *yielding,
                "-np", ranks,
                "--host", hosts, "--bind-to", "none", "--mca", "plm_rsh_agent", self.agent,
                "--mca", "plm", "rsh", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", links,
                "--mca", "oob_tcp_if_include", f"{self.management[0]}/16", *words]

    def start_mpich(self, launcher, ranks, words, _settings):
        devices = ",".join(sorted({d for links in self.links for d in links}))
        return ["ip", "netns", "exec", self.hosts[0], launcher, "-np", ranks, "-hosts",
                ",".join(self.hosts[:ranks]), "-launcher", "ssh", "-launcher-exec", self.agent,
                "-iface", "mgmt", "-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES",
                devices, "-genv", "UCX_LOG_LEVEL", "error", *words]

    def start_raw(self, _launcher, ranks, words, _settings):
        lines = ["#!/bin/sh", f"export NET_RAW_PLAN={shlex.quote(str(self.raw_plan))}"]
        for rank, host in enumerate(self.hosts[:ranks]):
            lines.append(f"NET_RAW_RANK={rank} {self.agent} {host} {shlex.join(words)} &")
            lines.append(f"p{rank}=$!")
        lines.append("status=0")
        lines += [f"wait $p{rank} || status=1" for rank in range(ranks)]
        script = self.work / "raw"
        script.write_text("\n".join(lines + ["exit $status"]) + "\n")
        return ["sh", script]

    start_ring = start_raw


def ip(host, what):
    done = subprocess.run(["ip", "-n", host, "-4", "-j", what], capture_output=True, text=True)
    if done.returncode:
        raise TestbedError(f"'ip {what}' on {host} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def call(command, **keywords):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **keywords)
    if done.returncode:
        raise TestbedError(f"this failed with code {done.returncode}: "
                       f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}")
