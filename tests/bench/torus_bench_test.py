# SPDX-License-Identifier: BSD-3-Clause
"""Runs torus-bench as users do, on tiny sizes, and reads what it writes."""

import json
import os
import re
import pty
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import BUILD, SOURCE, Case, clean_environment, main, skip_without_testbeds

BENCH = BUILD / "bench/torus-bench"
TORUS_RUN = BUILD / "bin/torus-run"
QUICK = ("--seconds", "0.002")
SVG = "{http://www.w3.org/2000/svg}"


class Program(Case):
    def measure(self, *words):
        """The JSON document of a run that must succeed, checked for what all have in common."""
        done = self.run_program(BENCH, *words, *QUICK, "--json", "out.json", "--plot", "out.svg")
        self.assert_ok(done)
        self.assertEqual(done.stderr, "", "progress belongs on a terminal")
        document = json.loads((self.work / "out.json").read_text())
        self.assertEqual(document["tool"], "torus-bench")
        self.assertEqual(document["command"], words[0])
        self.check_facts(document["ran_on"], done.stdout)
        self.check_figures(document)
        self.check_table(document, done.stdout)
        self.check_picture(document)
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["out.json", "out.svg"])
        return document

    def check_links(self, document, ends):
        """Bytes over links: each end once, and both ends of a cable agree."""
        links = {(l["rank"], l["direction"]): l for l in document["links"]}
        self.assertEqual(sorted(links), sorted(ends))
        for (rank, way), link in links.items():
            opposite = way[0] + ("-" if way[1] == "+" else "+")
            other = links[link["peer"], opposite]
            self.assertEqual(other["peer"], rank)
            self.assertEqual(link["bytes_sent"], other["bytes_received"])
        return links

    def check_facts(self, facts, printed):
        for name in ("version", "qmp", "date", "cpu", "system", "torus", "transport"):
            self.assertIsInstance(facts[name], str)
            self.assertIn(facts[name], printed)
        self.assertGreater(facts["cores"], 0)
        self.assertGreaterEqual(facts["ranks"], 1)
        self.assertEqual(facts["oversubscribed"], facts["ranks"] > facts["cores"])
        self.assertEqual("oversubscribed" in printed, facts["oversubscribed"])

    def check_figures(self, document):
        for row in document["rows"]:
            self.assertEqual(len(row["figures"]), len(document["columns"]))
            for column, figure in zip(document["columns"], row["figures"]):
                if column["unit"] == "%":
                    self.assertTrue(0 <= figure["median"] <= 100)
                    continue
                # Processor time comes in clock ticks on some systems, so it may be 0.
                least = 0 if column["unit"] == "s/GB" else 1e-9
                self.assertGreaterEqual(figure["median"], least, column)
                self.assertTrue(figure["samples"])
                self.assertLessEqual(min(figure["samples"]), figure["median"])
                self.assertGreaterEqual(max(figure["samples"]), figure["median"])

    def check_table(self, document, printed):
        self.assertIn(document["title"], printed)
        lines = printed.splitlines()
        if document["command"] == "relay":
            return
        heading = next(l for l in lines if l.split()[:1] == ["size"])
        rows = [l for l in lines if l.split()[1:2] in (["B"], ["KiB"], ["MiB"])]
        self.assertEqual(len(rows), len(document["rows"]))
        for row in rows:
            self.assertEqual(len(row), len(heading), "columns do not line up")
            self.assertEqual(len(row.split()), 2 + len(document["columns"]))

    def check_picture(self, document):
        root = xml.parse(self.work / "out.svg").getroot()
        self.assertEqual(root.tag, SVG + "svg")
        texts = [t.text for t in root.iter(SVG + "text")]
        self.assertIn(document["title"], texts)
        self.assertTrue(list(root.iter(SVG + "polyline")))


