# SPDX-License-Identifier: BSD-3-Clause
"""A testbed on this machine: built from a plan, remembered in a state directory, damaged on request,
and taken away without a trace.

The plan is saved before the first namespace is made, so a testbed whose maker was killed half way can still
be listed and taken down. One directory a testbed holds its state, its geometry file and a lock.
"""
import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
import time

from netns import kernel
from netns.plan import FRONT, SWITCHES, Plan, PlanError

STATE_VARIABLE = "TORUS_NETNS_STATE"    # where the state of testbeds is kept, handed down to nested calls
READY_SECONDS = 20


def state_root():
    return os.environ.get(STATE_VARIABLE) or os.path.join(tempfile.gettempdir(), f"torus-netns-{os.geteuid()}")


def make_state_root():
    root = state_root()
    os.makedirs(root, mode=0o700, exist_ok=True)
    found = os.lstat(root)   # /tmp is everybody's: a link to another place is not believed
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
        raise PlanError(f"{root} belongs to another user, or is not a directory: remove it, or set {STATE_VARIABLE} "
                        "to a directory of yours")
    return root


@contextlib.contextmanager
def locked(directory):
    """One process at a time; the directory is its own lock file, so nothing is left behind."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def locked_root():
    """The same for the directory of all testbeds, which the last testbed removes."""
    with contextlib.ExitStack() as stack:
        while True:
            root = make_state_root()
            with contextlib.ExitStack() as attempt:
                with contextlib.suppress(FileNotFoundError):
                    fd = attempt.enter_context(locked(root))
                    if os.fstat(fd).st_ino == os.stat(root).st_ino:
                        stack.push(attempt.pop_all())   # not taken away while this process waited
                        break
        yield root


class Testbed:
    def __init__(self, name):
        self.name = name
        self.directory = os.path.join(state_root(), name)
        self.state_file = os.path.join(self.directory, "testbed.json")
        self.geometry_file = os.path.join(self.directory, "geometry.toml")

    # ---- state ----

    def saved(self):
        """The saved state; None if the testbed does not exist, or was killed before it wrote one."""
        with contextlib.suppress(OSError, ValueError), open(self.state_file) as f:
            return json.load(f)
        return None

    def load(self):
        saved = self.saved()
        if not saved:
            known = ", ".join(names()) or "none"
            raise PlanError(f"unknown testbed '{self.name}' (testbeds: {known}); make one with torus-netns up")
        return Plan.from_json(saved)

    def save(self, plan, **more):
        saved = {**(self.saved() or {}), **plan.to_json(), **more}
        temporary = self.state_file + ".new"
        with open(temporary, "w") as f:
            json.dump(saved, f)
        os.replace(temporary, self.state_file)   # a killed writer leaves the old one whole

    def lock(self):
        self.load()   # reports an unknown testbed
        return locked(self.directory)

    # ---- up ----

    def up(self, plan, geometry=None, private=False):
        """Builds the whole testbed. Removes its parts if that fails."""
        with locked_root():
            taken = sorted(set(plan.namespaces()) & kernel.namespaces())
            if taken or os.path.exists(self.directory):
                raise PlanError(f"the testbed '{self.name}' is there already ({(taken or [self.directory])[0]}): "
                                f"take it away with 'torus-netns down {self.name}', or give another --name")
            os.mkdir(self.directory, 0o700)
            self.save(plan, ready=False, pid=os.getpid(), private=private, since=time.time())
            self.keep_backlog()
        try:
            self.build(plan)
            for path in filter(None, (self.geometry_file, geometry)):
                with open(path, "w") as f:
                    f.write(plan.geometry())
            self.save(plan, ready=True)
        except BaseException:
            self.down()
            raise

    def build(self, plan):
        kernel.batch("ip", [f"netns add {name}" for name in plan.namespaces()])
        self.save(plan, ids=[kernel.namespace_id(name) for name in plan.namespaces()])
        for name in plan.namespaces():
            kernel.prepare_namespace(name)
        # Made from inside the first node, so that the machine's own namespace never sees a device.
        bridged = {number for group in plan.twins for number in group}
        kernel.batch("ip", [cable_line(plan, cable) for number, cable in enumerate(plan.cables)
                            if number not in bridged], plan.host(0))
        for number, group in enumerate(plan.twins):
            kernel.batch("ip", twin_lines(plan, number, [plan.cables[cable] for cable in group]), plan.switches())
        if plan.management:
            self.build_management(plan)
        for node in plan.nodes():
            self.dress_node(plan, node)
        for node in plan.nodes():   # a route needs its device up, and that needs both ends
            kernel.batch("ip", plan.route_lines(node), plan.host(node))
        if not plan.fresh:
            await_ready(plan, list(plan.addresses))

    def build_management(self, plan):
        bridge = ["link set lo up", "link add mgmt type bridge forward_delay 0 stp_state 0", "link set mgmt up"]
        bridge += [f"addr add {address} dev mgmt" for address in plan.management_addresses(None)]
        for node in plan.nodes():
            bridge.append(f"link add n{node} type veth peer name mgmt netns {plan.host(node)}")
            bridge.append(f"link set n{node} master mgmt up")
        kernel.batch("ip", bridge, plan.front())

    def dress_node(self, plan, node):
        lines = ["link set lo up"]
        if plan.ipv4 and not plan.fresh:
            lines.append(f"addr add {plan.node_address(node)}/32 dev lo")
        if plan.management:
            lines += [f"addr add {address} dev mgmt" for address in plan.management_addresses(node)]
            lines.append("link set mgmt up")
        if not plan.fresh:
            for device in plan.devices(node):
                lines += dress_lines(plan, node, device)
        kernel.batch("ip", lines, plan.host(node))
        kernel.batch("tc", [line for device in plan.devices(node) for line in shaping(plan, node, device)],
                     plan.host(node))

    # ---- down ----

    def down(self):
        """Removes all existing parts of this testbed. Returns True if there were any."""
        saved = self.saved() or {}
        mine = re.compile(re.escape(self.name) + rf"-(\d+|{FRONT}|{SWITCHES})")
        there_are = kernel.namespaces()
        present = sorted(name for name in there_are if mine.fullmatch(name))
        # A namespace whose name is gone may still have processes; but the kernel gives the number of one that has
        # ended to a new one, which may be that of another testbed.
        others = {kernel.namespace_id(name) for name in there_are - set(present)}
        ids = {kernel.namespace_id(name) for name in present} | (set(saved.get("ids", [])) - others)
        kernel.kill_processes(ids - {None})
        # Another 'down', or the 'run' that owns the testbed, may be at the same work.
        for attempt in range(3):
            try:
                kernel.delete_namespaces([name for name in present if name in kernel.namespaces()])
                break
            except kernel.KernelError:
                if attempt == 2:
                    raise
        there = bool(present) or os.path.exists(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.forget_backlog()
        return there

    # ---- the machine's packet queue: raised by the first testbed, put back after the last ----

    def keep_backlog(self):
        old = kernel.raise_backlog()
        if old is not None:
            with open(os.path.join(state_root(), "backlog"), "w") as f:
                f.write(str(old))

    def forget_backlog(self):
        if not os.path.isdir(state_root()):
            return
        with locked_root() as root:
            if names():
                return
            kept = os.path.join(root, "backlog")
            with contextlib.suppress(FileNotFoundError):
                with open(kept) as f:
                    kernel.restore_backlog(int(f.read() or 1000))
                os.unlink(kept)
            with contextlib.suppress(OSError):   # it may contain a file of another user
                os.rmdir(root)

    # ---- faults ----

    def cut(self, word):
        with self.lock():
            plan = self.load()
            node, device = plan.find_end(word)
            kernel.batch("ip", [f"link set dev {device} down"], plan.host(node))
            fault(plan, node, device)["down"] = True
            self.save(plan)
            peer, peer_device = plan.peer(node, device)
            return f"{plan.host(node)} {device} is down; its cable leads to {plan.host(peer)} {peer_device}"

    def heal(self, word=None):
        """Undoes cuts, losses, rates and MTUs: at one end, or everywhere on the nodes that are left."""
        with self.lock():
            plan = self.load()
            ends = [plan.find_end(word)] if word else [split_end(key) for key in plan.faults]
            left = kernel.namespaces()
            ends = [end for end in ends if plan.host(end[0]) in left and end[1] in kernel.devices_in(plan.host(end[0]))]
            for end in ends:
                self.dress_again(plan, *end)
            self.save(plan)
            await_ready(plan, [end for end in ends if both_up(plan, end)])
            return f"healed {len(ends)} link ends of {self.name}"

    def dress_again(self, plan, node, device):
        """Restores what a device loses when it goes down: address, MTU, shaping, planned routes and its state."""
        before = plan.faults.pop(f"{node}:{device}", {})
        lines = [line.replace("addr add", "addr replace") for line in dress_lines(plan, node, device)]
        kernel.batch("ip", lines, plan.host(node))
        kernel.batch("tc", shaping(plan, node, device, before), plan.host(node))
        kernel.batch("ip", plan.route_lines(node, device), plan.host(node))

    def set(self, node_word, device_word, changes):
        """changes: {"mtu": bytes, "loss": percent of arriving packets, "rate": Mbit/s of leaving packets}."""
        with self.lock():
            plan = self.load()
            node = plan.node_number(node_word)
            device = plan.find_device(node, device_word)
            before = dict(fault(plan, node, device))
            fault(plan, node, device).update(changes)
            if "mtu" in changes:
                kernel.batch("ip", [f"link set dev {device} mtu {changes['mtu']}"], plan.host(node))
            if "rate" in changes or "loss" in changes:
                kernel.batch("tc", shaping(plan, node, device, before), plan.host(node))
            self.save(plan)
            return f"{plan.host(node)} {device}: " + ", ".join(f"{k} {v:g}" for k, v in changes.items())

    def swap(self, one, other):
        """Exchanges the far ends of two cables, as by a mistake in cabling. Addresses stay with devices."""
        with self.lock():
            plan = self.load()
            end_a, end_b = plan.find_end(one), plan.find_end(other)
            far_a, far_b = plan.peer(*end_a), plan.peer(*end_b)
            if len({end_a, end_b, far_a, far_b}) != 4:
                raise PlanError(f"{one} and {other} are ends of one cable: expected two cables")
            gone = [c for c in plan.cables if tuple(c[:2]) in (end_a, end_b) or tuple(c[2:]) in (end_a, end_b)]
            made = [[*end_a, *far_b], [*end_b, *far_a]]
            for node, device, _, _ in gone:
                kernel.batch("ip", [f"link del dev {device}"], plan.host(node))
            kernel.batch("ip", [cable_line(plan, cable) for cable in made], plan.host(end_a[0]))
            plan.cables = [c for c in plan.cables if c not in gone] + made
            ends = [end_a, end_b, far_a, far_b]
            for node, device in ends:
                kernel.batch("ip", dress_lines(plan, node, device), plan.host(node))
                kernel.batch("tc", shaping(plan, node, device), plan.host(node))
            for node, device in ends:
                kernel.batch("ip", plan.route_lines(node, device), plan.host(node))
            self.save(plan)
            await_ready(plan, [end for end in ends if both_up(plan, end)])
            return "\n".join(f"{plan.host(a)} {device_a} now leads to {plan.host(b)} {device_b}"
                             for a, device_a, b, device_b in made)

    def kill_node(self, word):
        """Acts like a power failure: no message is sent in the torus, and the node and its devices are gone."""
        with self.lock():
            plan = self.load()
            host = plan.host(plan.node_number(word))
            if host not in kernel.namespaces():
                raise PlanError(f"{host} is gone already")
            devices = kernel.devices_in(host) & set(plan.devices(plan.node_number(word)) + ["mgmt"])
            kernel.batch("ip", [f"link set dev {device} down" for device in sorted(devices)], host)
            gone = kernel.namespace_id(host)
            kernel.kill_processes({gone})
            # With the namespace alone, the kernel would take the neighbors' ends away some time later.
            kernel.batch("ip", [f"link del dev {device}" for device in sorted(devices)], host)
            kernel.delete_namespaces([host])
            self.save(plan, ids=[number for number in self.saved().get("ids", []) if number != gone])
            return f"{host} is gone"


def await_ready(plan, ends):
    """Waits until every link end can carry IPv6, which the kernel prepares in the background."""
    if not os.path.isdir("/proc/sys/net/ipv6"):
        return
    limit = time.monotonic() + READY_SECONDS
    waiting = {}
    for node, device in ends:
        waiting.setdefault(node, set()).add(device)
    while waiting:
        for node in list(waiting):
            missing = waiting[node] - kernel.link_local_devices(plan.host(node))
            if not missing:
                del waiting[node]
            elif time.monotonic() > limit:
                raise kernel.KernelError(f"{plan.host(node)}: {' '.join(sorted(missing))} came up without an "
                                         f"IPv6 link-local address in {READY_SECONDS} s")
        if waiting:
            time.sleep(0.005)


# ---- lines for the kernel ----

def cable_line(plan, cable):
    a, device_a, b, device_b = cable
    ends = [f"{device} mtu {plan.mtu} netns {plan.host(node)}" for node, device in ((a, device_a), (b, device_b))]
    return f"link add {ends[0]} type veth peer name {ends[1]}"


def twin_lines(plan, number, cables):
    """Makes a bridge instead of the cable: packets of one device arrive at all others of the cable."""
    lines = [f"link add twin{number} mtu {plan.mtu} type bridge forward_delay 0 stp_state 0 mcast_snooping 0",
             f"link set twin{number} up"]
    ends = [end for a, x, b, y in cables for end in ((a, x), (b, y))]
    for at, (node, device) in enumerate(ends):
        port = f"t{number}p{at}"
        lines.append(f"link add {port} mtu {plan.mtu} type veth peer name {device} mtu {plan.mtu} "
                     f"netns {plan.host(node)}")
        lines.append(f"link set {port} master twin{number} up")
    return lines


def dress_lines(plan, node, device):
    now = plan.faults.get(f"{node}:{device}", {})
    lines = [f"link set dev {device} mtu {now.get('mtu', plan.mtu)}"]
    if plan.ipv4:
        lines.append(f"addr add {plan.addresses[node, device][0]}/30 dev {device}")
    lines.append(f"link set dev {device} {'down' if now.get('down') else 'up'}")
    return lines


def shaping(plan, node, device, before=None):
    """tc lines that take a device from the faults it had `before` (None: it is new) to those it has now."""
    now = plan.faults.get(f"{node}:{device}", {})
    rate, loss = now.get("rate", plan.mbit), now.get("loss")
    lines = kernel.shape_lines(device, rate, plan.burst) + kernel.loss_lines(device, loss)
    if not rate and before and before.get("rate", plan.mbit):
        lines.append(f"qdisc del dev {device} root")
    if not loss and before and before.get("loss"):
        lines.append(f"qdisc del dev {device} clsact")
    return lines


def fault(plan, node, device):
    return plan.faults.setdefault(f"{node}:{device}", {})


def both_up(plan, end):
    """Returns True if a link can work. If an end is cut, the other end has no carrier."""
    return not any(plan.faults.get(f"{node}:{device}", {}).get("down") for node, device in (end, plan.peer(*end)))


def split_end(key):
    node, device = key.split(":")
    return int(node), device


# ---- all testbeds ----

def names():
    """Testbeds with a state directory, and testbeds of which only namespaces are left."""
    root = state_root()
    found = set()
    if os.path.isdir(root):
        found = {name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))}
    return sorted(found)


def describe(name):
    testbed = Testbed(name)
    saved = testbed.saved()
    if not saved:
        return [name, "?", "half made", "", testbed.directory]
    alive = os.path.exists(f"/proc/{saved['pid']}")
    owner = f"run by {saved['pid']}" if saved.get("running") and alive else ""
    state = "up" if saved["ready"] else ("coming up" if alive else "half made")
    if saved.get("running") and not alive:
        state = "orphaned"
    rate = f"{saved['mbit']:g} Mbit/s" if saved["mbit"] else ""
    return [name, "x".join(map(str, saved["dims"])), state, " ".join(filter(None, (rate, owner))), testbed.directory]
