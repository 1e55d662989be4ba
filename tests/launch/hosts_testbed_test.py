#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""torus-run over the nodes of a testbed of namespaces: hosts_testbed_test.py SOURCE TORUS_RUN RANK_PROGRAM [CLASS]."""
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, RANK_PROGRAM = (sys.argv.pop(1) for _ in range(3))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns import kernel                                               # noqa: E402
from netns.testbed import Testbed                                              # noqa: E402
from harness import TestbedTest, eventually, main, tool                  # noqa: E402

PATIENCE = 100
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")


class Run:
    """One torus-run with its output in files, so it never blocks. It is ended with the test in any case."""

    def __init__(self, test, words, stdin=subprocess.DEVNULL):
        self.test, self.output, self.errors = test, test.path("output"), test.path("errors")
        with open(self.output, "w") as out, open(self.errors, "w") as err:
            self.process = subprocess.Popen(words, stdin=stdin, stdout=out, stderr=err, text=True)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)

    def text(self, which):
        with open(which) as f:
            return f.read()

    def wait_for(self, line, times):
        def there():
            if self.process.poll() is not None:
                raise AssertionError(f"ended too early: {self.text(self.output)}{self.text(self.errors)}")
            return self.text(self.output).count(line + "\n") >= times
        eventually(f"{times} times '{line}'", there)

    def end(self, code=None):
        """(output, errors); `code` None: any code except 0."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.test.fail(f"hangs\n{self.text(self.output)}{self.text(self.errors)}")
        output, errors = self.text(self.output), self.text(self.errors)
        right = self.process.returncode == code if code is not None else self.process.returncode != 0
        self.test.assertTrue(right, f"exit {self.process.returncode}\n{output}{errors}")
        return output, errors


class HostsTest(TestbedTest):
    def up(self, dims, *options):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed, *options)
        self.geometry = Testbed(self.testbed).geometry_file
        size = 1
        for extent in dims.split("x"):
            size *= int(extent)
        self.hosts = [f"{self.testbed}-{node}" for node in range(size)]

    def run_on_testbed(self, *words, before=(), agent="ip netns exec"):
        return Run(self, [*before, TORUS_RUN, "--config", self.geometry, "--agent", agent, *words])

    def job(self, *steps, options=(), **how):
        return self.run_on_testbed(*options, RANK_PROGRAM, *steps, **how)

    def processes(self, host):
        return set(kernel.processes_in({kernel.namespace_id(host)}))

    def expect_hosts_empty(self, known=frozenset(), hosts=None):
        for host in hosts or self.hosts:
            eventually(f"processes on {host} are gone", lambda h=host: not self.processes(h) - known)


class Network(HostsTest):
    def test_every_rank_runs_on_its_own_node_and_connects_to_the_others(self):
        self.up("2x2x2", "--ranks-per-node", "2x1x1")
        output, errors = self.job("connect", "exchange", "barrier", "report", "finalize").end(0)
        self.assertEqual(errors, "")
        self.assertEqual(output.count("torus-run rank "), 16)
        self.assertIn("torus-run rank 5 of 16, local 1 5\n", output)
        where = "echo $(stat -Lc %i /proc/self/ns/net)"
        inodes = self.run_on_testbed("sh", "-c", where).end(0)[0].split()
        self.assertEqual(len(set(inodes)), 8)
        self.assertEqual(len(inodes), 16)
        self.expect_hosts_empty()

    def test_more_ranks_than_hosts_fill_them_and_fewer_take_a_part_with_its_cables(self):
        self.up("4")
        job = self.job("connect", "exchange", "barrier", "report", "finalize",
                       options=("-np", "8", "--bind", "core", "--report-bindings", "--display-map"))
        output, errors = job.end(0)
        for node in range(4):
            ranks = f"{2 * node} {2 * node + 1}"
            self.assertIn(f"torus-run: {self.hosts[node]}: ranks {ranks.replace(' ', ', ')}\n", output)
            self.assertEqual(output.count(f"of 8, local {ranks}\n"), 2)
        for rank in range(8):
            host = self.hosts[rank // 2]
            self.assertRegex(errors, f"started rank {rank} \\(host {host}, pid [0-9]+\\) on cpu [0-9]")
        # Its cables are checked before it starts: those that leave the part are none of it.
        subprocess.run(["ip", "-n", self.hosts[0], "link", "set", "d0m", "down"], check=True)
        output, errors = self.job("connect", "exchange", "report", "finalize", options=("-np", "2", "-v")).end(0)
        self.assertNotIn("cable", errors)
        self.assertEqual(output.count("of 2, local"), 2)
        output, errors = self.job("connect", "exchange", "report", "finalize",
                                  options=("-H", f"{self.hosts[3]},{self.hosts[0]}")).end(2)
        self.assertIn("d0m", errors)

    def test_a_node_that_is_lost_is_named_and_nothing_is_left_of_the_job(self):
        self.up("2x2x2")
        run = self.job("connect", "spawn-orphan", "print=ready", "sleep")
        run.wait_for("ready", 8)
        tool("kill-node", self.testbed, "5")
        errors = run.end()[1]
        self.assertIn(f"host {self.testbed}-5", errors)
        self.assertEqual(errors.count("torus-run: "), 1, errors)
        self.expect_hosts_empty(hosts=self.hosts[:5] + self.hosts[6:])

    def test_without_detours_a_device_that_is_down_or_absent_is_found_before_any_rank_starts(self):
        self.up("2x2x2")
        started = self.path("started")
        no_detours = ["--set", "routing.detour=false"]
        tool("cut", self.testbed, "3:d0p")
        errors = self.job(f"touch={started}", options=no_detours).end(2)[1]
        self.assertIn(f"host {self.testbed}-3: device d0p", errors)
        self.assertRegex(errors, self.geometry + r":\d+: ")
        subprocess.run(["ip", "-n", f"{self.testbed}-6", "link", "del", "d1m"], check=True)
        errors = self.job(f"touch={started}", options=no_detours).end(2)[1]
        self.assertIn(f"host {self.testbed}-3: device d0p", errors)
        self.assertIn(f"host {self.testbed}-6: device d1m", errors)
        self.assertIn("nothing was started (routing.detour = false (--set routing.detour) allows no detour "
                      "around a dead cable)",
                      errors)
        self.assertFalse(os.path.exists(started))
        self.expect_hosts_empty()


class Cables(HostsTest):
    """Jobs that start while cables are dead."""

    def start(self, *options):
        """The messages of torus-run for a job that starts and ends well, and the dead cables that its ranks print."""
        output, errors = self.job("connect", "dead-cables", "exchange", "barrier", "finalize",
                                  options=options).end(0)
        dead = {line.split(": ", 1)[1] for line in output.splitlines() if line.startswith("dead cables of rank")}
        self.assertEqual(output.count("dead cables of rank"), len(self.hosts))
        self.assertEqual(len(dead), 1, output)
        return errors.splitlines(), dead.pop()

    def warning(self, a, b, why, over):
        """The line about the cable between two ends, each a node and a device; the first one leaves upwards."""
        ends = [f"{self.hosts[node]} d{d}{'p' if sign == '+' else 'm'} ({d}{sign})" for node, (d, sign) in (a, b)]
        return (f"torus-run: warning: the cable from {ends[0]} to {ends[1]} is dead: {why}; "
                f"the job uses a detour over {over}")

    def test_in_a_torus_of_pairs_the_other_cable_replaces_a_dead_one(self):
        self.up("2x2x2")
        tool("cut", self.testbed, "3:0+")
        errors, dead = self.start()
        self.assertEqual(errors, [self.warning((3, "0+"), (7, "0-"), f"d0p of {self.hosts[3]} is down",
                                               "the other cable between them")])
        self.assertEqual(dead, "3:0+")
        tool("heal", self.testbed)
        self.assertEqual(self.start(), ([], "none"))

    def test_in_a_ring_of_two_one_cable_is_enough_and_none_is_not(self):
        self.up("2")
        subprocess.run(["ip", "-n", self.hosts[1], "link", "del", "d0m"], check=True)
        errors, dead = self.start()
        self.assertEqual(errors, [self.warning((0, "0+"), (1, "0-"), f"{self.hosts[0]} has no device d0p",
                                               "the other cable between them")])
        self.assertEqual(dead, "0:0+")
        tool("cut", self.testbed, "1:0+")
        started = self.path("started")
        errors = self.job(f"touch={started}").end(2)[1]
        self.assertTrue(errors.startswith(
            f"torus-run: dead cables split the torus; nothing was started: {self.hosts[0]} on one side, "
            f"{self.hosts[1]} on the other. Dead:\n  {self.geometry}:"), errors)
        self.assertIn(f"host {self.hosts[0]}: device d0p of link 0+ (to {self.hosts[1]}) does not exist", errors)
        self.assertIn(f"host {self.hosts[1]}: device d0p of link 0+ (to {self.hosts[0]}) is down", errors)
        self.assertFalse(os.path.exists(started))
        self.expect_hosts_empty()

    def test_several_dead_cables_cause_a_line_each_and_a_wrong_mtu_only_a_warning(self):
        self.up("3x3x2")
        tool("cut", self.testbed, "0:0+")          # node 0 to node 6
        tool("cut", self.testbed, "7:1-")          # node 11 comes down to node 7 by 1+
        tool("set", self.testbed, "2", "0+", "mtu", "1500")
        errors, dead = self.start()
        self.assertEqual(dead, "0:0+ 11:1+")
        self.assertEqual(len(errors), 3, errors)
        self.assertIn(self.warning((0, "0+"), (6, "0-"), f"d0p of {self.hosts[0]} is down", self.hosts[12]), errors)
        self.assertIn(self.warning((11, "1+"), (7, "1-"), f"d1m of {self.hosts[7]} is down", self.hosts[9]), errors)
        self.assertIn(f"torus-run: warning: the cable from {self.hosts[2]} d0p (0+) to {self.hosts[8]} d0m (0-) has a "
                      f"fault: MTU 1500 at {self.hosts[2]}, 9000 at {self.hosts[8]}; it stays in use", errors)

    def test_a_host_whose_cables_are_all_dead_is_the_cut_that_is_named(self):
        self.up("3x3")
        for direction in ("0+", "0-", "1+", "1-"):
            tool("cut", self.testbed, f"4:{direction}")
        errors = self.job("connect").end(2)[1]
        others = [self.hosts[node] for node in (0, 1, 2, 3, 5, 6, 7)]
        self.assertIn(f"nothing was started: {', '.join(others)} and {self.hosts[8]} on one side, {self.hosts[4]} "
                      "on the other. Dead:\n", errors)
        self.assertEqual(errors.count("\n  "), 4)
        self.expect_hosts_empty()


    def test_a_link_whose_kernel_drops_packets_is_reported_once(self):
        self.up("2x2x2")
        run = self.job("connect", "print=ready", "sleep")
        run.wait_for("ready", 8)
        with kernel.inside(self.hosts[7]):   # its d0p leads to d0m of node 3
            stranger = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            stranger.bind(("d0p", 0))
        self.addCleanup(stranger.close)
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x88\xb5" + bytes(50)   # a protocol that no host has
        warning = f"torus-run: warning: the kernel of host {self.hosts[3]} counts "

        def warned():
            for _ in range(200):
                stranger.send(frame)
            time.sleep(0.1)
            return warning in run.text(run.errors)
        eventually("the warning", warned)
        self.assertRegex(run.text(run.errors), warning + r"[0-9]+ rx_dropped in [0-9]+ packets on d0m; torus-check")
        for _ in range(60):
            warned()
        self.assertEqual(run.text(run.errors).count("warning"), 1, run.text(run.errors))
        run.process.terminate()
        run.end()
        self.expect_hosts_empty()


class TreeCables(HostsTest):
    """Only the torus as a network: daemons are reached from neighbour to neighbour, over cables that die meanwhile."""

    def serve(self):
        agent = os.path.join(SOURCE, "tests", "testbed", "link_agent.py")
        self.servers = set()
        for host in self.hosts:
            server = subprocess.Popen(["ip", "netns", "exec", host, sys.executable, agent, "serve"],
                                      stdout=subprocess.PIPE)
            self.addCleanup(server.stdout.close)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            self.assertEqual(server.stdout.readline(), b"listening\n")
            self.servers.add(server.pid)
        self.agent = f"{sys.executable} {agent} {{address}}"

    def start(self, script, *options, here=0, **how):
        """A job of shell scripts that runs until it finds a file `stop`."""
        if os.path.exists(self.path("stop")):
            os.unlink(self.path("stop"))
        self.addCleanup(self.stop)
        return Run(self, ["ip", "netns", "exec", self.hosts[here], TORUS_RUN, "--config", self.geometry, "--here",
                          self.hosts[here], "--set", "launch.through=torus", "--set", "transport.timeout=3s", "--agent",
                          self.agent, *options, "sh", "-c", script.replace("STOPPED", f"[ -e {self.path('stop')} ]")],
                   **how)

    def stop(self):
        open(self.path("stop"), "w").close()

    def lines_of(self, output, rank):
        start = f"rank {rank} line "
        return [int(line[len(start):]) for line in output.splitlines() if line.startswith(start)]

    def test_a_cable_of_the_tree_dies_in_mid_run_and_no_line_is_lost_or_doubled(self):
        for dims, cuts in (("3", ["0:0+"]), ("3x2", ["0:0+", "0:0-"])):
            with self.subTest(dims):
                self.up(dims, "--no-management", "--no-routes", "--ipv6-only")
                self.serve()
                run = self.start('i=0; until STOPPED; do echo "rank $TORUSMP_RANK line $i"; i=$((i+1)); sleep 0.05; done')
                ranks = range(len(self.hosts))
                run.wait_for("rank 1 line 20", 1)
                for cut in cuts:
                    tool("cut", self.testbed, cut)
                time.sleep(3)   # until what follows is printed by ranks whose daemons are cut off
                before = [len(self.lines_of(run.text(run.output), rank)) for rank in ranks]
                for rank in ranks:
                    run.wait_for(f"rank {rank} line {before[rank] + 50}", 1)
                self.stop()
                output, errors = run.end(0)
                for rank in ranks:
                    lines = self.lines_of(output, rank)
                    self.assertEqual(lines, list(range(len(lines))), f"rank {rank}")
                self.assertEqual(errors, "")
                self.expect_hosts_empty(self.servers)

    def test_a_way_that_is_dropped_as_soon_as_it_is_made_costs_nothing(self):
        self.up("3", "--no-management", "--no-routes", "--ipv6-only")
        self.serve()
        run = self.start('i=0; until STOPPED; do echo "rank $TORUSMP_RANK line $i"; i=$((i+1)); sleep 0.05; done')
        run.wait_for("rank 1 line 20", 1)
        on_host = ["ip", "netns", "exec", self.hosts[1]]
        sockets = subprocess.run([*on_host, "cat", "/proc/net/unix"], text=True, capture_output=True, check=True).stdout
        name = re.search(r"@(torusmp-[0-9a-f]{16}-1)\b", sockets)[1]
        # As a neighbor's agent does that was slower than another one.
        late = subprocess.Popen([*on_host, TORUS_RUN, "--daemon", "3000", name, "0"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        self.addCleanup(late.wait)
        self.addCleanup(late.kill)
        self.assertIn(b"torus-daemon", late.stdout.readline())
        late.stdin.close()
        late.stdout.close()
        time.sleep(1)
        before = len(self.lines_of(run.text(run.output), 1))
        run.wait_for(f"rank 1 line {before + 50}", 1)
        self.stop()
        output, errors = run.end(0)
        for rank in range(3):
            lines = self.lines_of(output, rank)
            self.assertEqual(lines, list(range(len(lines))), f"rank {rank}")
        self.assertEqual(errors, "")
        self.expect_hosts_empty(self.servers)

    def test_standard_input_reaches_rank_0_over_another_cable(self):
        self.up("3", "--no-management", "--no-routes", "--ipv6-only")
        self.serve()
        run = self.start('if [ $TORUSMP_RANK = 0 ]; then while read line; do echo "heard $line"; done; '
                         'else until STOPPED; do sleep 0.1; done; fi', "--verbose", here=1, stdin=subprocess.PIPE)
        for number in range(70):
            if number == 20:
                run.wait_for("heard 19", 1)
                tool("cut", self.testbed, "0:0+")   # between rank 0 and torus-run
            run.process.stdin.write(f"{number}\n")
            run.process.stdin.flush()
        run.wait_for("heard 69", 1)
        run.process.stdin.close()
        self.stop()
        output, errors = run.end(0)
        self.assertEqual([line for line in output.splitlines() if line.startswith("heard ")],
                         [f"heard {number}" for number in range(70)])
        self.assertEqual([line for line in errors.splitlines() if "again" in line],
                         [f"torus-run: reached host {self.hosts[0]} again, over host {self.hosts[2]}"], errors)
        self.expect_hosts_empty(self.servers)

    def test_a_cable_that_dies_at_the_end_of_a_job_costs_a_line_at_most(self):
        self.up("3", "--no-management", "--no-routes", "--ipv6-only")
        self.serve()
        run = self.start('echo begun; [ $TORUSMP_RANK = 1 ] || until STOPPED; do sleep 0.1; done')
        run.wait_for("begun", 3)
        time.sleep(2)   # mostly the end of rank 1 is known by then: what its daemon lacks is the order to end
        tool("cut", self.testbed, "0:0+")
        self.stop()
        errors = run.end(0)[1]
        self.assertIn(errors, ("", f"torus-run: warning: host {self.hosts[1]} did not answer when the job ended: the last "
                               "output of its ranks may be missing; processes left there end by themselves within 33s\n"))
        self.expect_hosts_empty(self.servers)


@unittest.skipUnless("HEAT" in os.environ, "needs the example with checkpoints in HEAT")
class Restarts(HostsTest):
    """A lattice on disk, by examples/checkpoints/heat.c."""
    PLATE, STEPS = ("90", "64"), "20000"

    def heat(self, name, every):
        return [os.environ["HEAT"], *self.PLATE, self.STEPS, every, self.path(name)]

    def start(self, *options, every="200"):
        return self.run_on_testbed("--set", "transport.timeout=3s", *options, *self.heat("plate", every))

    def wait_for_checkpoint(self, run, restart):
        """Returns the number of steps since this start."""
        def there():
            self.assertIsNone(run.process.poll(), run.text(run.errors))
            text = run.text(run.output)
            return f"restart {restart}," in text and "checkpoint" in text.split(f"restart {restart},")[1]
        eventually(f"a checkpoint of start {restart}", there)

    def result(self, name):
        with open(self.path(name + ".state")) as state:
            step, which = state.read().split()
        self.assertEqual(step, self.STEPS)
        with open(self.path(f"{name}.{which}"), "rb") as plate:
            return plate.read()

    def check_bits(self):
        subprocess.run([TORUS_RUN, "-np", "2", *self.heat("undisturbed", self.STEPS)], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(self.result("plate"), self.result("undisturbed"))

    def lines(self, errors, start):
        return [line[len("torus-run: "):] for line in errors.splitlines() if line.startswith(f"torus-run: {start}")]

    def test_a_spare_then_fewer_hosts_take_the_ranks_of_nodes_that_are_gone(self):
        self.up("3x3")
        run = self.start("--restart-on-death", "3", "--spares", "1", "-np", "8")
        self.wait_for_checkpoint(run, 0)
        tool("kill-node", self.testbed, "4")
        self.wait_for_checkpoint(run, 1)
        tool("kill-node", self.testbed, "0")
        output, errors = run.end(0)
        placed = self.lines(errors, "restart")
        self.assertEqual(placed[0], f"restart 1 of 3: {self.hosts[8]} takes the place of {self.hosts[4]}", errors)
        self.assertRegex(placed[-1], r"^restart 2 of 3: 8 ranks on .*, 2 on each$")
        self.assertEqual(errors.count("all ranks are ended, to start them again"), 2, errors)
        self.assertEqual(output.count("8 ranks"), 3)
        self.check_bits()
        self.expect_hosts_empty(hosts=[host for node, host in enumerate(self.hosts) if node not in (0, 4)])

    def test_a_node_whose_cables_are_pulled_is_left_out(self):
        self.up("2x2x2")
        run = self.start("--restart-on-death", "1")
        self.wait_for_checkpoint(run, 0)
        for direction in ("0+", "0-", "1+", "1-", "2+", "2-"):
            tool("cut", self.testbed, f"5:{direction}")
        output, errors = run.end(0)
        placed = self.lines(errors, "restart")
        self.assertRegex(placed[-1], r"^restart 1 of 1: 8 ranks on .*, 2 on each$", errors)
        self.assertNotIn(self.hosts[5], placed[-1])
        self.assertEqual(output.count("8 ranks"), 2)
        self.check_bits()
        self.expect_hosts_empty()


@unittest.skipUnless(SSHD and os.geteuid() == 0 and not os.environ.get("TESTBED_WAS_USER"),
                     "needs sshd (Debian: openssh-server) and root")
class Ssh(HostsTest):
    """Real ssh to a real sshd on every node, over links with only IPv6 link-local addresses."""

    def setUp(self):
        super().setUp()
        os.makedirs("/run/sshd", exist_ok=True)   # sshd's own, where no boot has made it
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("key")], check=True)
        self.write("sshd_config", f"""
            Port 2222
            HostKey {self.path("key")}
            AuthorizedKeysFile {self.path("key")}.pub
            PermitRootLogin yes
            PasswordAuthentication no
            StrictModes no
            PidFile none
            MaxStartups 100
            """)
        self.write("ssh_config", f"""
            Port 2222
            IdentityFile {self.path("key")}
            IdentitiesOnly yes
            StrictHostKeyChecking no
            UserKnownHostsFile /dev/null
            LogLevel ERROR
            """)
        self.agent = f"ssh -F {self.path('ssh_config')} {{address}}"

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")

    def serve(self):
        self.servers = set()
        for host in self.hosts:
            log = self.path(f"sshd-{host}")
            server = subprocess.Popen(["ip", "netns", "exec", host, SSHD, "-D", "-f", self.path("sshd_config"),
                                       "-E", log])
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            self.servers.add(server.pid)

            def listens(log=log, server=server):
                self.assertIsNone(server.poll(), "sshd did not start")
                return "listening" in text_of(log)
            eventually(f"sshd on {host}", listens)

    def over_the_torus(self, *steps, options=()):
        return self.job(*steps, options=["--here", self.hosts[0], "--set", "launch.through=torus", *options],
                        before=["ip", "netns", "exec", self.hosts[0]], agent=self.agent)

    def test_a_job_runs_over_the_torus_alone(self):
        self.up("3x2", "--no-management", "--no-routes", "--ipv6-only")
        self.serve()
        output, errors = self.over_the_torus("connect", "exchange-large", "barrier", "report", "finalize").end(0)
        self.assertEqual(errors, "")
        self.assertEqual(output.count("torus-run rank "), 6)
        self.expect_hosts_empty(self.servers)
        errors = self.over_the_torus("connect", "barrier", "5:exit=7", "sleep").end(7)[1]
        self.assertIn(f"rank 5 (host {self.hosts[5]}, pid ", errors)
        self.expect_hosts_empty(self.servers)

    def test_a_node_whose_cables_are_pulled_is_named_in_time_and_all_ends(self):
        self.up("3", "--no-management", "--no-routes", "--ipv6-only", "--open", "0")
        self.serve()
        run = self.over_the_torus("connect", "spawn-orphan", "print=ready", "sleep",
                                  options=["--set", "transport.timeout=3s"])
        run.wait_for("ready", 3)
        tool("cut", self.testbed, "2:0-")
        errors = run.end()[1]
        self.assertIn(f"host {self.hosts[2]} (node 2, rank 2) is lost: its daemon was silent for longer "
                      "than transport.timeout = 3s", errors)
        # Cut off as it is, the far host ends its part by itself. A session of sshd's that still waits for the
        # dead connection is not ours.
        self.expect_hosts_empty(self.servers, self.hosts[:1])
        eventually("the far ranks are gone", lambda: not any(
            "rank_program" in command(pid) or "--daemon" in command(pid)
            for host in self.hosts for pid in self.processes(host)))

    def test_the_only_cable_of_torus_runs_host_is_pulled(self):
        self.up("3", "--no-management", "--no-routes", "--ipv6-only", "--open", "0")
        self.serve()
        run = self.over_the_torus("connect", "print=ready", "sleep", options=["--set", "transport.timeout=3s"])
        run.wait_for("ready", 3)
        tool("cut", self.testbed, "1:0-")
        errors = run.end()[1]
        self.assertIn(f"host {self.hosts[1]} (node 1, rank 1) is lost: its daemon was silent for longer "
                      "than transport.timeout = 3s", errors)
        self.assertEqual(errors.count("torus-run: "), 1, errors)

    def test_a_link_without_an_answer_is_named(self):
        self.up("3", "--no-management", "--no-routes", "--ipv6-only", "--open", "0")
        self.serve()
        tool("set", self.testbed, "2", "0-", "loss", "100")
        errors = self.over_the_torus("connect", options=["--set", "transport.timeout=2s"]).end(2)[1]
        self.assertIn(f"host {self.hosts[2]} cannot be reached: no answer on the link from host "
                      f"{self.hosts[1]}", errors)
        self.assertEqual(errors.count("torus-run: "), 1, errors)
        subprocess.run(["ip", "-n", self.hosts[2], "link", "set", "d0m", "down"], check=True)
        errors = self.over_the_torus("connect").end(2)[1]
        self.assertIn(f"host {self.hosts[2]} cannot be reached: no cable to it from host {self.hosts[1]} has a "
                      "carrier", errors)
        self.expect_hosts_empty(self.servers)

    def test_daemons_are_started_around_dead_cables(self):
        self.up("3x2", "--no-management", "--no-routes", "--ipv6-only")
        self.serve()
        tool("cut", self.testbed, "0:0+")                     # without a carrier at either end
        tool("set", self.testbed, "0", "0-", "loss", "100")   # silent
        output, errors = self.over_the_torus("connect", "exchange", "dead-cables", "barrier", "report",
                                             "finalize").end(0)
        self.assertEqual(output.count("torus-run rank "), 6)
        self.assertEqual(output.count(": 0:0+\n"), 6)
        self.assertEqual(len(errors.splitlines()), 1, errors)
        self.assertIn(f"the cable from {self.hosts[0]} d0p (0+) to {self.hosts[2]} d0m (0-) is dead: ", errors)
        self.expect_hosts_empty(self.servers)


def text_of(path):
    try:
        with open(path) as f:
            return f.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def command(pid):
    return text_of(f"/proc/{pid}/cmdline")


main()