class Latency(Program):
    def test_every_size_has_a_positive_time(self):
        document = self.measure("latency", "--torus", "2", "--sizes", "0:64", "--step", "8")
        self.assertEqual([r["bytes"] for r in document["rows"]], [0, 1, 8, 64])
        self.assertEqual(document["ran_on"]["ranks"], 2)

    def test_the_time_for_a_figure_is_kept_where_one_trip_takes_longer(self):
        # No machine moves 128 MiB in 2 ms: as few repetitions as a median needs.
        document = self.measure("latency", "--torus", "2", "--sizes", "64MiB:64MiB")
        self.assertEqual({len(f["samples"]) for f in document["rows"][0]["figures"]}, {3})

    def test_a_far_partner_is_told_with_its_distance(self):
        document = self.measure("latency", "--torus", "2x2", "--peer", "3", "--sizes", "8:8")
        self.assertIn("ranks 0 and 3 (2 hops)", document["title"])


class Bandwidth(Program):
    def test_all_three_patterns_over_eager_and_rma(self):
        document = self.measure("bandwidth", "--torus", "2", "--sizes", "1KiB:64KiB", "--step", "8",
                                "--window", "4")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["ping-pong", "one way", "both ways"])
        self.assertEqual([r["bytes"] for r in document["rows"]], [1024, 8192, 65536])

    def test_ranks_without_a_part_stand_by(self):
        document = self.measure("bandwidth", "--torus", "3", "--sizes", "64:64", "--window", "2")
        self.assertEqual(document["ran_on"]["ranks"], 3)


class Sweep(Program):
    def test_sizes_and_the_bytes_beside_them(self):
        document = self.measure("sweep", "--torus", "2", "--sizes", "64:32KiB", "--step", "512",
                                "--perturb", "5")
        self.assertEqual([r["bytes"] for r in document["rows"]],
                         [59, 64, 69, 32763, 32768, 32773])
        for row in document["rows"]:
            time, rate = (f["median"] for f in row["figures"])
            self.assertAlmostEqual(row["bytes"] / time / rate, 1, places=3)
        self.assertEqual(document["links"], [])


class Relay(Program):
    def test_a_line_of_ranks_over_its_links(self):
        done = self.run_program(BENCH, "relay", "--torus", "4", "--set", "torus.periodic=false",
                                "--set", "transport.local=links", "--sizes", "8:4KiB", "--window",
                                "4", *QUICK, "--json", "out.json")
        self.assert_ok(done)
        document = json.loads((self.work / "out.json").read_text())
        self.assertEqual([r["hops"] for r in document["rows"]], [1, 2, 3])
        for row in document["rows"]:
            self.assertGreater(row["figures"][0]["median"], 0)
            self.assertGreater(row["figures"][2]["median"], 0)
        links = self.check_links(document, [(0, "0+"), (1, "0+"), (1, "0-"), (2, "0+"), (2, "0-"),
                                            (3, "0-")])
        # What goes to the far end crosses every link, so each carries more than the next.
        self.assertGreater(links[0, "0+"]["bytes_sent"], links[1, "0+"]["bytes_sent"])
        self.assertGreater(links[1, "0+"]["bytes_sent"], links[2, "0+"]["bytes_sent"])
        self.assertGreater(links[2, "0+"]["bytes_sent"], 0)
        self.assertIn("A hop costs", done.stdout)
        self.assertIn("Over each link", done.stdout)

    def test_it_says_when_nothing_was_relayed(self):
        done = self.run_program(BENCH, "relay", "--torus", "3", "--set", "torus.periodic=false",
                                "--sizes", "8:64", "--window", "2", *QUICK)
        self.assert_ok(done)
        self.assertIn("nothing was relayed", done.stdout)


