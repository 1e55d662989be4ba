# SPDX-License-Identifier: BSD-3-Clause
"""The requests to the kernel for a testbed: namespaces, devices, shaping, and killing processes.

Everything goes through `ip -batch` and `tc -batch`, one process for many commands, so that a testbed of 64
nodes comes up in about a second. Callers own what they create; nothing is remembered here.
"""
import contextlib
import ctypes
import os
import signal
import subprocess
import time

NETNS_DIR = "/run/netns"
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


class KernelError(Exception):
    """The kernel refused; one message for the user."""


def batch(tool, lines, namespace=None):
    """Runs `ip` or `tc` on all lines at once, in a namespace; the first refusal is the error."""
    if not lines:
        return
    command = [tool] + (["-n", namespace] if namespace else []) + ["-batch", "-"]
    done = subprocess.run(command, input="\n".join(lines) + "\n", text=True, capture_output=True,
                          preexec_fn=die_with_parent)
    if done.returncode:
        words = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        number = done.stderr.rpartition("-:")[2].strip()
        line = lines[int(number) - 1] if number.isdigit() and int(number) <= len(lines) else lines[0]
        where = f" in {namespace}" if namespace else ""
        raise KernelError(f"'{tool} {line}'{where}: {words}")


def why_impossible():
    """Returns None if this process can create namespaces, or else the reason."""
    for tool in ("ip", "tc", "unshare"):
        if not any(os.access(os.path.join(d, tool), os.X_OK)
                   for d in os.environ.get("PATH", os.defpath).split(":") + ["/usr/sbin", "/sbin"]):
            return f"{tool} is not installed (Debian packages iproute2, util-linux)"
    command = ["unshare", "-Urnm"] if os.geteuid() else ["unshare", "-nm"]
    probe = subprocess.run(command + ["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
                           text=True, capture_output=True)
    if probe.returncode:
        return f"'{' '.join(command)}' may not make a veth pair: {' '.join(probe.stderr.split())}"
    return None


def mount_private():
    """Makes a directory of namespace names that no other process sees, in a separate mount namespace."""
    target = NETNS_DIR if os.path.isdir(NETNS_DIR) else os.path.dirname(NETNS_DIR)
    subprocess.run(["mount", "-t", "tmpfs", "torus-netns", target], check=True)
    os.makedirs(NETNS_DIR, exist_ok=True)


# ---- inside a namespace ----

def _setns(fd):
    if libc.setns(fd, CLONE_NEWNET):
        raise KernelError(f"cannot enter a network namespace: {os.strerror(ctypes.get_errno())}")


@contextlib.contextmanager
def inside(namespace):
    """Moves this thread to a network namespace for a while. /proc/sys/net and /proc/thread-self/net follow."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        there = os.open(f"{NETNS_DIR}/{namespace}", os.O_RDONLY)
        try:
            _setns(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


def write_sysctl(name, value):
    with open("/proc/sys/" + name.replace(".", "/"), "w") as f:
        f.write(str(value))


def prepare_namespace(namespace):
    """Call this before any device exists, so that devices inherit it."""
    with inside(namespace):
        write_sysctl("net.ipv4.ip_forward", 1)
        for scope in ("all", "default"):
            write_sysctl(f"net.ipv4.conf.{scope}.rp_filter", 0)
        if os.path.isdir("/proc/sys/net/ipv6"):
            # A link-local address is usable at once, and no host asks for routers: the links are quiet.
            for name, value in (("accept_dad", 0), ("dad_transmits", 0), ("accept_ra", 0),
                                ("router_solicitations", 0)):
                write_sysctl(f"net.ipv6.conf.default.{name}", value)


def link_local_devices(namespace):
    """Devices whose IPv6 link-local address can be used."""
    tentative, link_scope = 0x40, 0x20
    with inside(namespace), contextlib.suppress(FileNotFoundError), open("/proc/thread-self/net/if_inet6") as f:
        fields = [line.split() for line in f]
        return {f[5] for f in fields if int(f[3], 16) == link_scope and not int(f[4], 16) & tentative}
    return set()


def devices_in(namespace):
    with inside(namespace), open("/proc/thread-self/net/dev") as f:
        return {line.split(":")[0].strip() for line in f if ":" in line}


# ---- shaping ----

def shape_lines(device, mbit, burst=None):
    """tbf: bursts of 2 ms, but never below a few of the 64 KiB segments that TCP hands down whole, unless the
    plan says how much: tbf then cuts the segments itself."""
    if not mbit:
        return []
    burst = burst or max(128 << 10, int(mbit * 1e6 / 8 * 0.002))
    return [f"qdisc replace dev {device} root tbf rate {int(mbit * 1e6)}bit burst {burst} limit {burst + (2 << 20)}"]


GO_ON, DROP = "6 0 0 4294967295", "6 0 0 2"  # TC_ACT_UNSPEC, TC_ACT_SHOT


def loss_lines(device, percent):
    """Drops a share of the packets that arrive."""
    if not percent:
        return []
    load_random = "32 0 0 4294963256"               # A = 32 random bits
    compare = f"53 0 1 {int(percent / 100 * 2**32)}"  # A >= threshold: go on, else drop
    return filter_lines(device, [DROP] if percent >= 100 else [load_random, compare, GO_ON, DROP])


def long_loss_lines(device, most):
    """Drops packets that arrive with more bytes, including the Ethernet header."""
    return filter_lines(device, ["128 0 0 0", f"37 1 0 {most}", GO_ON, DROP])  # A = length; A > most


def filter_lines(device, program):
    """Filters arriving packets by a short classic BPF program, because not every kernel has netem."""
    return [f"qdisc replace dev {device} clsact",
            f"filter replace dev {device} ingress prio 1 handle 1 bpf da bytecode "
            f"\"{len(program)},{','.join(program)}\""]


# ---- the machine ----

def namespaces():
    with contextlib.suppress(FileNotFoundError):
        return set(os.listdir(NETNS_DIR))
    return set()


def namespace_id(namespace):
    with contextlib.suppress(OSError):
        return os.stat(f"{NETNS_DIR}/{namespace}").st_ino
    return None


def delete_namespaces(names):
    batch("ip", [f"netns del {name}" for name in names])


def processes_in(ids):
    """Pids of the processes that live in any of these network namespaces (inode numbers)."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{entry}/ns/net").st_ino in ids:
                    found.append(int(entry))
    return found


def kill_processes(ids, patience=10.0):
    """Kills all processes in the namespaces, repeatedly until none forks any more."""
    end = time.monotonic() + patience
    while pids := processes_in(ids):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > end:
            raise KernelError(f"processes {pids} do not die; the namespaces they hold are left")
        time.sleep(0.01)


def die_with_parent():
    """For preexec_fn: ends the children of a killed tool, which would otherwise continue to create devices."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


BACKLOG = "/proc/sys/net/core/netdev_max_backlog"
WANTED_BACKLOG = 20000   # veth drops at the default of 1000 when many links are busy


def raise_backlog():
    """Raises the machine's queue for arriving packets. Returns the old length if it was raised."""
    try:
        with open(BACKLOG) as f:
            old = int(f.read())
        if old >= WANTED_BACKLOG:
            return None
        with open(BACKLOG, "w") as f:
            f.write(str(WANTED_BACKLOG))
        return old
    except OSError:
        return None   # not ours to set in a user namespace


def restore_backlog(old):
    with contextlib.suppress(OSError), open(BACKLOG, "w") as f:
        f.write(str(old))
