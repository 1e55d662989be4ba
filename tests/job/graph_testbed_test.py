#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Machines whose cables do not form a torus, from their discovery to programs:
graph_testbed_test.py SOURCE TORUS_RUN TORUS_CHECK TORUS_INFO RELAY_SOAK_JOB COLLECTIVES REDUCTIONS [PROGRAM...] [CLASS].

The programs behind them are examples that must end well on four ranks.
"""
import json
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, TORUS_CHECK, TORUS_INFO, SOAK, COLLECTIVES, REDUCTIONS = (sys.argv.pop(1) for _ in range(7))
EXAMPLES = []
while len(sys.argv) > 1 and os.sep in sys.argv[1]:
    EXAMPLES.append(sys.argv.pop(1))
sys.path.insert(0, os.path.join(SOURCE, "tests", "testbed"))
from netns.testbed import Testbed                                        # noqa: E402
from harness import TestbedTest, main, tool                              # noqa: E402

AGENT = "ip netns exec"
PATIENCE = 200
ROUNDS = int(os.environ.get("TORUSMP_WIRINGS", "2"))
# The ways to plug a ring of four that no rotation or reflection turns into each other: none, one, two neighbours, two
# opposite ones, three or all of the hosts are plugged the other way. The long run has all ways.
WAYS = range(16) if os.environ.get("TORUSMP_WAYS") == "all" else (0, 1, 3, 5, 7, 15)


class GraphTest(TestbedTest):
    def up(self, nodes, cables, *options):
        self.testbed = self.name()
        tool("up", str(nodes), "--name", self.testbed, "--cables", cables, "--no-management", *options)
        self.hosts = [f"{self.testbed}-{node}" for node in range(nodes)]
        self.file = self.path(f"{self.testbed}.toml")
        return self.run_program(TORUS_CHECK, "--discover", self.file, "--hosts", ",".join(self.hosts), "--agent", AGENT,
                                "--devices", "e*")

    def run_program(self, *words, status=0):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done

    def check(self):
        """The speed of cables, which a busy machine disturbs, is not measured here."""
        done = self.run_program(TORUS_CHECK, "--diff", "--config", self.file)
        self.assertRegex(done.stdout, "^[0-9]+ hosts, (1 cable|[0-9]+ cables): as in the file\n$")

    def job(self, *words, options=()):
        done = self.run_program(TORUS_RUN, "--config", self.file, *options, *words)
        self.assertNotIn("has been dead", done.stderr)
        return done.stdout

    def run_all(self, messages=2000):
        self.check()
        self.run_program(TORUS_INFO, "--config", self.file)
        self.job(SOAK, "--messages", str(messages))
        self.job(COLLECTIVES)
        self.job(REDUCTIONS)


class Shapes(GraphTest):
    def machine(self):
        return json.loads(self.run_program(TORUS_INFO, "--config", self.file, "--json", "-").stdout)["torus"]

    def test_a_full_mesh_of_four_uses_all_its_cables(self):
        self.up(4, "0-1,0-2,0-3,1-2,1-3,2-3")
        self.assertEqual(self.machine()["cables"], 6)
        self.assertEqual(self.machine()["mean_hops"], 1)
        self.run_all()
        for example in EXAMPLES:
            self.job(example)

    def test_a_star(self):
        self.up(5, "0-1,0-2,0-3,0-4")
        self.assertIn("one more cable", self.run_program(TORUS_INFO, "--config", self.file).stdout)
        self.run_all()

    def test_three_cables_between_two_hosts(self):
        self.up(2, "0-1,0-1,0-1")
        self.run_all()

    def test_two_cables_between_two_hosts(self):
        self.up(2, "0-1,0-1")
        self.run_all()

    def test_a_ring_of_five_with_two_doubled_cables(self):
        self.up(5, "0-1,1-2,2-3,3-4,4-0,0-1,1-2")
        self.assertEqual(self.machine()["cables"], 7)
        self.run_all()

    def test_a_tree(self):
        self.up(7, "0-1,0-2,1-3,1-4,2-5,2-6")
        self.run_all()

    def test_twins_are_two_cables(self):
        # With IPv4, a kernel answers ARP for the address of one twin on the other, too.
        self.up(3, "0:ea+eb-1:ea+eb,1:ec+ed-2:ea+eb", "--ipv6-only")
        self.assertEqual(self.machine()["cables"], 4)
        self.run_all()

    def test_several_ranks_on_each_host(self):
        self.up(3, "0-1,1-2,0-1")
        self.job(COLLECTIVES, options=["-np", "6"])
        self.job(SOAK, "--messages", "1000", options=["-np", "9"])

    def test_some_of_the_hosts(self):
        self.up(4, "0-1,0-2,0-3,1-2")
        self.job(COLLECTIVES, options=["-np", "3"])
        self.job(COLLECTIVES, options=["-host", f"{self.hosts[0]},{self.hosts[3]}"])
        done = self.run_program(TORUS_RUN, "--config", self.file, "-host", f"{self.hosts[1]},{self.hosts[3]}", "true",
                                status=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no cables connect 2 hosts of", done.stderr)


class Parts(GraphTest):
    """Fewer ranks than hosts, also if no box of the torus has so many hosts."""

    def torus(self, dims, *options):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed, *options)
        plan = Testbed(self.testbed)
        self.hosts = [f"{self.testbed}-{node}" for node in range(len(plan.load().nodes()))]
        self.file = plan.geometry_file

    def run_on(self, nodes, *options):
        """Runs a program whose ranks must be on these nodes, in this order."""
        options = ["--agent", AGENT, *options]
        shown = self.job("true", options=[*options, "--display-map"])
        self.assertEqual(shown, "".join(f"torus-run: {self.hosts[node]}: rank {rank}\n"
                                        for rank, node in enumerate(nodes)))
        self.job(COLLECTIVES, options=options)
        self.job(REDUCTIONS, options=options)
        self.job(SOAK, "--messages", "1000", options=options)

    def test_three_five_and_seven_ranks_on_a_cube(self):
        self.torus("2x2x2")
        for ranks in 3, 5, 7:
            self.run_on(range(ranks), "-np", str(ranks))
        self.run_on((7, 6, 4), "-host", ",".join(self.hosts[node] for node in (7, 6, 4)))
        self.run_on((1, 2, 3), "-np", "3", "--without", self.hosts[0])
        self.run_on((0, 1, 2, 3, 4), "-np", "5", "--spares", "2")
        self.job(COLLECTIVES, options=["--agent", AGENT, "-np", "6", "-ppn", "2"])

    def test_three_ranks_on_a_line_and_on_a_ring_of_four(self):
        self.torus("4", "--open", "0")
        self.run_on((0, 1, 2), "-np", "3")
        tool("down", self.testbed)
        self.torus("4")
        self.run_on((0, 1, 2), "-np", "3")

    def test_dead_cables_between_them(self):
        self.torus("2x2x2")
        tool("cut", self.testbed, "0:2+")       # the other cable of the pair is left
        done = self.run_program(TORUS_RUN, "--config", self.file, "--agent", AGENT, "-np", "3", COLLECTIVES)
        self.assertIn("is dead", done.stderr)
        self.assertIn("the job uses a detour over the other cable between them", done.stderr)
        tool("cut", self.testbed, "0:2-")
        words = [TORUS_RUN, "--config", self.file, "--agent", AGENT, "-np", "3"]
        done = self.run_program(*words, COLLECTIVES)
        zero, one, two, three = self.hosts[:4]
        self.assertIn(f"nothing was started: {zero} and {two} on one side, {one} on the other. Dead:\n", done.stderr)
        self.assertIn(f"torus-run: the job starts on other hosts: 3 ranks on {zero}, {two} and {three}, 1 on each\n",
                      done.stderr)
        # The ranks of the second start can read the input that the first start left unread.
        read = subprocess.run([*words, "sh", "-c", "[ $TORUSMP_RANK = 0 ] && exec cat"], input="first line\n", text=True,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(read.stdout, "first line\n", read.stderr)
        # No other hosts may be used, or are connected.
        for options in ["-host", f"{zero},{one},{two}"], ["--without", f"{three},{self.hosts[4]},{self.hosts[6]}"]:
            done = self.run_program(*words, *options, "true", status=2)
            self.assertEqual(done.stderr.count("torus-run: "), 1, done.stderr)
            self.assertIn("nothing was started", done.stderr)
        done = self.run_program(*words[:-2], "-host", f"{zero},{one}", "-np", "4", "true", status=2)
        self.assertEqual(done.stderr.count("torus-run: "), 1, done.stderr)


class PluggedAtRandom(GraphTest):
    def test_a_ring_of_four(self):
        for ways in WAYS:
            names = [("ea", "eb") if ways >> node & 1 else ("eb", "ea") for node in range(4)]
            cables = ",".join(f"{a}:{names[a][0]}-{(a + 1) % 4}:{names[(a + 1) % 4][1]}" for a in range(4))
            with self.subTest(cables):
                done = self.up(4, cables)
                # A ring of four is also 2 x 2 without wrap-around.
                self.assertRegex(done.stdout, "a torus of (4|2openx2open), 4 cables")
                self.check()
                if ways % 5 == 0:
                    self.job(COLLECTIVES)
                tool("down", self.testbed)

    def test_random_cables(self):
        for seed in range(ROUNDS):
            dice = random.Random(seed + int(os.environ.get("TORUSMP_WIRINGS_SEED", "1")))
            nodes = dice.randint(2, 8)
            pairs = [(node, dice.randrange(node)) for node in range(1, nodes)]
            pairs += [tuple(dice.sample(range(nodes), 2)) for _ in range(dice.randrange(nodes + 1))]
            devices = {node: dice.sample([f"e{i}" for i in range(20)], 20) for node in range(nodes)}
            cables = ",".join(f"{a}:{devices[a].pop()}-{b}:{devices[b].pop()}" for a, b in pairs)
            with self.subTest(seed=seed, cables=cables):
                self.up(nodes, cables)
                self.run_all(messages=500)
                self.job(COLLECTIVES, options=["-np", str(dice.randint(1, nodes))])
                tool("down", self.testbed)


class Faults(GraphTest):
    def test_a_cable_that_dies_and_returns_under_a_job_is_named_and_loses_nothing(self):
        self.up(4, "0-1,0-2,0-3,1-2,1-3,2-3")
        words = [TORUS_RUN, "--config", self.file, SOAK, "--messages", "1500000"]
        job = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        plan = Testbed(self.testbed).load()
        time.sleep(1)
        tool("cut", self.testbed, "0:e1")
        time.sleep(2)
        tool("heal", self.testbed, "0:e1")
        out, errors = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 0, out + errors)
        far, device = plan.peer(0, "e1")
        self.assertIn(f"{self.hosts[0]} e1", errors)
        self.assertIn(f"{self.hosts[far]} {device}", errors)

    def test_a_cable_that_is_dead_at_the_start_gets_a_detour(self):
        self.up(4, "0-1,0-2,0-3,1-2,1-3,2-3")
        tool("cut", self.testbed, "0:e1")
        done = self.run_program(TORUS_RUN, "--config", self.file, COLLECTIVES)
        self.assertIn(f"{self.hosts[0]} e1", done.stderr)
        bad = self.run_program(TORUS_CHECK, "--config", self.file, status=1)
        self.assertIn(f"{self.hosts[0]} e1", bad.stdout + bad.stderr)

    def test_the_only_cable_to_a_host_must_work(self):
        self.up(4, "0-1,0-2,0-3,1-2")
        tool("cut", self.testbed, "0:e2")
        done = self.run_program(TORUS_RUN, "--config", self.file, COLLECTIVES, status=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(self.hosts[3], done.stderr)


class BadInput(GraphTest):
    def refused(self, cables, said, more=""):
        file = self.path("bad.toml")
        with open(file, "w") as f:
            f.write(f'[torus]\ncables = [{", ".join(json.dumps(cable) for cable in cables)}]\n{more}\n'
                    '[nodes]\nhosts = ["a", "b", "c"]\n')
        for program in (TORUS_INFO, TORUS_CHECK):
            done = self.run_program(program, "--config", file, status=2)
            self.assertIn(said, done.stderr)
            self.assertIn("bad.toml:", done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_each_mistake_causes_one_message_with_its_line(self):
        self.refused(["a x - b x"], "no cable leads from a and b to c")
        self.refused(["a x - b x", "a x - b x"], "a x is also an end of cable 1 of the list")
        self.refused(["a x - b x", "b y - d x"], "d is not in nodes.hosts")
        self.refused(["a x - a y"], "both ends are on a")
        self.refused(["a x b x"], "is not a cable")
        self.refused(["a - b x"], "does not name a host and a device at each end")
        self.refused([], "the list is empty")
        self.refused(["a x - b x", "b y - c x"], "exclude each other", 'dims = [2, 2]')
        self.refused(["a x - b x", "b y - c x"], "exclude each other", '[links]\n"0+" = "x"')


if __name__ == "__main__":
    main()