class Aggregate(Program):
    def test_one_group_of_figures_for_each_dimension(self):
        document = self.measure("aggregate", "--sizes", "1:32KiB", "--step", "32")
        self.assertEqual(document["ran_on"]["torus"], "2x2x2")
        groups = [c["group"] for c in document["columns"]]
        self.assertEqual(groups, [f"{n}-D exchange" for n in (1, 2, 3) for _ in range(3)])
        for row in document["rows"]:
            for n in (1, 2, 3):
                link, node, every = (f["median"] for f in row["figures"][3 * n - 3:3 * n])
                self.assertAlmostEqual(node / link, 2 * n, places=5)
                self.assertAlmostEqual(every / link, 2 * n * 8, places=5)

    def test_the_slowest_link_is_named_with_its_share(self):
        document = self.measure("aggregate", "--sizes", "1:32KiB", "--step", "32")
        found = re.search(r"^\* Slowest link at 32KiB, 3-D: rank (\d) to rank (\d), which receives on its [012][+-], "
                          r"with [0-9.]+ MB/s: (\d+) % of ", document["notes"][-1])
        self.assertTrue(found, document["notes"])
        self.assertNotEqual(found[1], found[2])
        self.assertTrue(0 < int(found[3]) <= 100)

    def test_what_each_link_carries_is_a_table_in_which_the_slowest_is_marked(self):
        document = self.measure("aggregate", "--torus", "3x2", "--sizes", "32KiB:32KiB")
        *_, head, a, b, c, d, e, f, slowest = document["notes"]
        self.assertEqual(head.split(), ["rank", "0+", "0-", "1+", "1-"])
        lines = (a, b, c, d, e, f)
        self.assertEqual([line.split()[0] for line in lines], [str(rank) for rank in range(6)])
        self.assertEqual({len(line) for line in lines}, {len(head)})
        rates = [float(word) for line in lines for word in line.replace("*", "").split()[1:]]
        self.assertEqual(len(rates), 24)
        marked = [word for line in lines for word in re.findall(r"\* ([0-9.]+)", line)]
        self.assertEqual([float(word) for word in marked], [min(rates)])
        self.assertIn(f"with {marked[0]} MB/s", slowest)

    def test_a_dimension_of_one_has_no_links(self):
        document = self.measure("aggregate", "--torus", "2x1x3", "--sizes", "64:64")
        self.assertEqual(len(document["columns"]), 6)
        link, _, every = (f["median"] for f in document["rows"][0]["figures"][3:])
        self.assertAlmostEqual(every / link, 4 * 6, places=5)

    def test_an_open_mesh_has_no_links_over_its_edge(self):
        document = self.measure("aggregate", "--torus", "3", "--set", "torus.periodic=false",
                                "--sizes", "64:64")
        link, node, every = (f["median"] for f in document["rows"][0]["figures"])
        self.assertAlmostEqual(node / link, 2, places=5)
        self.assertAlmostEqual(every / link, 4, places=5)

    def test_one_rank_alone_may_send(self):
        document = self.measure("aggregate", "--torus", "3x2", "--from", "4", "--sizes", "64:64")
        self.assertIn("rank 4 sends", document["title"])
        for n in (1, 2):
            link, node, every = (f["median"]
                                 for f in document["rows"][0]["figures"][3 * n - 3:3 * n])
            self.assertAlmostEqual(node / link, 2 * n, places=5)
            self.assertAlmostEqual(every, node, places=5)

    def test_under_a_launcher_of_the_users_it_is_a_rank(self):
        done = self.run_program(TORUS_RUN, "-np", "4", "--torus", "2x2", BENCH, "aggregate",
                                "--sizes", "8:8", *QUICK)
        self.assert_ok(done)
        self.assertIn("torus 2x2", done.stdout)


class Collectives(Program):
    def test_the_papers_broadcast_and_sum(self):
        document = self.measure("collectives", "--torus", "2x2", "--sizes", "8:32KiB", "--step",
                                "64")
        self.assertEqual([(c["group"], c["name"]) for c in document["columns"]],
                         [("broadcast", "automatic"), ("sum", "automatic")])
        self.assertEqual([r["bytes"] for r in document["rows"]], [8, 512, 32768])
        self.assertIn("4 ranks (2x2)", document["title"])

    def test_the_scatter_of_the_paper_over_links_with_its_baseline_beside(self):
        document = self.measure("collectives", "--operation", "scatter", "--torus", "3x2",
                                "--sizes", "64:64", "--set", "transport.local=links")
        self.assertEqual([c["name"] for c in document["columns"]], ["optimal", "apart", "one"])
        self.assertGreater(sum(l["bytes_sent"] for l in document["links"]), 0)

    def test_every_operation_runs(self):
        names = ["broadcast", "sum", "reduce", "scatter", "gather", "allgather", "reduce_scatter",
                 "alltoall", "scan", "barrier"]
        document = self.measure("collectives", "--operation", ",".join(names), "--algorithm",
                                "automatic", "--torus", "3", "--sizes", "64:64")
        self.assertEqual([c["group"] for c in document["columns"]], names)


