# SPDX-License-Identifier: BSD-3-Clause
"""QEMU processes, one per guest, and the management LAN between them.

Plain emulation (TCG); /dev/kvm is not needed. A link between two guests is a pair of unix datagram sockets: no packet
touches the host's network. Sockets have short names in a directory of their own, which is the working directory here:
a unix socket's path has 107 bytes at most.
"""
import re
import socket
import subprocess
import sys
import threading
import time

# nolapic_timer and tsc_early_khz: a guest that calibrates its clocks while its neighbours boot gets them wrong.
# acpi=off saves 0.15 s for each PCI device under emulation.
CMDLINE = ("console=ttyS0 loglevel=5 panic=-1 oops=panic acpi=off mitigations=off nokaslr init_on_alloc=0 "
           "nolapic_timer noreplace-smp random.trust_cpu=1 tsc=reliable no_timer_check "
           "rcupdate.rcu_expedited=1 rcupdate.rcu_cpu_stall_timeout=120 cryptomgr.notests audit=0 "
           "apparmor=0 nowatchdog transparent_hugepage=never 8250.nr_uarts=2 net.ifnames=0")
BAD_KERNEL = re.compile(r"Kernel panic|BUG:|kernel BUG|Oops|general protection|WARNING: CPU|rcu.*stall|"
                        r"blocked for more than|Out of memory|invoked oom-killer")
MACHINE = "pc,usb=off,vmport=off,hpet=off,smm=off,i8042=off,sata=off"
QEMU = "qemu-system-x86_64"
HUB = "hub"


class GuestError(Exception):
    """A guest did not start, or ended; `code` is the exit status."""

    def __init__(self, message, code=125):
        super().__init__(message)
        self.code = code


def tsc_khz():
    """An emulated guest's time stamp counter is the host's. A guest that measures its rate while its neighbours boot
    gets it wrong (seen: 7 times too fast) and has a wrong clock, so the rate is passed to it. On x86, bogomips is twice the
    counter's MHz."""
    with open("/proc/cpuinfo") as f:
        found = re.search(r"^bogomips\s*:\s*([\d.]+)", f.read(), re.M)
    return f"tsc_early_khz={round(float(found[1]) * 500)} " if found else ""


def nic(name, mac, own, far, mtu):
    host_mtu = f",host_mtu={mtu}" if mtu > 1500 else ""
    return ["-netdev", f"dgram,id={name},local.type=unix,local.path={own},remote.type=unix,remote.path={far}",
            "-device", "virtio-net-pci,disable-legacy=on,romfile=,speed=10000,duplex=full,"
                       f"netdev={name},mac={mac}{host_mtu}"]


def nics(wiring, guest):
    if wiring.shape == "one":
        return []
    words = []
    for end in wiring.ends_in(guest):
        words += nic(end.device, end.mac, end.socket, wiring.far[end].socket, wiring.mtu)
    if wiring.torus.size > 1:
        words += nic("mgmt", wiring.mgmt_mac(guest), f"m{guest}", HUB, 1500)
    return words


def qemu_command(wiring, guest, image, shared, console, memory):
    """Returns -accel with a limit for translated code, so that eight guests fit into a small machine."""
    return ["nice", "-n", "5", QEMU, "-name", wiring.host(guest), "-nodefaults", "-no-user-config", "-display", "none",
            "-no-reboot", "-machine", MACHINE, "-accel", "tcg,thread=multi,tb-size=128", "-cpu", "max", "-smp", "1",
            "-m", str(memory), "-kernel", image.vmlinux, "-initrd", image.initrd,
            "-append", f"{CMDLINE} {tsc_khz()}rxe.guest={guest}",
            "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
            "-serial", f"file:{console}",
            "-chardev", "stdio,id=out,signal=off", "-serial", "chardev:out",
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=hostroot",
            "-fsdev", f"local,id=shared,path={shared},security_model=none,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=shared,mount_tag=shared"] + nics(wiring, guest)


class Hub(threading.Thread):
    """The management LAN: a learning hub, for TCP between guests. It drops frames for a receiver that is full, as a
    LAN does."""

    def __init__(self, guests):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(HUB)
        self.ports, self.stations = [f"m{guest}" for guest in guests], {}

    def run(self):
        while True:
            frame, source = self.socket.recvfrom(70000)
            if not source or len(frame) < 14:
                continue
            self.stations[frame[6:12]] = source
            known = self.stations.get(frame[:6])
            for port in [known] if known else [port for port in self.ports if port != source]:
                try:
                    self.socket.sendto(frame, socket.MSG_DONTWAIT, port)
                except OSError:
                    pass


class Guest:
    """One QEMU. Its output is passed on line by line; two marks in it show its progress."""

    def __init__(self, number, command, prefix, console):
        self.number, self.prefix, self.console = number, prefix, console
        self.ready = self.killed = False
        self.code = None     # of its command
        self.started = time.monotonic()
        # setpriv: QEMU dies with this process, however that ends
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL"] + command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for raw in self.process.stdout:
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            mark = re.search(r"@@rxe-vm (ready|exit) (\S+)$", line)
            if mark and mark[1] == "ready":
                self.ready = True
                continue
            if mark:
                self.code = int(mark[2])
                line = line[:mark.start()]
                if not line:
                    continue
            sys.stdout.write(self.prefix + line + "\n")
            sys.stdout.flush()

    def ended(self):
        """Returns True if QEMU has ended: the guest ended, or it panicked (panic=-1 and -no-reboot)."""
        if self.process.poll() is None:
            return False
        self.reader.join(5)   # its last line may still be on the way
        return True

    def check(self):
        if not self.killed and self.code is None and self.ended() and self.code is None:
            raise GuestError(f"guest {self.number} ended by itself (QEMU status {self.process.returncode})")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def complaints(self):
        """Returns the errors of the guest's kernel, which count even if the command succeeded."""
        try:
            with open(self.console, errors="replace") as f:
                return [line for line in f.read().splitlines() if BAD_KERNEL.search(line)]
        except OSError:
            return []
