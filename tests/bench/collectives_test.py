# SPDX-License-Identifier: BSD-3-Clause
"""The figures of torus-bench for collectives, alone and beside other libraries."""

import json
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from bench_program import BENCH, QUICK, Program
from program import main


class Collectives(Program):
    def test_the_papers_broadcast_and_sum(self):
        document = self.measure("collectives", "--torus", "2x2", "--sizes", "8:32KiB", "--step",
                                "64")
        self.assertEqual([(c["group"], c["name"]) for c in document["columns"]],
                         [("broadcast", "automatic"), ("sum", "automatic")])
        self.assertEqual([r["bytes"] for r in document["rows"]], [8, 512, 32768])
        self.assertIn("4 ranks (2x2)", document["title"])
        for row in document["rows"]:
            for figure in row["figures"]:
                self.assertIsInstance(figure["calls"], int)

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


    def test_bandwidths_as_in_nccl_tests(self):
        factors = {"broadcast": (1, 1), "sum": (1, 4 / 3), "reduce": (1, 1), "allgather": (3, 2 / 3),
                   "alltoall": (3, 2 / 3)}      # of 3 ranks: blocks, and busbw to algbw
        document = self.measure("collectives", "--operation", ",".join([*factors, "barrier"]), "--torus", "3",
                                "--sizes", "3072:3072", "--busbw", "--algorithm", "automatic")
        columns = [(c["group"], c["name"], c["unit"]) for c in document["columns"]]
        self.assertEqual(columns, [(name, *column) for name in factors for column in
                                   (("automatic", "us"), ("algbw", "GB/s"), ("busbw", "GB/s"))]
                         + [("barrier", "automatic", "us")])
        medians = [f["median"] for f in document["rows"][0]["figures"]]
        for i, (name, (blocks, factor)) in enumerate(factors.items()):
            time, algbw, busbw = medians[3 * i:3 * i + 3]
            self.assertAlmostEqual(algbw / (blocks * 3072 / time / 1e3), 1, delta=1e-3, msg=name)
            self.assertAlmostEqual(busbw / algbw, factor, delta=1e-3, msg=name)
        self.assert_refused(self.run_program(BENCH, "latency", "--busbw"), "--busbw", "latency", "collectives")


class Beside(Program):
    """The figures of other libraries, from files in the format of compare-peers."""

    def peers(self, links=False, ranks=4, name="peers.json"):
        measures = [{"name": f"here.sum.{bytes}", "unit": "us", "program": "collectives", "test": f"sum:{bytes}",
                     "ranks": ranks, "links": links, "more_is_better": False,
                     "samples": {"ours": [1, 1, 1], "openmpi": [1e6, 2e6, 3e6], "mpich": [9e6]}}
                    for bytes in (8, 64)]
        (self.work / name).write_text(json.dumps({"libraries": {"openmpi": "Open MPI v4.1.4"},
                                                  "measures": measures, "failures": []}))

    def collectives(self, *words, peers="peers.json"):
        done = self.run_program(BENCH, "collectives", "--torus", "2x2", "--sizes", "8:8", *QUICK, "--peers",
                                peers, "--json", "out.json", "--plot", "out.svg", *words)
        self.assert_ok(done)
        return json.loads((self.work / "out.json").read_text()), done.stdout

    def test_other_libraries_are_in_the_table_and_in_the_picture(self):
        self.peers()
        document, printed = self.collectives()
        self.assertEqual([(c["group"], c["name"]) for c in document["columns"]],
                         [("broadcast", "automatic"), ("sum", "automatic"), ("sum", "Open MPI 4.1.4"),
                          ("sum", "mpich"), ("sum", "to best")])
        self.assertEqual([r["bytes"] for r in document["rows"]], [8, 64])
        figures = document["rows"][0]["figures"]
        self.assertEqual([f["median"] for f in figures[2:4]], [2e6, 9e6])
        self.assertAlmostEqual(figures[4]["median"], figures[1]["median"] / 2e6, delta=1e-9)
        self.assertIn("Open MPI 4.1.4", printed)
        self.assertIn("sum, Open MPI 4.1.4", self.words_of("out.svg"))

    def test_figures_of_links_are_for_links(self):
        self.peers(links=True)
        document, printed = self.collectives()
        self.assertEqual(len(document["columns"]), 2)
        self.assertIn("peers.json contains no comparable figures of other libraries for 4 ranks on one host",
                      printed)
        document, _ = self.collectives("--set", "transport.local=links")
        self.assertEqual(len(document["columns"]), 5)

    def test_unsupported_options(self):
        self.assert_refused(self.run_program(BENCH, "sweep", "--peers", "x.json"), "--peers", "sweep", "collectives")
        (self.work / "none.json").write_text("{}")
        for name in ("none.json", "absent.json"):
            done = self.run_program(BENCH, "collectives", "--torus", "2", "--peers", name)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(name, done.stderr)


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

    def test_one_rank_has_no_partner(self):
        done = self.run_program(BENCH, "steps", "-np", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no partner", done.stderr)


if __name__ == "__main__":
    main()
