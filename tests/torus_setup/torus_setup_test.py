#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-setup in testbeds of namespaces, each host with its own /etc and /var/lib:
torus_setup_test.py SOURCE TORUS_SETUP TORUS_RUN HALO_EXCHANGE [CLASS]."""
import itertools
import json
import os
import pty
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time

sys.dont_write_bytecode = True
SOURCE, TORUS_SETUP, TORUS_RUN, HALO = (sys.argv.pop(1) for _ in range(4))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns import kernel                                         # noqa: E402
from netns.plan import Plan                                      # noqa: E402
from harness import (TestbedTest, eventually, main, tool, udp_arrives,           # noqa: E402
                     write_agent_over_cables)

HOSTS_FILE = "127.0.0.1\tlocalhost\n# kept as it is, without a last newline"
STARTS = "etc/systemd/system/multi-user.target.wants/"


def run(*words, **options):
    return subprocess.run(words, text=True, capture_output=True, timeout=200, **options)


class SetupTest(TestbedTest):
    def up(self, dims, open_dims=(), starts="systemd-networkd"):
        """Makes hosts with only cables and a management network: no link is up or has an address."""
        name = self.name()
        opened = [word for d in open_dims for word in ("--open", str(d))]
        tool("up", dims, "--name", name, "--no-routes", "--ipv6-only", *opened)
        self.dress(Plan(name, [int(d) for d in dims.split("x")], routes=False, ipv4=False, open_dims=open_dims), starts)

    def dress(self, plan, starts):
        self.plan = plan
        self.hosts = [self.plan.host(node) for node in self.plan.nodes()]
        self.wrappers = self.path("wrappers")
        for node, host in enumerate(self.hosts):
            self.make_root(host, starts)
            kernel.batch("ip", [f"link set {d} down" for d in self.plan.devices(node)] +
                         (["route add default dev mgmt"] if plan.management else []), host)
            with kernel.inside(host):
                kernel.write_sysctl("net.ipv4.ip_forward", 0)
        self.agent = self.path("agent")
        self.write_agent()
        self.file = self.path("lab.toml")

    def make_root(self, host, starts):
        root = self.path(host)
        os.makedirs(os.path.join(root, "lib"))
        etc = os.path.join(root, "etc")
        os.mkdir(etc)
        for name in ("alternatives", "passwd", "group", "nsswitch.conf", "ld.so.cache"):
            source = os.path.join("/etc", name)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(etc, name), symlinks=True)
            elif os.path.exists(source):
                shutil.copy2(source, etc)
        with open(os.path.join(etc, "hosts"), "w") as f:
            f.write(HOSTS_FILE)
        if starts:
            os.makedirs(os.path.join(root, STARTS))
            os.symlink(f"/lib/systemd/system/{starts}.service", os.path.join(root, STARTS, f"{starts}.service"))

    def write_agent(self):
        """A host has its name and an address, 192.0.2.NODE."""
        with open(self.agent, "w") as f:
            f.write(f'#!/bin/sh\nhost=$1; shift\ncase $host in 192.0.2.*) host={self.plan.name}-${{host##*.}};; esac\n'
                    f'exec ip netns exec "$host" unshare --mount --uts sh -c \''
                    'hostname "$0"; root=$1; wrappers=$2; shift 2; mount --bind "$root/etc" /etc; '
                    'mount --bind "$root/lib" /var/lib; export SETUP_HOST="$0"; PATH=$wrappers:$PATH exec "$@"\' '
                    f'"$host" "{self.folder.name}/$host" {self.wrappers} "$@"\n')
        os.chmod(self.agent, 0o755)

    def write_agent_over_cables(self):
        """Makes torus-setup run on host 0, and reach hosts only from neighbour to neighbour."""
        self.over_cables = self.path("over-cables")
        # As sshd has it, for a connection whose address is on the cable.
        write_agent_over_cables(self.over_cables, self.plan,
                                f'SSH_CONNECTION="fe80::1 40000 fe80::2 22" exec {self.agent}')

    def bring_up(self, node, devices):
        kernel.batch("ip", [f"link set {device} up" for device in devices], self.plan.host(node))

    over_cables = None

    def command(self, *options):
        words = ["--output", self.file, "--program", HALO, *options]
        if self.over_cables is None:
            return [TORUS_SETUP, "--agent", self.agent, *words]
        return [self.agent, self.hosts[0], TORUS_SETUP, "--set", "launch.through=torus",
                "--agent", self.over_cables + " {address}", *words]

    def setup(self, *options, status=0, hosts=None):
        done = run(*self.command(*options), *(self.hosts if hosts is None else hosts), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def on(self, host, *words):
        done = run(self.agent, host, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    # ---- the state of a host ----

    def files(self, host):
        """{path: (mode, owner, text)} of /etc and /var/lib/torusmp."""
        found = {}
        root = self.path(host)
        for top in ("etc", "lib"):
            for folder, folders, files in os.walk(os.path.join(root, top)):
                if "alternatives" in folder:
                    continue
                for name in folders + files:
                    path = os.path.join(folder, name)
                    status = os.lstat(path)
                    text = b""
                    if stat.S_ISREG(status.st_mode):
                        with open(path, "rb") as f:
                            text = f.read()
                    found[os.path.relpath(path, root)] = (status.st_mode, status.st_uid, text)
        return found

    def network(self, host):
        """Addresses of IPv4, routes, devices and the settings that forwarding needs."""
        links = [(link["ifname"], "UP" in link["flags"], link["mtu"])
                 for link in json.loads(run("ip", "-n", host, "-j", "link").stdout)]
        settings = []
        with kernel.inside(host):
            for name in ["ip_forward"] + [f"conf/{link[0]}/rp_filter" for link in links]:
                with open(f"/proc/sys/net/ipv4/{name}") as f:
                    settings.append((name, f.read()))
        addresses = [line.split("valid_lft")[0] for line in
                     run("ip", "-n", host, "-o", "-4", "addr").stdout.splitlines()]
        return links, addresses, sorted(run("ip", "-n", host, "-4", "route").stdout.splitlines()), settings

    def state(self):
        return {host: (self.files(host), self.network(host)) for host in self.hosts}

    def expect_state(self, expected):
        for host, (files, network) in self.state().items():
            self.assertEqual(network, expected[host][1], host)
            self.assertEqual({path for path in files}, {path for path in expected[host][0]}, host)
            self.assertEqual(files, expected[host][0], host)

    def addresses(self):
        """{host: its own address} as /etc/hosts of the first host has it."""
        text = self.files(self.hosts[0])["etc/hosts"][2].decode()
        lines = [line.split() for line in text.splitlines() if line.startswith("10.255.")]
        return {name.removesuffix(".torus"): address for address, name in lines}

    def expect_all_reach_all(self):
        addresses = self.addresses()
        self.assertEqual(set(addresses), set(self.hosts))
        for a, b in itertools.permutations(self.hosts, 2):
            self.assertTrue(udp_arrives(a, addresses[a], b, addresses[b]), f"{a} to {b}")


class FromNothing(SetupTest):
    def test_two_commands_lead_from_nothing_to_a_result_and_undo_leads_back_byte_for_byte(self):
        self.up("4")
        before = self.state()
        begin = time.monotonic()
        done = self.setup("--yes")
        middle = time.monotonic()
        result = run(TORUS_RUN, "--config", self.file, HALO)
        end = time.monotonic()
        print(f"set up in {middle - begin:.1f} s, first result after {end - begin:.1f} s")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("all are good", done.stdout)
        self.assertIn("The machine is ready", done.stdout)
        self.assertEqual(done.stderr.count("\n"), 0, done.stderr)
        self.expect_all_reach_all()
        self.expect_devices_of_learning()
        for host in self.hosts:
            self.assertTrue(self.files(host)["etc/hosts"][2].decode().startswith(HOSTS_FILE + "\n# torusmp"))
            self.assertIn("etc/systemd/network/05-torus-d0p.network", self.files(host))
            self.assertEqual(self.on(host, "getent", "hosts", self.hosts[2] + ".torus").split()[0],
                             self.addresses()[self.hosts[2]])
        after = self.state()
        self.setup("--yes")
        self.expect_networks(after)
        self.setup("--undo")
        self.expect_state(before)
        self.assertIn("nothing to undo", self.setup("--undo").stdout)
        self.expect_state(before)

    def expect_devices_of_learning(self):
        """Gloo uses the address of the given device, and other ranks connect to rank 0 at its address on the torus."""
        host = self.hosts[0]
        done = self.on(host, TORUS_RUN, "--here", host, "--config", self.file, "sh", "-c",
                       "echo $GLOO_SOCKET_IFNAME $MASTER_ADDR ${NCCL_IB_HCA-none}")
        self.assertEqual(done, f"lo:torus {self.addresses()[host]} none\n" * len(self.hosts))
        for host in self.hosts:
            self.assertIn(f"{self.addresses()[host]}/32 scope global lo:torus",
                          run("ip", "-n", host, "-o", "addr", "show", "lo").stdout)

    def expect_networks(self, expected):
        """Expects the same state, except the notes of torus-setup itself."""
        for host, (files, network) in self.state().items():
            self.assertEqual(network, expected[host][1])
            etc = lambda found: {path: of for path, of in found.items() if path.startswith("etc")}
            self.assertEqual(etc(files), etc(expected[host][0]))

    def test_each_step_alone_leads_to_the_same(self):
        self.up("3")
        before = self.state()
        self.setup("--step", "look")
        self.expect_state(before)
        self.setup("--step", "up", "--yes")
        self.setup("--step", "discover", "--yes")
        self.setup("--step", "apply", "--yes", hosts=[])
        self.expect_all_reach_all()
        self.assertIn("all are good", self.setup("--step", "check", hosts=[]).stdout)
        self.setup("--step", "run", hosts=[])
        self.setup("--undo", hosts=[])
        self.expect_state(before)

    def test_a_dry_run_shows_all_and_changes_nothing(self):
        self.up("3")
        before = self.state()
        done = self.setup("--dry-run", status=1)
        self.assertIn("Devices to bring up", done.stdout)
        self.assertIn("A dry run does not bring devices up", done.stderr)
        self.expect_state(before)
        for node, host in enumerate(self.hosts):
            kernel.batch("ip", [f"link set {d} up" for d in self.plan.devices(node)], host)
        before = self.state()
        done = self.setup("--dry-run")
        for host in self.hosts:
            self.assertIn(f"Changes of {host}:\n  ip addr replace 10.255.0.", done.stdout)
        self.assertIn("write /etc/systemd/network/05-torus-d0p.network\n    | [Match]", done.stdout)
        self.expect_state(before)
        self.assertFalse(os.path.exists(self.file))
        # Applied, every file and line that was shown is there, and no other.
        self.setup("--yes")
        changed = {path for path, of in self.files(self.hosts[1]).items()
                   if path.startswith("etc") and before[self.hosts[1]][0].get(path) != of and not stat.S_ISDIR(of[0])}
        for path in changed:
            self.assertIn(f"write /{path}\n", done.stdout)


class Alone(SetupTest):
    """No network but the cables joins the hosts: torus-setup runs on host 0, and each host logs in to its neighbours at
    their addresses on the cables."""

    def up_alone(self, dims):
        name = self.name()
        tool("up", dims, "--name", name, "--no-management", "--no-routes", "--ipv6-only")
        self.dress(Plan(name, [int(d) for d in dims.split("x")], routes=False, ipv4=False, management=False),
                   "systemd-networkd")
        for node in self.plan.nodes():
            self.bring_up(node, self.plan.devices(node))
        self.write_agent_over_cables()

    def test_all_steps_and_undo(self):
        self.up_alone("3x2")
        before = self.state()
        done = self.setup("--yes")
        self.assertIn("all are good", done.stdout)
        self.assertIn("The machine is ready", done.stdout)
        self.assertEqual(done.stderr, "")
        self.expect_all_reach_all()
        advised = shlex.split(done.stdout.split("The machine is ready: torus-run ")[1])
        self.assertEqual(advised.pop(), "PROGRAM")
        self.assertIn("0 wrong numbers", self.on(self.hosts[0], TORUS_RUN, *advised, HALO))
        self.assertIn("0 wrong numbers", self.on(self.hosts[0], TORUS_RUN, "--config", self.file, HALO))
        self.setup("--undo")
        self.expect_state(before)

    def test_a_device_that_is_down_is_brought_up_over_other_cables(self):
        self.up_alone("4")
        kernel.batch("ip", ["link set d0p down"], self.hosts[1])
        before = self.state()
        done = self.setup("--yes")
        self.assertIn(f"  {self.hosts[1]}: d0p\n", done.stdout)
        self.assertIn("all are good", done.stdout)
        self.setup("--step", "apply", "--yes", hosts=[])
        self.expect_all_reach_all()
        self.assertIn("changes; d0p stays up, because hosts may be reached over it", self.setup("--undo").stdout)
        kernel.batch("ip", ["link set d0p down"], self.hosts[1])
        self.expect_state(before)

    def test_a_host_that_no_cable_reaches_is_named_and_no_host_is_changed(self):
        self.up_alone("4")
        for device in self.plan.devices(2):
            tool("cut", self.plan.name, f"2:{device}")
        before = self.state()
        done = self.setup("--yes", status=1)
        self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
        self.assertIn(f"torus-setup: {self.hosts[2]}: it cannot be reached from any reachable host", done.stderr)
        self.assertIn("nothing was changed", done.stderr)
        self.expect_state(before)

    def test_a_name_of_this_host_that_is_not_given_is_refused(self):
        self.up_alone("2")
        self.assertIn("--here elsewhere: not one of the hosts", self.setup("--here", "elsewhere", status=2).stderr)


class CablingTest(SetupTest):
    def expect_machine(self, *options):
        before = self.state()
        done = self.setup("--yes", *options)
        self.assertIn("The machine is ready", done.stdout)
        self.expect_all_reach_all()
        self.setup("--undo")
        self.expect_state(before)
        return done


class Plugs(CablingTest):
    """Machines of the kinds of wirings_test.py."""

    def test_a_ring_with_exchanged_plugs(self):
        self.up("4")
        for host in self.hosts[1:3]:
            kernel.batch("ip", ["link set d0p name other", "link set d0m name d0p", "link set other name d0m"], host)
        self.expect_machine()

    def test_two_hosts_with_one_cable(self):
        self.up("2", open_dims=[0])
        done = self.expect_machine()
        self.assertIn(f"[{self.hosts[0]}]---[{self.hosts[1]}]\n", done.stdout)

    def test_a_plane_of_six(self):
        self.up("2x3")
        self.expect_machine()


class Cabling(CablingTest):
    def exchange(self, host, one, other):
        kernel.batch("ip", [f"link set {one} down", f"link set {other} down", f"link set {one} name other",
                            f"link set {other} name {one}", f"link set other name {other}"], host)

    def test_a_repeated_setup_follows_exchanged_devices_and_leaves_nothing_of_the_first(self):
        """Exchanges device names, as by another order of the kernel. Addresses stay with the devices."""
        self.up("4")
        before = self.state()
        self.setup("--yes")
        self.exchange(self.hosts[1], "d0p", "d0m")
        self.assertIn("The machine is ready", self.setup("--yes").stdout)
        self.expect_all_reach_all()
        self.expect_each_address_once()
        self.setup("--undo")
        self.exchange(self.hosts[1], "d0p", "d0m")
        self.expect_state(before)

    def test_a_device_that_was_renamed_has_its_files_renamed(self):
        self.up("4")
        before = self.state()
        self.setup("--yes")
        kernel.batch("ip", ["link set d0p down", "link set d0p name eth9"], self.hosts[2])
        self.assertIn("The machine is ready", self.setup("--yes").stdout)
        self.expect_all_reach_all()
        self.expect_each_address_once()
        names = {os.path.basename(path) for path in self.files(self.hosts[2]) if "/05-torus-" in path}
        self.assertEqual(names, {"05-torus-lo.network", "05-torus-d0m.network", "05-torus-eth9.network"})
        self.setup("--undo")
        kernel.batch("ip", ["link set eth9 name d0p"], self.hosts[2])
        for host in self.hosts:     # but for the settings of a device, which keeps them under its new name
            self.assertEqual(self.files(host), before[host][0])
            self.assertEqual(self.network(host)[:3], before[host][1][:3])

    def expect_each_address_once(self):
        addresses = [line.split()[3] for host in self.hosts for line in self.network(host)[1]]
        addresses = [address for address in addresses if address.startswith("10.")]
        self.assertEqual(len(addresses), len(set(addresses)), addresses)

    def test_an_address_that_is_there_without_its_label_gets_it_and_loses_it_again(self):
        self.up("3")
        kernel.batch("ip", ["addr add 10.255.0.1/32 dev lo"], self.hosts[0])
        before = self.state()
        self.setup("--yes")
        self.assertIn("10.255.0.1/32 scope global lo:torus",
                      run("ip", "-n", self.hosts[0], "-o", "addr", "show", "lo").stdout)
        self.setup("--undo")
        self.expect_state(before)

    def test_a_firewall_that_drops_forwarded_packets_is_named_with_the_remedy(self):
        if not shutil.which("nft"):
            self.skipTest("nft is not installed")
        self.up("4")
        run("ip", "netns", "exec", self.hosts[1], "nft",
            "add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }")
        done = self.setup("--yes")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(f"a firewall of {self.hosts[1]}, between them, drops forwarded packets", done.stderr)
        self.assertIn('iptables -I FORWARD -i d0p -j ACCEPT', done.stderr)
        run("ip", "netns", "exec", self.hosts[1], "nft", "delete table ip filter")
        self.assertEqual(self.setup("--yes").stderr, "")

    def test_a_torus_without_one_device_runs_around_it(self):
        """A card is missing: the file contains its cable, and the programs use a detour."""
        self.up("3x3")
        kernel.batch("ip", ["link del d1p"], self.hosts[4])
        kernel.batch("ip", [f"link add d1p type veth peer name idle netns {self.plan.front()}"], self.hosts[4])
        before = self.state()
        done = self.setup("--yes", status=1)
        self.assertIn("The machine works without the faulty cables above", done.stdout)
        self.setup("--undo")
        self.expect_state(before)

    def test_the_device_of_the_ssh_connection_is_not_a_cable(self):
        self.up("2", open_dims=[0])
        for node, host in enumerate(self.hosts):
            kernel.batch("ip", ["route del default", f"addr add 192.0.2.{node}/24 dev mgmt"], host)
        with open(self.agent) as f:
            text = f.read()
        with open(self.agent, "w") as f:
            f.write(text.replace("exec ip", 'export SSH_CONNECTION="192.0.2.99 50000 192.0.2.${host##*-} 22"\nexec ip'))
        done = self.expect_machine()
        self.assertNotIn("dev mgmt", done.stdout)

    def test_hosts_given_by_address_get_their_own_names(self):
        self.up("3")
        given = [f"192.0.2.{node}" for node in self.plan.nodes()]
        self.setup("--yes", hosts=given)
        with open(self.file) as f:
            self.assertIn('"192.0.2.2"', f.read())
        self.expect_all_reach_all()
        self.setup("--undo", hosts=given)

    def test_a_device_without_a_cable_is_down_again_after_undo(self):
        self.up("3")
        kernel.batch("ip", [f"link add idle0 type veth peer name idle0 netns {self.plan.front()}"], self.hosts[1])
        before = self.state()
        done = self.setup("--yes")
        self.assertIn(f"{self.hosts[1]}: d0m d0p idle0\n", done.stdout)
        self.assertIn(("idle0", False), [(name, up) for name, up, _ in self.network(self.hosts[1])[0]])
        self.setup("--undo")
        self.expect_state(before)


class Persistence(SetupTest):
    def expect_files(self, service, expected):
        before = self.state()
        self.setup("--yes", "--step", "up")
        self.setup("--yes", "--step", "discover")
        done = self.setup("--yes", "--step", "apply")
        self.assertIn(f"network by {service}", done.stdout)
        self.assertLessEqual(set(expected), set(self.files(self.hosts[0])))
        found = self.files(self.hosts[0])
        self.setup("--undo")
        self.expect_state(before)
        return found

    def test_ifupdown_with_interfaces_that_include_nothing(self):
        self.up("3", starts="networking")
        for host in self.hosts:
            os.makedirs(os.path.join(self.path(host), "etc/network"))
            with open(os.path.join(self.path(host), "etc/network/interfaces"), "w") as f:
                f.write("auto lo\niface lo inet loopback")
        found = self.expect_files("ifupdown", ["etc/network/interfaces.d/torus", "etc/torusmp/d0p.ip",
                                               "etc/sysctl.d/60-torus.conf"])
        self.assertEqual(found["etc/network/interfaces"][2].decode(),
                         "auto lo\niface lo inet loopback\nsource /etc/network/interfaces.d/*\n")

    def test_the_files_of_ifupdown_lead_to_the_same_addresses_and_routes(self):
        self.up("3", starts="networking")
        for host in self.hosts:
            os.makedirs(os.path.join(self.path(host), "etc/network"))
            with open(os.path.join(self.path(host), "etc/network/interfaces"), "w") as f:
                f.write("source /etc/network/interfaces.d/*\n")
        self.setup("--yes")
        routes = {host: self.network(host)[2] for host in self.hosts}
        # As after a restart: the addresses are gone, and "up" lines run.
        for node, host in enumerate(self.hosts):
            lines = [f"addr flush dev {d} scope global" for d in self.plan.devices(node)]
            kernel.batch("ip", lines, host)
            self.assertNotEqual(self.network(host)[2], routes[host])
            self.on(host, "sh", "-ec", "sed -n 's/^ *up //p' /etc/network/interfaces.d/torus | sh -e")
            self.assertEqual(self.network(host)[2], routes[host])
        self.expect_all_reach_all()

    def expect_the_same_after_a_restart(self, service):
        """`service`: sh that runs the service on a host, with folders of its own below /run."""
        self.setup("--yes")
        for node, host in enumerate(self.hosts):
            expected = self.network(host)
            lines = [f"addr flush dev {d} scope global" for d in self.plan.devices(node) + ["lo"]]
            kernel.batch("ip", lines + [f"link set {d} down" for d in self.plan.devices(node)], host)
            daemon = subprocess.Popen(
                [self.agent, host, "sh", "-ec", "mount -o remount,bind,ro /sys; mount -t tmpfs none /run; "
                 f"mkdir -p /run/systemd /run/dbus; echo lxc >/run/systemd/container; {service}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                bare = lambda routes: {re.sub(r" (proto|metric|scope) \w+", "", route).strip() for route in routes}
                eventually(f"the routes of {host}", lambda: bare(expected[2]) <= bare(self.network(host)[2]))
                shown = lambda network: {tuple(line.split()[:4]) for line in network[1]}
                eventually(f"the addresses of {host}", lambda: shown(expected) <= shown(self.network(host)))
            finally:
                daemon.terminate()
                daemon.wait()
        self.expect_all_reach_all()

    def test_networkd_itself_leads_to_the_same_after_a_restart(self):
        daemon = "/lib/systemd/systemd-networkd"
        if not os.path.exists(daemon) or os.environ.get("TESTBED_WAS_USER"):
            self.skipTest("systemd-networkd is not installed, or this user is not root")
        self.up("3")
        self.expect_the_same_after_a_restart(
            f"mkdir -p /run/systemd/netif; chown systemd-network: /run/systemd/netif; exec {daemon}")
        for host in self.hosts:
            self.assertIn("lo:torus", run("ip", "-n", host, "-o", "addr", "show", "lo").stdout)

    def test_network_manager_itself_leads_to_the_same_after_a_restart(self):
        if not shutil.which("NetworkManager") or not shutil.which("dbus-daemon") or os.environ.get("TESTBED_WAS_USER"):
            self.skipTest("NetworkManager or dbus-daemon is not installed, or this user is not root")
        self.up("3", starts="NetworkManager")
        self.expect_the_same_after_a_restart(
            "dbus-daemon --config-file=/usr/share/dbus-1/system.conf --nopidfile --fork; "
            "mkdir -p /var/lib/NetworkManager; exec NetworkManager --no-daemon")

    def test_netplan_of_ubuntu(self):
        self.up("3", starts="systemd-networkd")
        for host in self.hosts:
            os.makedirs(os.path.join(self.path(host), "etc/netplan"))
            with open(os.path.join(self.path(host), "etc/netplan/50-cloud-init.yaml"), "w") as f:
                f.write("network: {version: 2}\n")
        found = self.expect_files("netplan", ["etc/netplan/60-torus.yaml"])
        self.assertEqual(found["etc/netplan/60-torus.yaml"][0] & 0o777, 0o600)

    def test_network_manager(self):
        self.up("3", starts="NetworkManager")
        self.expect_files("networkmanager", ["etc/NetworkManager/system-connections/torus-d0p.nmconnection"])

    def test_a_host_without_a_known_service_is_reported(self):
        self.up("3", starts=None)
        done = self.setup("--yes")
        self.assertIn(f"{self.hosts[0]} starts no known network service: these addresses end with a restart",
                      done.stdout)

    def test_a_file_that_was_edited_since_is_kept_aside(self):
        self.up("3")
        before = self.state()
        self.setup("--yes")
        with open(os.path.join(self.path(self.hosts[1]), "etc/hosts"), "a") as f:
            f.write("192.0.2.1 printer\n")
        self.assertIn("/etc/hosts was edited since", self.setup("--undo").stdout)
        kept = os.path.join(self.path(self.hosts[1]), "lib/torusmp")
        with open(os.path.join(kept, "edited/hosts")) as f:
            self.assertIn("192.0.2.1 printer", f.read())
        shutil.rmtree(kept)
        self.expect_state(before)


# "all": the shell dies at each of its changes, which takes minutes. Otherwise it dies at the first change by each
# command, and at every fifth change, which the classes count from different ones.
DEATHS = os.environ.get("SETUP_DEATHS", "some")


class KilledTest(SetupTest):
    """On one host, the shell dies just before or after its Nth command that changes something."""
    first_death = 1

    def wrap(self, act, later="exit 1"):
        """`act`: what the Nth command does, and `later` what the commands after it do, as sh."""
        os.makedirs(self.wrappers, exist_ok=True)
        for name in ("ip", "mv", "cp", "install", "rm", "mkdir", "sync", "rmdir"):
            path = os.path.join(self.wrappers, name)
            with open(path, "w") as f:
                f.write(f'#!/bin/sh\nreal={shutil.which(name)}\nlimit={self.path("limit")}\n'
                        f'if [ "$SETUP_HOST" = {self.hosts[1]} ] && [ -e $limit ]; then\n'
                        f'echo {name} >>{self.path("changes")}\n'
                        f'read -r left <$limit\nif [ $left = 0 ]; then {later}; fi\nleft=$((left - 1))\n'
                        'echo $left >$limit\n'
                        f'if [ $left = 0 ]; then {act}; fi\nfi\nexec "$real" "$@"\n')
            os.chmod(path, 0o755)

    def limit(self, changes):
        if changes is None:
            os.unlink(self.path("limit"))
            return
        with open(self.path("limit"), "w") as f:
            f.write(f"{changes}\n")

    def left(self):
        with open(self.path("limit")) as f:
            return int(f.read())

    def each_death(self, when, act):
        """Calls act(number) with a number of changes that is never reached, and then with those at which the host
        dies. act() returns True if it died."""
        self.wrap(('"$real" "$@"; ' if when == "after" else "") + "kill -9 $PPID; exit 1")
        never = 1000000
        self.limit(never)
        self.assertFalse(act(never))
        with open(self.path("changes")) as f:
            changes = f.read().split()
        self.assertGreater(len(changes), 10)
        for number in self.deaths(changes):
            self.limit(number)
            self.assertTrue(act(number), f"{number} of {len(changes)} changes")

    def deaths(self, changes):
        """The numbers of the changes at which the host dies, from 1. `changes` names the commands that make them."""
        if DEATHS == "all":
            return range(1, len(changes) + 1)
        first_of_each = {changes.index(command) + 1 for command in changes}
        return sorted(first_of_each | set(range(self.first_death, len(changes) + 1, 5)) | {len(changes)})

    def ready(self):
        self.up("2", open_dims=[0])
        before = self.state()
        self.setup("--yes", "--step", "up")
        self.setup("--yes", "--step", "discover")
        self.setup("--undo")
        self.expect_state(before)
        return before

    def apply_and_die(self):
        done = run(TORUS_SETUP, "--agent", self.agent, "--output", self.file, "--yes", "--step", "apply")
        died = self.left() == 0
        self.assertEqual(done.returncode, 1 if died else 0, done.stdout + done.stderr)
        self.limit(None)
        return died

    def expect_undone_after_each_death(self, when):
        before = self.ready()
        def act(_):
            died = self.apply_and_die()
            self.setup("--undo")
            self.expect_state(before)
            return died
        self.each_death(when, act)


class Killed(KilledTest):
    def test_undone_byte_for_byte_after_each_death_that_follows_a_change(self):
        self.expect_undone_after_each_death("after")


class KilledFront(KilledTest):
    """torus-setup itself dies while a host is at work; what the hosts go on to do is undone."""

    def test_undone_byte_for_byte_after_the_death_of_torus_setup(self):
        before = self.ready()
        self.wrap(f'kill -9 $(cat {self.path("front")}); exec "$real" "$@"', later='exec "$real" "$@"')
        ids = {kernel.namespace_id(host) for host in self.hosts}
        for number in (1, 5, 12):
            self.limit(number)
            front = subprocess.Popen(["sh", "-c", f'echo $$ >{self.path("front")}; exec "$@"', "sh", TORUS_SETUP,
                                      "--agent", self.agent, "--output", self.file, "--yes", "--step", "apply"],
                                     stdout=subprocess.DEVNULL)
            self.assertEqual(front.wait(timeout=100), -9)
            eventually("the hosts are idle", lambda: not kernel.processes_in(ids))
            self.limit(None)
            self.setup("--undo")
            self.expect_state(before)


class KilledBefore(KilledTest):
    first_death = 2

    def test_undone_byte_for_byte_after_each_death_that_precedes_a_change(self):
        self.expect_undone_after_each_death("before")


class KilledAndRepeated(KilledTest):
    first_death = 3

    def test_repeated_after_each_death(self):
        before = self.ready()
        def act(_):
            died = self.apply_and_die()
            self.setup("--yes", "--step", "apply")
            self.expect_all_reach_all()
            self.setup("--undo")
            self.expect_state(before)
            return died
        self.each_death("after", act)


class KilledUndo(KilledTest):
    first_death = 4

    def test_an_undo_that_dies_is_repeated(self):
        before = self.ready()
        def act(number):
            self.limit(None)
            self.setup("--yes", "--step", "apply")
            self.limit(number)
            done = run(TORUS_SETUP, "--agent", self.agent, "--output", self.file, "--undo")
            died = self.left() == 0
            self.assertEqual(done.returncode, 1 if died else 0, done.stdout + done.stderr)
            self.limit(None)
            self.setup("--undo")
            self.expect_state(before)
            return died
        self.each_death("after", act)


class Failures(SetupTest):
    def test_a_host_that_does_not_answer_is_named_once_and_no_host_is_changed(self):
        self.up("3")
        tool("kill-node", self.plan.name, "1")
        self.hosts.remove(self.plan.host(1))
        before = self.state()
        done = self.setup("--yes", hosts=[self.plan.host(n) for n in range(3)], status=1)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        self.assertTrue(lines[0].startswith(f"torus-setup: {self.plan.host(1)}: "), done.stderr)
        self.assertEqual(lines[1], "torus-setup: nothing was changed")
        self.expect_state(before)

    def test_each_failure_of_ssh_is_reported_with_the_remedy(self):
        for said, advice in (("Permission denied (publickey).", "ssh-copy-id a1"),
                             ("Host key verification failed.", 'Run "ssh a1 true" once'),
                             ("ssh: Could not resolve hostname a1: Name or service not known", "Give its address"),
                             ("ssh: connect to host a1 port 22: Connection refused", "openssh-server"),
                             ("sudo: a password is required", "ssh -l root"),
                             ("something else", 'Try "')):
            agent = self.path("agent")
            with open(agent, "w") as f:
                f.write(f'#!/bin/sh\nprintf "{said}\\r\\n" >&2\nexit 255\n')
            os.chmod(agent, 0o755)
            done = run(TORUS_SETUP, "--agent", agent, "--yes", "--output", self.path("f"), "a1")
            self.assertEqual(done.returncode, 1)
            self.assertIn(advice, done.stderr.splitlines()[0])
            self.assertIn(said, done.stderr)
            self.assertNotIn("\r", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 2, done.stderr)

    def test_a_host_whose_etc_is_read_only_is_named_with_the_remedy(self):
        self.up("3")
        before = self.state()
        with open(self.agent) as f:
            text = f.read()
        with open(self.agent, "w") as f:
            f.write(text.replace('"$root/etc" /etc; ', '"$root/etc" /etc; [ "$0" != ' + self.hosts[1] +
                                 ' ] || mount -o remount,bind,ro /etc; '))
        done = self.setup("--yes", status=1)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        self.assertIn(f"{self.hosts[1]}: it cannot keep settings. Make /etc and /var/lib writable", lines[0])
        self.assertIn("Repeat the command, or restore them", lines[1])
        self.setup("--undo")
        self.expect_state(before)

    def test_a_host_that_never_answers_is_given_up(self):
        agent = self.path("agent")
        with open(agent, "w") as f:
            f.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(agent, 0o755)
        done = run(TORUS_SETUP, "--agent", agent, "--timeout", "1s", "--output", self.path("f"), "a1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a1: no answer within 1 s", done.stderr)

    def test_without_consent_nothing_is_changed(self):
        self.up("3")
        before = self.state()
        self.assertIn("Give --yes", self.setup(status=1).stderr)
        self.expect_state(before)

    def test_a_question_that_is_not_answered_with_yes_changes_nothing(self):
        self.up("3")
        before = self.state()
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        os.write(ours, b"n\n")
        done = run(TORUS_SETUP, "--agent", self.agent, "--output", self.file, *self.hosts, stdin=theirs)
        os.close(theirs)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("Bring them up? [y/N] Not changed.\n", done.stdout)
        self.expect_state(before)

    def test_cables_that_do_not_reach_all_hosts_are_refused_with_a_reason_and_undone(self):
        self.up("4", open_dims=[0])
        kernel.batch("ip", ["link del d0p"], self.hosts[1])
        before = self.state()
        done = self.setup("--yes", status=1)
        self.assertIn("no geometry file was written, for the reason above", done.stderr)
        self.assertFalse(os.path.exists(self.file))
        self.setup("--undo")
        self.expect_state(before)

    def test_one_host_given_twice_is_refused(self):
        self.up("2")
        before = self.state()
        done = self.setup("--yes", hosts=[self.hosts[0], "192.0.2.0"], status=1)
        self.assertEqual(done.stderr, f"torus-setup: 192.0.2.0: it calls itself {self.hosts[0]}, as {self.hosts[0]} "
                                      'does. Give it another name: "hostnamectl set-hostname NAME"\n')
        self.expect_state(before)

    def test_another_geometry_file_is_kept(self):
        self.up("3")
        with open(self.file, "w") as f:
            f.write("[torus]\ndims = [7]\n")
        self.setup("--yes", "--step", "up")
        self.setup("--yes", "--step", "discover")
        with open(self.file + ".old") as f:
            self.assertEqual(f.read(), "[torus]\ndims = [7]\n")
        self.assertFalse(os.path.exists(self.file + ".new"))


class BadInput(SetupTest):
    def refused(self, *words):
        done = run(TORUS_SETUP, *words, cwd=self.folder.name)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_each_wrong_option_has_one_message(self):
        self.assertIn("missing hosts", self.refused())
        self.assertIn("named twice", self.refused("a", "b", "a"))
        self.assertIn("cannot be the name", self.refused("a b"))
        self.assertIn("expected look, up, discover", self.refused("--step", "fly", "a"))
        self.assertIn("expected networkd", self.refused("--service", "wicked", "a"))
        self.assertIn("1280 to 65535", self.refused("--mtu", "9", "a"))
        self.assertIn("--timeout", self.refused("--timeout", "soon", "a"))
        self.assertIn("exclude each other", self.refused("--undo", "--step", "up", "a"))
        self.assertIn("did you mean --undo", self.refused("--undoo", "a"))
        self.assertIn("--output", self.refused("--output", "", "a"))

    def test_help_has_an_example(self):
        done = run(TORUS_SETUP, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("torus-setup a b c d", done.stdout)


if __name__ == "__main__":
    main()
