# SPDX-License-Identifier: BSD-3-Clause
"""The image that guests boot: Debian's kernel and an initramfs, made from the kernel's package and kept in a cache.

The package is downloaded, never installed. Guests take all else from the host's root, so what is made here depends on
that package, busybox and the files beside this one.
"""
import glob
import hashlib
import lzma
import os
import re
import struct
import subprocess
import sys
import tarfile
import time
import zlib

from netns.testbed import locked

HERE = os.path.dirname(os.path.realpath(__file__))
KERNEL_META = "linux-image-amd64"   # not linux-image-cloud-amd64: that has no rdma_rxe
# Loaded at boot, in this order, each after what it depends on. crc32_generic: rxe asks the crypto layer for
# "crc32", which is a module of its own that no dependency names.
MODULES = ["virtio_pci", "9p", "9pnet_virtio", "overlay", "virtio_net", "veth", "sch_netem", "crc32_generic", "rdma_rxe",
           "ib_uverbs", "rdma_ucm"]
MODULE_FOLDERS = re.compile(r"/kernel/(drivers/(infiniband|net|virtio|char)|fs/(9p|overlayfs|netfs|fscache|configfs)|"
                            r"net|lib|crypto|arch/x86/crypto)/")
XZ, GZIP, ZSTD = b"\xfd7zXZ\0", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
DIRECTORY, FILE, PROGRAM, LINK = 0o40755, 0o100644, 0o100755, 0o120777


class Impossible(Exception):
    """Guests cannot run on this machine; has the reason."""


class Image:
    def __init__(self, cache):
        self.cache = cache
        self.vmlinux, self.initrd, self.rxe_exec = (os.path.join(cache, name) for name in ("vmlinux", "initrd", "rxe-exec"))

    def prepare(self, force=False):
        """Builds a file again if it is older than its sources, in one process at a time."""
        os.makedirs(self.cache, exist_ok=True)
        with locked(self.cache):
            package = self.fetch_package()
            wanted = self.recipe(package)
            stamp = os.path.join(self.cache, "stamp")
            if force or not os.path.exists(stamp) or read(stamp) != wanted:
                self.make(package)
                write(stamp, wanted)

    def recipe(self, package):
        """By contents, so that the trees of several users and branches may share one cache."""
        sources = [os.path.realpath(__file__)] + [os.path.join(HERE, name) for name in ("guest/init", "rxe_exec.cpp")]
        return "\n".join([package] + [hashlib.sha256(read(path)).hexdigest() for path in sources]).encode()

    def make(self, package):
        started = time.monotonic()
        kernel, modules = unpack(package)
        write(self.vmlinux, elf_in(kernel))
        write(self.initrd, cpio(initrd_entries(modules)))
        self.build_rxe_exec()
        print(f"rxe-vm: prepared {os.path.basename(package)}, {time.monotonic() - started:.1f} s", file=sys.stderr)

    def fetch_package(self):
        def have():
            return sorted(glob.glob(os.path.join(self.cache, "linux-image-*.deb")))
        if have():
            return have()[-1]
        depends = output("apt-cache", "depends", KERNEL_META)
        name = re.search(r"Depends: (linux-image-\d\S+)", depends)
        if not name:
            raise Impossible(f"apt-cache knows no {KERNEL_META}: run apt-get update (Debian 12 is expected)")
        print(f"rxe-vm: downloading {name[1]}", file=sys.stderr, flush=True)
        done = subprocess.run(["apt-get", "-q", "download", name[1]], cwd=self.cache, timeout=240, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode or not have():
            raise Impossible(f"apt-get download {name[1]} failed: {' '.join(done.stderr.split())[-300:]}; without a "
                             f"network, put the package into {self.cache}")
        return have()[-1]

    def build_rxe_exec(self):
        done = subprocess.run(["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-o",
                               self.rxe_exec + ".new", os.path.join(HERE, "rxe_exec.cpp")], text=True, capture_output=True)
        if done.returncode:
            raise Impossible("rxe_exec.cpp cannot be built:\n" + done.stderr)
        os.replace(self.rxe_exec + ".new", self.rxe_exec)


def output(*command):
    try:
        return subprocess.run(command, text=True, capture_output=True).stdout
    except FileNotFoundError:
        raise Impossible(f"there is no {command[0]}: Debian 12 is expected") from None


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.replace(path + ".new", path)   # a killed writer leaves the old one whole


# ---- the kernel's package ----

def unpack(package):
    """The boot image, and the modules of MODULES with their dependencies, in the order of loading."""
    packed, builtin, kernel = {}, set(), None
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=tar.stdout, mode="r|") as members:
        for member in members:
            base = os.path.basename(member.name)
            if member.name.startswith("./boot/vmlinuz-"):
                kernel = members.extractfile(member).read()
            elif base == "modules.builtin":
                names = members.extractfile(member).read().decode().split()
                builtin = {module_name(name) for name in names}
            elif member.isfile() and ".ko" in base and MODULE_FOLDERS.search(member.name):
                packed[module_name(base)] = members.extractfile(member).read()
    if tar.wait() or kernel is None:
        raise Impossible(f"{package} cannot be unpacked: remove it, and it is downloaded again")
    modules = {}
    for name in MODULES:
        add_module(name, packed, builtin, modules)
    return kernel, modules


