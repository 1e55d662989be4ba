#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-setup over a real sshd on every host, as root and by sudo, also where no host knows the user's key yet.
ssh_test.py SOURCE TORUS_SETUP TORUS_RUN HALO_EXCHANGE [CLASS]."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from torus_setup_test import HALO, TORUS_SETUP, SetupTest        # noqa: E402
from harness import PATIENCE, eventually, main                   # noqa: E402

PASSWORD = "of-this-test"
HASHED = "$6$Zc4VTRffIr9szP.T$4HkRf/V9BD7x3QslgMpU.NOBm406ogsoWLSFmkkdiNS9cRqzgZVCXThSle00Gir.3MGv82tWPaK6Q/R.DUW0l/"
TOOLS = ("sshd", "ssh", "ssh-keygen", "ssh-copy-id", "sudo", "unshare")


class SshTest(SetupTest):
    user = "root"

    def setUp(self):
        super().setUp()
        missing = [name for name in TOOLS if not shutil.which(name)]
        if missing or os.environ.get("TESTBED_WAS_USER"):
            self.skipTest(f"not installed: {missing}" if missing else "sshd needs root")
        os.chmod(self.folder.name, 0o755)
        self.daemons = []
        self.addCleanup(self.end_daemons)
        self.up("3")
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        for node, host in enumerate(self.hosts):
            self.start_sshd(node, host)
        # The user's own host: the namespace of the management network, with a home of its own.
        self.home = self.make_home("front")
        self.hosts_by_name()

    def end_daemons(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()

    def make_home(self, host):
        """An /etc in which the user's home is in the folder of this test."""
        if not os.path.exists(self.path(host)):
            self.make_root(host, None)
        etc = os.path.join(self.path(host), "etc")
        home = os.path.join(self.path(host), "home")
        os.mkdir(home, 0o755)
        number = 0 if self.user == "root" else 4242
        os.chown(home, number, number)
        with open(os.path.join(etc, "passwd")) as f:
            lines = [line for line in f if not line.startswith("root:")]
        lines.insert(0, f"root:x:0:0:root:{home if number == 0 else '/root'}:/bin/sh\n")
        if number:
            lines.append(f"{self.user}:x:{number}:{number}::{home}:/bin/sh\n")
        with open(os.path.join(etc, "passwd"), "w") as f:
            f.writelines(lines)
        with open(os.path.join(etc, "shadow"), "w") as f:
            f.write("".join(f"{name}:{HASHED}:19000:0:99999:7:::\n" for name in {"root", self.user}))
        for name in ("pam.d", "security", "ssh", "pam.conf", "login.defs"):
            source = os.path.join("/etc", name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(etc, name), symlinks=True)
            elif os.path.exists(source):
                shutil.copy2(source, etc)
        with open(os.path.join(etc, "sudoers"), "w") as f:
            f.write("root ALL=(ALL) ALL\n" + self.sudo)
        os.chmod(os.path.join(etc, "sudoers"), 0o440)
        return home

    sudo = ""

    def start_sshd(self, node, host):
        self.make_home(host)
        key, config = self.path(f"{host}.key"), self.path(f"{host}.sshd")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        with open(config, "w") as f:
            f.write(f"HostKey {key}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
                    "PasswordAuthentication yes\nAllowUsers root " + self.user + "\n")
        root = self.path(host)
        self.daemons.append(subprocess.Popen(
            ["ip", "netns", "exec", host, "unshare", "--mount", "--uts", "sh", "-c",
             f'hostname {host}; mount --bind {root}/etc /etc; mount --bind {root}/lib /var/lib; '
             f'exec {shutil.which("sshd")} -D -e -f {config}'],
            stderr=subprocess.DEVNULL))
        address = self.address(node)
        eventually(f"sshd of {host}", lambda: subprocess.run(
            ["ip", "netns", "exec", self.plan.front(), "ssh-keyscan", "-T", "1", address],
            capture_output=True).stdout)

    def address(self, node):
        return self.plan.management_addresses(node)[-1].split("/")[0]

    def hosts_by_name(self):
        with open(os.path.join(self.path("front"), "etc/hosts"), "a") as f:
            f.write("\n" + "".join(f"{self.address(node)} {host}\n" for node, host in enumerate(self.hosts)))

    def words(self, *options):
        root = self.path("front")
        return ["ip", "netns", "exec", self.plan.front(), "unshare", "--mount", "sh", "-c",
                f'mount --bind {root}/etc /etc; unset SSH_AUTH_SOCK; HOME={self.home} exec "$@"', "sh",
                TORUS_SETUP, "--output", self.file, "--program", HALO, *self.agent_words, *options, *self.hosts]

    agent_words = ()

    def give_key(self):
        key = os.path.join(self.home, ".ssh/id_ed25519")
        os.makedirs(os.path.dirname(key), exist_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        with open(os.path.join(self.home, ".ssh/config"), "w") as f:
            f.write("StrictHostKeyChecking accept-new\n")
        for host in self.hosts:
            folder = os.path.join(self.path(host), "home/.ssh")
            os.makedirs(folder)
            shutil.copy(key + ".pub", os.path.join(folder, "authorized_keys"))

    def setup(self, *options, status=0, hosts=None):
        done = subprocess.run(self.words(*options), stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=200)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def state(self):
        """Omits the files of sshd and sudo, because the homes are not in /etc."""
        return {host: ({path: of for path, of in files.items() if not re.match("lib/sudo|etc/ssh", path)}, network)
                for host, (files, network) in super().state().items()}


class Root(SshTest):
    def test_a_machine_is_set_up_and_undone_over_ssh(self):
        self.give_key()
        before = self.state()
        done = self.setup("--yes")
        self.assertIn("The machine is ready", done.stdout)
        self.expect_all_reach_all()
        self.setup("--undo")
        self.expect_state(before)

    def test_a_key_is_copied_where_the_user_agrees(self):
        self.assertIn('Run "ssh', self.setup("--yes", status=1).stderr)     # without a terminal it does not offer it
        said = self.converse(self.words("--step", "look"), [
            ("Run them", "y"), ("Enter file", ""), ("passphrase", ""), ("again", ""),
            *[answer for _ in self.hosts for answer in (("continue connecting", "yes"), ("password", PASSWORD))]])
        self.assertIn("ssh-keygen", said)
        for host in self.hosts:
            self.assertIn(f"ssh-copy-id {host}", said)
            self.assertIn(f"{host}: answers", said)
        self.setup("--step", "look")

    def converse(self, words, answers):
        """Runs a program with a terminal; answers each prompt, in order. Returns all that it wrote."""
        pid, fd = pty.fork()
        if pid == 0:
            os.execvp(words[0], words)
        said, seen, answers, end = "", 0, list(answers), time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    said += os.read(fd, 4096).decode(errors="replace")
                except OSError:     # it has ended
                    break
            if answers and (found := said.find(answers[0][0], seen)) >= 0:
                seen = found + len(answers[0][0])
                time.sleep(0.05)    # the terminal is switched to no echo just after the prompt
                os.write(fd, answers.pop(0)[1].encode() + b"\n")
        os.close(fd)
        status = os.waitpid(pid, 0)[1]
        self.assertEqual(answers, [], said)
        self.assertEqual(status, 0, said)
        return said


class Sudo(SshTest):
    user = "alice"
    sudo = "alice ALL=(ALL) NOPASSWD: ALL\n"

    @property
    def agent_words(self):
        return "--agent", f"ssh -i {self.home}/.ssh/id_ed25519 -o StrictHostKeyChecking=no -l {self.user}"

    def test_a_user_with_sudo_sets_a_machine_up(self):
        self.give_key()
        before = self.state()
        self.assertIn("The machine is ready", self.setup("--yes").stdout)
        self.expect_all_reach_all()
        self.setup("--undo")
        self.expect_state(before)


class NoSudo(Sudo):
    sudo = ""

    def test_a_user_with_sudo_sets_a_machine_up(self):
        """A user without sudo gets the remedy, once for each host."""
        self.give_key()
        before = self.state()
        said = self.setup("--yes", status=1).stderr
        self.assertEqual(said.count('Connect as root (--agent "ssh -l root"), or allow sudo'), 3, said)
        self.assertEqual(said.count("\n"), 4, said)
        self.expect_state(before)


del SshTest, SetupTest


if __name__ == "__main__":
    main()
