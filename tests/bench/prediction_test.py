# SPDX-License-Identifier: BSD-3-Clause
"""The figures that torus-bench computes without a measurement: counted steps and simulated time."""

import json
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True  # the source tree stays as it is
from bench_program import BENCH, SVG, Program
from program import Case, main


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

    def test_unsupported_options(self):
        for words, parts in ((["--torus", "2x2", "--from", "4"], ["--from 4", "from 0 to 3"]),
                             (["-np", "4"], ["--np", "starts no ranks"]),
                             (["--torus", "64x64x64"], ["262144", "65536"]),
                             (["--json", "no/such/folder.json"], ["no/such"])):
            with self.subTest(words=words):
                self.assert_refused(self.run_program(BENCH, "simulate", *words), *parts)


class Predict(Case):
    """Simulated time, and models fitted to measurements."""

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
        done = self.run_program(BENCH, "plot", "out.json", "--plot", "wilson.svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("lattice along each dimension", self.words_of("wilson.svg"))

    def test_pictures_and_tables(self):
        words = ["predict", "--torus", "2x2", "--model", "ethernet", "--sizes", "8:512"]
        done = self.run_program(BENCH, *words, "--plot", "a.svg", "--csv", "a.csv", "--json",
                                "a.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program(BENCH, "plot", "a.json", "--plot", "b.svg", "--csv", "b.csv")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.work / "a.csv").read_text(), (self.work / "b.csv").read_text())
        root = xml.fromstring((self.work / "b.svg").read_text())
        self.assertEqual(root.tag, SVG + "svg")

    def test_schedules_are_replayed_where_no_core_of_each_rank_fits(self):
        document, table = self.predict("--torus", "32x32x32", "--model", "gige-mvia", "--sizes", "8:8")
        self.assertEqual([c["group"] for c in document["columns"]], ["broadcast"] * 3 + ["sum"] * 3)
        # 48 links to the farthest rank.
        self.assertGreater(document["rows"][0]["figures"][0]["median"], 48 * 12.5)
        self.assertIn("replayed", table)

    def test_models(self):
        done = self.run_program(BENCH, "predict", "--model", "list")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("gige-mvia", "25gbe-tcp", "ethernet"):
            self.assertIn(name, done.stdout)

    def test_unsupported_options(self):
        for words, parts in ((["predict", "--torus", "2x2"], ["--model"]),
                             (["predict", "--model", "gige-mvia"], ["--torus"]),
                             (["predict", "--torus", "32x32x32", "--model", "ethernet", "--operation",
                               "halo"], ["halo", "32768", "4096"]),
                             (["predict", "--torus", "64x64x64", "--model", "ethernet"],
                              ["262144", "65536"]),
                             (["predict", "--torus", "2", "--model", "ethernet", "--operation",
                               "scan"], ["scan", "alltoall"]),
                             (["fit"], ["files"]),
                             (["plot", "no.json"], ["--plot"])):
            with self.subTest(words=words):
                self.assert_refused(self.run_program(BENCH, *words), *parts)

    def test_files_of_another_kind(self):
        for words, parts in ((["predict", "--torus", "2x2", "--model", "none"],
                              ["none", "gige-mvia"]),
                             (["plot", "no.json", "--plot", "x.svg"], ["no.json"]),
                             (["fit", "no.json"], ["no.json"])):
            with self.subTest(words=words):
                done = self.run_program(BENCH, *words)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                for part in parts:
                    self.assertIn(part, done.stderr)

    def test_a_fit_returns_the_measured_values(self):
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


if __name__ == "__main__":
    main()
