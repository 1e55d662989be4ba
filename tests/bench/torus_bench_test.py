# SPDX-License-Identifier: BSD-3-Clause
"""torus-bench with bad input, on a terminal, and over links between hosts."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
from bench_program import BENCH, QUICK, TORUS_RUN, Program
from program import SOURCE, clean_environment, main, skip_without_testbeds


class Busy(Program):
    def test_load_beside_the_ranks_is_reported(self):
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            self.assert_ok(self.run_program(BENCH, "latency", "--torus", "2", "--sizes", "8:8", "--seconds", "0.05",
                                            "--json", "out.json"))
        finally:
            other.kill()
            other.wait()
        document = json.loads((self.work / "out.json").read_text())
        self.assertRegex("\n".join(document["notes"]), r"Other programs used \d+\.\d processors during the measurement")


class BadInput(Program):
    def refused(self, words, *parts):
        with self.subTest(words=words):
            self.assert_refused(self.run_program(BENCH, *words), *parts)
            self.assertEqual(list(self.work.iterdir()), [])

    def test_command_lines(self):
        self.refused([], "expected latency, bandwidth, sweep, aggregate, relay, overlap, "
                         "efficiency, collectives, steps, forward, io, put, get, accumulate, cas, simulate, predict, fit, plot "
                         "or report")
        self.refused(["overlap", "--raw"], "--raw: overlap")
        self.refused(["collectives", "--operation", "shuffle"], "'shuffle'", "reduce_scatter")
        self.refused(["collectives", "--algorithm", "tree"], "'tree' is not an algorithm of allreduce", "disjoint")
        self.refused(["collectives", "--sizes", "4:4"], "multiples of 8")
        self.refused(["steps", "--sizes", "4:4"], "multiples of 8")
        self.refused(["forward", "--raw"], "--raw: forward")
        self.refused(["put", "--raw"], "--raw: put")
        self.refused(["accumulate", "--sizes", "4:4"], "multiples of 8")
        self.refused(["cas", "--sizes", "8:16"], "expected 8:8")
        self.refused(["latency", "--from", "1"], "--from: found latency", "forward")
        self.refused(["latency", "--algorithm", "tree"], "--algorithm: found latency")
        self.refused(["speed"], "'speed'")
        self.refused(["latency", "--folder", "/tmp"], "--folder: found latency, expected io")
        self.refused(["io", "--folder", ""], "--folder is empty")
        self.refused(["io", "--row", "0"], "--row 0: expected a size from 1 to 1GiB")
        self.refused(["io", "--raw"], "--raw: io")
        self.refused(["io", "--sizes", "0:64"], "--sizes 0:64")
        self.refused(["latency", "--plott", "x"], "--plot")
        self.refused(["latency", "--sizes", "8"], "FIRST:LAST")
        self.refused(["latency", "-np", "x"], "x")

    def test_settings(self):
        self.refused(["latency", "--torus", "2x0"], "--torus", "2x0")
        self.refused(["latency", "--set", "transport.tokenz=8"], "transport.tokens")
        self.refused(["latency", "--config", "absent.toml"], "absent.toml")
        self.refused(["aggregate", "-np", "5", "--torus", "2x2"], "5", "2x2")

    def test_files_that_cannot_be_written(self):
        self.refused(["latency", "--json", "no/such/folder.json"], "no/such")
        self.refused(["latency", "--plot", "/proc"], "/proc")

    def test_a_partner_that_does_not_exist(self):
        done = self.run_program(BENCH, "latency", "--torus", "2", "--peer", "2")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--peer 2: expected a rank from 1 to 1", done.stderr)

    def test_one_rank_has_no_partner(self):
        for command, word in (("latency", "no partner"), ("aggregate", "no links")):
            done = self.run_program(BENCH, command, "-np", "1")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(word, done.stderr)

    def test_a_rank_that_does_not_exist(self):
        for what in ("aggregate", "forward"):
            done = self.run_program(BENCH, what, "--torus", "2", "--from", "2")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--from 2: expected a rank from 0 to 1", done.stderr)

    def test_a_rank_that_forwards_nothing(self):
        done = self.run_program(BENCH, "forward", "--torus", "2")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no message between two neighbours of rank 0 passes through it", done.stderr)

    def test_launcher_options_under_a_launcher(self):
        done = self.run_program(TORUS_RUN, "-np", "1", BENCH, "latency", "--torus", "2")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("give the option to the launcher", done.stderr)


class Testbeds(Program):
    """Over links between hosts, each a network namespace."""

    def setUp(self):
        skip_without_testbeds()
        super().setUp()
        self.testbed = f"bench{os.getpid()}-{time.monotonic_ns() % 10**6}"

    def on_testbed(self, torus, *words, testbed=()):
        done = self.run_program(SOURCE / "tests/testbed/torus-netns", "run", torus, "--name",
                                self.testbed, *testbed, "--", BENCH, *words, *QUICK, "--json", "out.json",
                                environment=clean_environment() | {"TMPDIR": str(self.work)})
        self.assert_ok(done)
        return json.loads((self.work / "out.json").read_text()), done.stdout

    def test_a_bare_socket_stands_beside_us_on_the_same_link(self):
        for what, columns in (("latency", 11), ("bandwidth", 9), ("sweep", 5)):
            document, printed = self.on_testbed("2", what, "--raw", "--sizes", "1:64KiB", "--step",
                                            "1024", testbed=("--open", "0"))
            with self.subTest(what=what):
                self.assertEqual(len(document["columns"]), columns)
                for row in document["rows"]:
                    self.assertEqual(len(row["figures"]), columns)
                    self.assertTrue(all(f["median"] > 0 for f in row["figures"]), row)
                links = self.check_links(document, [(0, "0+"), (1, "0-")])
                self.assertEqual([l["device"] for l in links.values()], ["d0p", "d0m"])
                # The bare socket's bytes are not ours.
                self.assertGreater(links[0, "0+"]["bytes_sent"], 0)
                self.assertIn("d0p", printed)

    def test_all_link_ends_at_once(self):
        document, _ = self.on_testbed("2x2", "aggregate", "--raw", "--sizes", "256KiB:256KiB")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["a link", "a node", "all nodes", "bare node", "ratio"] * 2)
        links = self.check_links(document, [(r, d) for r in range(4)
                                            for d in ("0+", "0-", "1+", "1-")])
        for link in links.values():
            self.assertGreaterEqual(link["bytes_sent"], 64 << 10, "a link stands idle")


class Terminal(Program):
    def test_progress_goes_to_the_terminal_and_leaves_a_clean_line(self):
        mine, theirs = pty.openpty()
        child = subprocess.Popen([BENCH, "latency", "--torus", "2", "--sizes", "8:16", *QUICK],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs,
                                 text=True, env=clean_environment(), cwd=self.work,
                                 start_new_session=True)
        os.close(theirs)
        try:
            out, _ = child.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            self.fail("hung")
        shown = b""
        while True:
            try:
                part = os.read(mine, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        os.close(mine)
        self.assertEqual(child.returncode, 0, shown)
        self.assertIn(b"measuring 8B: 0 %", shown)
        self.assertIn(b"measuring 16B: 50 %", shown)
        self.assertTrue(shown.endswith(b"\r\033[K"), shown)
        self.assertNotIn("measuring", out)


if __name__ == "__main__":
    main()