def module_name(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


def add_module(name, packed, builtin, modules):
    if name in modules or name in builtin:
        return
    if name not in packed:
        raise Impossible(f"the kernel's package has no module {name} where it was looked for")
    data = lzma.decompress(packed[name]) if packed[name].startswith(XZ) else packed[name]
    depends = re.search(rb"\0depends=([^\0]*)\0", data)   # names modules only, nothing built in
    for other in filter(None, depends[1].decode().split(",") if depends else []):
        add_module(other.replace("-", "_"), packed, builtin, modules)
    modules[name] = data


def elf_in(image):
    """The ELF kernel inside a boot image. QEMU starts it at its PVH entry, which saves each guest from unpacking it
    under emulation (3 s)."""
    setup = (image[0x1F1] or 4) + 1
    offset, size = struct.unpack_from("<II", image, 0x248)
    payload = image[setup * 512 + offset:setup * 512 + offset + size]
    if payload.startswith(XZ):
        elf = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(GZIP):
        elf = zlib.decompressobj(31).decompress(payload)
    elif payload.startswith(ZSTD):   # the last four bytes are the unpacked size
        elf = subprocess.run(["zstd", "-dcq"], input=payload[:-4], stdout=subprocess.PIPE).stdout
    else:
        raise Impossible("the kernel is packed in a way that is not known: expected xz, gzip or zstd")
    if not elf.startswith(b"\x7fELF"):
        raise Impossible("there is no ELF file inside the kernel's image")
    return elf


# ---- the initramfs ----

def initrd_entries(modules):
    busybox = next((path for path in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(path)), None)
    if not busybox:
        raise Impossible("cannot find busybox (Debian package busybox-static)")
    entries = [(name, DIRECTORY, b"") for name in ("bin", "dev", "proc", "sys", "ro", "rw", "new", "modules")]
    entries += [("bin/busybox", PROGRAM, read(busybox)), ("init", PROGRAM, read(os.path.join(HERE, "guest/init"))),
                ("modules/order", FILE, "".join(f"{name}\n" for name in modules).encode())]
    applets = "sh mount mkdir insmod cat chroot dd printf stty sleep usleep dmesg sync sed tr tail"
    entries += [(f"bin/{name}", LINK, b"busybox") for name in applets.split()]
    return entries + [(f"modules/{name}.ko", FILE, data) for name, data in modules.items()]


def cpio(entries):
    """A newc archive of (name, mode, data): all that an initramfs needs."""
    out = bytearray()
    for number, (name, mode, data) in enumerate(entries + [("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + path
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)