class Steps(Program):
    def test_a_step_is_its_share_of_the_call(self):
        document = self.measure("steps", "--torus", "4x2", "--sizes", "8:64", "--step", "8", "--set",
                                "transport.local=links")
        self.assertIn("3 links away from rank 0", document["notes"][0])
        self.assertEqual([r["bytes"] for r in document["rows"]], [8, 64])
        for row in document["rows"]:
            broadcast, one, every, other, _ = (f["median"] for f in row["figures"])
            self.assertAlmostEqual(broadcast / one, 3, places=5)
            self.assertAlmostEqual(every / other, 3, places=5)
        # Broadcasts begin at either end.
        for rank in (0, 5):
            self.assertGreater(sum(l["bytes_sent"] for l in document["links"] if l["rank"] == rank), 0)

    def test_one_rank_has_nobody(self):
        done = self.run_program(BENCH, "steps", "-np", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nobody", done.stderr)


class Forward(Program):
    def test_the_middle_of_a_mesh_passes_on_over_all_its_links(self):
        document = self.measure("forward", "--sizes", "1KiB:1KiB", "--window", "4")
        self.assertIn("rank 4 of a torus 3openx3open", document["title"])
        self.assertIn("over 4 of its links", document["title"])
        self.assertIn("Flows through rank 4", document["notes"][0])
        for row in document["rows"]:
            _, one, node = (f["median"] for f in row["figures"])
            self.assertAlmostEqual(node / one, 4, places=5)
        # What comes in to the middle goes out of it; no rank at a corner has a part in it.
        links = {(l["rank"], l["direction"]): l for l in document["links"]}
        for direction in ("0+", "0-", "1+", "1-"):
            self.assertGreaterEqual(links[4, direction]["bytes_sent"], 4 << 10)
            self.assertGreaterEqual(links[4, direction]["bytes_received"], 4 << 10)

    def test_another_rank_where_fewer_links_serve(self):
        document = self.measure("forward", "--torus", "4x2", "--from", "3", "--sizes", "64:64",
                                "--window", "2", "--set", "transport.local=links")
        self.assertIn("rank 3 of a torus 4x2", document["title"])

    def test_it_says_when_nothing_was_relayed(self):
        document = self.measure("forward", "--torus", "3", "--set", "torus.periodic=false",
                                "--sizes", "64:64", "--window", "2")
        self.assertIn("nothing was relayed", document["notes"][-1])


class Loopback(Program):
    """Bare sockets beside us where all ranks share a host."""

    def test_between_two_ranks(self):
        for what, columns in (("latency", 11), ("bandwidth", 9), ("sweep", 5)):
            with self.subTest(what=what):
                document = self.measure(what, "--torus", "2", "--raw", "--sizes", "64:4KiB", "--step",
                                        "64", "--set", "transport.local=links")
                self.assertEqual(len(document["columns"]), columns)
                self.assertTrue(any("over loopback" in note for note in document["notes"]))

    def test_on_all_links(self):
        document = self.measure("aggregate", "--torus", "2x2", "--raw", "--sizes", "4KiB:4KiB")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["a link", "a node", "all nodes", "bare node", "ratio"] * 2)

    def test_far_ranks_have_no_socket_between_them(self):
        done = self.run_program(BENCH, "latency", "--torus", "2x2", "--peer", "3", "--raw")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no neighbours", done.stderr)


class Overlap(Program):
    def test_message_work_and_both_together(self):
        document = self.measure("overlap", "--torus", "2", "--sizes", "1KiB:32KiB", "--step", "32")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["message", "work", "together", "hidden", "processor"])


