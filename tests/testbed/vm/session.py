# SPDX-License-Identifier: BSD-3-Clause
"""One run of the testbed: guests start, a command runs on node 0, guests end, and nothing is left.

The host and the guests talk by files in a directory that all share: .go starts the command, .end lets guests end,
.kill.N asks for the sudden end of guest N, and .killed.N confirms it.
"""
import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time

from vm.guests import Guest, GuestError, Hub, qemu_command

HERE = os.path.dirname(os.path.realpath(__file__))
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
TIMED_OUT = 124
LOCKED_MEMORY = "unlimited"   # of the command: what a cluster for RDMA grants; root is not asked anyway


def log(text):
    print("rxe-vm:", text, file=sys.stderr, flush=True)


def stop(number, _frame):
    raise GuestError(f"signal {number}", 128 + number)


class Session:
    def __init__(self, wiring, image, options):
        self.wiring, self.image, self.options = wiring, image, options
        self.guests = []
        self.work = os.path.abspath(options.workdir) if options.workdir else tempfile.mkdtemp(prefix="rxe-vm.")
        self.shared = os.path.join(self.work, "shared")

    def run(self, command):
        sockets = tempfile.mkdtemp(prefix="rxe-net.")
        for number in SIGNALS:
            signal.signal(number, stop)
        code = 125
        try:
            self.write_shared(command)
            os.chdir(sockets)
            self.boot()
            code = self.await_command()
            self.end()
        except GuestError as error:
            log(error)
            code = error.code
        finally:
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)   # cleaning up is never interrupted
            for guest in self.guests:
                guest.kill()
            os.chdir("/")
            shutil.rmtree(sockets, ignore_errors=True)
        return self.judge(code)

    # ---- what guests find ----

    def write_shared(self, command):
        shutil.rmtree(self.shared, ignore_errors=True)
        os.makedirs(self.shared)
        shutil.copytree(os.path.join(HERE, "guest"), self.path(".testbed"))
        here = self.wiring.shape == "one"
        shutil.copy(self.path(".testbed/rxe-exec-local") if here else self.image.rxe_exec, self.path(".testbed/bin/rxe-exec"))
        self.write("hosts", self.wiring.hosts_file())
        self.write("links", self.wiring.links_file())
        self.write("geometry.toml", self.wiring.geometry())
        for guest in self.wiring.guests():
            self.write_guest(guest)
        words = [". /run/rxe/env.0", f"cd {shlex.quote(self.options.cwd)} || exit 125",
                 f"ulimit -l {LOCKED_MEMORY}", f"exec {shlex.join(command)}"]
        self.write(".guest.0/command", "\n".join(words) + "\n")

    def write_guest(self, guest):
        wiring, folder = self.wiring, f".guest.{guest}"
        os.mkdir(self.path(folder))
        many = wiring.shape == "many"
        files = {"hostname": [wiring.host(guest)], "names": wiring.nic_names(guest), "ip": wiring.ip_lines(guest),
                 "rdma": wiring.rdma_lines(guest), "devices": [end.rdma for end in wiring.ends_in(guest)]}
        if many and wiring.torus.size > 1:
            files["serve"] = []
        for name, lines in files.items():
            self.write(f"{folder}/{name}", "".join(line + "\n" for line in lines))
        for node in [guest] if many else wiring.nodes():
            self.write(f"{folder}/env.{node}", wiring.environment(node, self.options.env))

    def path(self, name):
        return os.path.join(self.shared, name)

    def write(self, name, text=""):
        with open(self.path(name), "w") as f:
            f.write(text)

    # ---- guests ----

    def boot(self):
        started = time.monotonic()
        numbers = self.wiring.guests()
        if len(numbers) > 1:
            Hub(numbers).start()
        for number in numbers:
            console = os.path.join(self.work, f"console.{number}.log")
            command = qemu_command(self.wiring, number, self.image, self.shared, console, self.options.memory)
            self.guests.append(Guest(number, command, f"[{number}] " if number else "", console))
        end = started + self.options.boot_timeout
        while not all(guest.ready for guest in self.guests):
            for guest in self.guests:
                guest.check()
                if guest.code is not None:
                    raise GuestError(f"guest {guest.number} did not come up")
            if time.monotonic() > end:
                late = " ".join(str(guest.number) for guest in self.guests if not guest.ready)
                raise GuestError(f"guests {late} were not up after {self.options.boot_timeout:.0f} s")
            time.sleep(0.02)
        if self.options.verbose:
            log(f"{len(self.guests)} guests were up after {time.monotonic() - started:.1f} s")

    def await_command(self):
        self.write(".go")
        end = time.monotonic() + self.options.timeout
        while self.guests[0].code is None:
            for guest in self.guests:
                self.kill_where_asked(guest)
                guest.check()
            if time.monotonic() > end:
                raise GuestError(f"the command had not ended after {self.options.timeout:.0f} s", TIMED_OUT)
            time.sleep(0.02)
        return self.guests[0].code

    def kill_where_asked(self, guest):
        request = self.path(f".kill.{guest.number}")
        if guest.number and not guest.killed and os.path.exists(request):
            guest.killed = True
            guest.kill()
            self.write(f".killed.{guest.number}")   # the request stays: its maker may still be making it

    def end(self):
        self.write(".end")
        end = time.monotonic() + 3
        while not all(guest.ended() for guest in self.guests) and time.monotonic() < end:
            time.sleep(0.02)

    def judge(self, code):
        for guest in self.guests:
            if complaints := guest.complaints():
                log(f"guest {guest.number}, kernel: {'; '.join(complaints[:3])}")
                code = code or 125
        if code:
            log(f"kept {self.work} (console.N.log, shared/)")
        elif not self.options.workdir:
            with contextlib.suppress(OSError):
                shutil.rmtree(self.work)
        return code