class Simulate(Program):
    def table(self, *words):
        """Rows by torus, each a dictionary by group and column."""
        done = self.run_program(BENCH, "simulate", *words, "--json", "out.json")
        self.assert_ok(done)
        document = json.loads((self.work / "out.json").read_text())
        self.assertEqual(document["command"], "simulate")
        lines = done.stdout.splitlines()
        heading = next(l for l in lines if l.split()[:1] == ["torus"])
        rows = {}
        for row in document["rows"]:
            line = next(l for l in lines if l.split()[:1] == [row["torus"]])
            self.assertEqual(len(line), len(heading), "columns do not line up")
            rows[row["torus"]] = {(c["group"], c["name"]): f["median"]
                                  for c, f in zip(document["columns"], row["figures"])}
        return rows

    def test_a_list_of_tori_and_meshes_without_starting_a_job(self):
        rows = self.table()
        for name in ("8x8", "4x8x8", "6x8x8", "2x2x2", "16x16x16", "5x7x3", "32x32x32",
                     "8openx8open"):
            with self.subTest(torus=name):
                row = rows[name]
                extents = [int(e.removesuffix("open")) for e in name.split("x")]
                broadcast = sum(e - 1 if "open" in name else e // 2 for e in extents)
                self.assertEqual(row["one to all", "broadcast"], broadcast)
                self.assertEqual(row["one to all", "reduce"], broadcast)
                first = -(-(row["the torus", "ranks"] - 1) // row["the torus", "links"])
                self.assertEqual(row["bounds", "T1"], first)
                self.assertEqual(row["scatter OPT", "sent"], first)
                self.assertEqual(row["scatter OPT", "waits"], 0)
                self.assertEqual(row["scatter OPT", "ends"], max(first, row["bounds", "T2"]))
                self.assertEqual(row["gather", "OPT"], row["scatter OPT", "ends"])
                self.assertGreaterEqual(row["SDF, all links", "ends"], row["scatter OPT", "ends"])

    def test_one_torus_from_any_root(self):
        rows = self.table("--torus", "5", "--set", "torus.periodic=false", "--from", "2")
        row = rows["5open"]
        self.assertEqual(row["the torus", "links"], 2)
        self.assertEqual(row["one to all", "broadcast"], 2)
        self.assertEqual(row["SDF, one a step", "ends"], 5)

    def test_what_it_cannot_do(self):
        for words, parts in ((["--torus", "2x2", "--from", "4"], ["--from 4", "from 0 to 3"]),
                             (["-np", "4"], ["--np", "starts no ranks"]),
                             (["--torus", "64x64x64"], ["262144", "65536"]),
                             (["--json", "no/such/folder.json"], ["no/such"])):
            with self.subTest(words=words):
                self.assert_refused(self.run_program(BENCH, "simulate", *words), *parts)


class Predict(Case):
    """Simulated time, and what is made of measurements."""

    def predict(self, *words):
        done = self.run_program(BENCH, "predict", *words, "--json", "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads((self.work / "out.json").read_text())
        self.assertEqual(document["command"], "predict")
        return document, done.stdout

    def test_the_papers_latency_and_hop(self):
        document, _ = self.predict("--torus", "4x8x8", "--model", "gige-mvia", "--operation",
                                   "latency", "--sizes", "8:8")
        neighbour, far = (f["median"] for f in document["rows"][0]["figures"][:2])
        self.assertAlmostEqual(neighbour, 18.5, delta=0.5)
        self.assertAlmostEqual((far - neighbour) / 9, 12.5, delta=0.5)

    def test_the_same_twice(self):
        rows = [self.predict("--torus", "3x2x2", "--model", "25gbe-tcp", "--sizes", "8:512")[0]
                ["rows"] for _ in range(2)]
        self.assertEqual(rows[0], rows[1])
        for row in rows[0]:
            for figure in row["figures"]:
                self.assertGreater(figure["median"], 0)

    def test_wilson(self):
        document, _ = self.predict("--torus", "2x2x2", "--model", "gige-mvia", "--operation",
                                   "wilson")
        self.assertEqual([r["lattice"] for r in document["rows"]], ["4^4", "6^4", "8^4", "12^4"])
        shares = [r["figures"][1]["median"] for r in document["rows"]]
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_pictures_and_tables(self):
        words = ["predict", "--torus", "2x2", "--model", "ethernet", "--sizes", "8:512"]
        done = self.run_program(BENCH, *words, "--plot", "a.svg", "--csv", "a.csv", "--json",
                                "a.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program(BENCH, "plot", "a.json", "--plot", "b.svg", "--csv", "b.csv")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.work / "a.csv").read_text(), (self.work / "b.csv").read_text())
        root = xml.fromstring((self.work / "b.svg").read_text())
        self.assertTrue(list(root.iter(SVG + "polyline")))

    def test_models(self):
        done = self.run_program(BENCH, "predict", "--model", "list")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("gige-mvia", "25gbe-tcp", "ethernet"):
            self.assertIn(name, done.stdout)

    def test_what_it_cannot_do(self):
        for words, parts in ((["predict", "--torus", "2x2"], ["--model"]),
                             (["predict", "--model", "gige-mvia"], ["--torus"]),
                             (["predict", "--torus", "32x32x32", "--model", "ethernet"],
                              ["32768", "4096"]),
                             (["predict", "--torus", "2", "--model", "ethernet", "--operation",
                               "scan"], ["scan", "alltoall"]),
                             (["fit"], ["files"]),
                             (["plot", "no.json"], ["--plot"])):
            with self.subTest(words=words):
                self.assert_refused(self.run_program(BENCH, *words), *parts)

    def test_files_that_are_none(self):
        for words, parts in ((["predict", "--torus", "2x2", "--model", "none"],
                              ["none", "gige-mvia"]),
                             (["plot", "no.json", "--plot", "x.svg"], ["no.json"]),
                             (["fit", "no.json"], ["no.json"])):
            with self.subTest(words=words):
                done = self.run_program(BENCH, *words)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                for part in parts:
                    self.assertIn(part, done.stderr)

    def test_a_fit_gives_back_what_was_measured(self):
        def measured(command, key, columns, rows):
            (self.work / f"{command}.json").write_text(json.dumps(
                {"tool": "torus-bench", "command": command,
                 "columns": [{"group": "", "name": n, "unit": u} for n, u in columns],
                 "rows": [{key: x, "figures": [{"median": y} for y in ys]} for x, *ys in rows]}))

        # Overheads of 2 us, latency 6 us less the header's time, 10 ns/B, of which 2 copies.
        sizes = [2 ** n for n in range(0, 13)]
        measured("latency", "bytes", [("median", "us")], [(n, 10 + 0.01 * n) for n in sizes])
        measured("bandwidth", "bytes", [("one way", "MB/s")],
                 [(n, n / max(2, 0.008 * n)) for n in sizes])
        measured("relay", "hops", [("half trip", "us")], [(h, 10 * h) for h in (1, 2, 3)])
        done = self.run_program(BENCH, "fit", "latency.json", "bandwidth.json", "relay.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = {k: v["value"] for k, v in json.loads(done.stdout).items() if isinstance(v, dict)}
        self.assertAlmostEqual(model["send_overhead"], 2000, delta=1)
        self.assertAlmostEqual(model["gap_per_byte"], 8, delta=0.01)
        self.assertAlmostEqual(model["latency"], 6000 - 106 * 8, delta=20)
        self.assertAlmostEqual(model["send_per_byte"] + model["receive_per_byte"], 2, delta=0.1)
        self.assertAlmostEqual(model["forward"], 4000, delta=50)
        (self.work / "machine.json").write_text(done.stdout)
        document, _ = self.predict("--torus", "4", "--model", "machine.json", "--operation",
                                   "latency", "--sizes", "8:8")
        self.assertAlmostEqual(document["rows"][0]["figures"][0]["median"], 10, delta=0.3)


class BadInput(Program):
    def refused(self, words, *parts):
        with self.subTest(words=words):
            self.assert_refused(self.run_program(BENCH, *words), *parts)
            self.assertEqual(list(self.work.iterdir()), [])

    def test_command_lines(self):
        self.refused([], "expected latency, bandwidth, sweep, aggregate, relay, overlap, "
                         "efficiency, collectives, steps, forward, simulate, predict, fit, plot or report")
        self.refused(["overlap", "--raw"], "--raw: overlap")
        self.refused(["collectives", "--operation", "shuffle"], "'shuffle'", "reduce_scatter")
        self.refused(["collectives", "--algorithm", "tree"], "'tree' is no algorithm of allreduce", "disjoint")
        self.refused(["collectives", "--sizes", "4:4"], "multiples of 8")
        self.refused(["steps", "--sizes", "4:4"], "multiples of 8")
        self.refused(["forward", "--raw"], "--raw: forward")
        self.refused(["latency", "--from", "1"], "--from: found latency", "forward")
        self.refused(["latency", "--algorithm", "tree"], "--algorithm: found latency")
        self.refused(["speed"], "'speed'")
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

    def test_one_rank_has_nobody_to_talk_to(self):
        for command, word in (("latency", "nobody"), ("aggregate", "no links")):
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
        self.assertIn("no message between two neighbours of rank 0 goes through it", done.stderr)

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
