# SPDX-License-Identifier: BSD-3-Clause
"""Runs torus-bench report as users do, with little time for each figure, and reads its output."""

import json
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import BUILD, SOURCE, Case, clean_environment, main, skip_without_testbeds

BENCH = BUILD / "bench/torus-bench"
TORUS_RUN = BUILD / "bin/torus-run"
TINY = ("report", "--torus", "2x2", "--seconds", "0.002")


class Reports(Case):
    def report(self, *words):
        done = self.run_program(BENCH, *TINY, *words)
        self.assert_ok(done)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def read(self, name="report.json"):
        return json.loads((self.work / name).read_text())

    def names(self, name="report.json"):
        return [part["name"] for part in self.read(name)["parts"]]


class Report(Reports):
    def test_a_page_and_all_samples(self):
        printed = self.report("--only", "latency*,sweep,aggregate,efficiency,wilson*")
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["report.html", "report.json"])
        document = self.read()
        self.assertIn("torus 2x2", document["machine"])
        for part in document["parts"]:
            self.assertEqual(part["failure"], "", part["name"])
            self.assertIn(part["name"], printed)
            for row in part["result"]["rows"]:
                self.assertTrue(all(f["samples"] for f in row["figures"]), part["name"])
        aggregate = next(p for p in document["parts"] if p["name"] == "aggregate")["result"]
        self.assertEqual(len(aggregate["link_rates"]), 4 * 4)
        page = (self.work / "report.html").read_text()
        for found in ("figure-latency", "signature", "map-aggregate", "figure-wilson",
                      "overlay-latency"):
            self.assertIn(f'<figure id="{found}">', page)
        self.assertNotIn("unfinished", page)

    def test_it_resumes_where_it_was_interrupted(self):
        self.report("--only", "latency")
        first = self.read()["parts"]
        printed = self.report("--only", "latency,overlap")
        self.assertIn("1 of 2 parts are in report.json already", printed)
        self.assertEqual(self.names(), ["latency", "overlap"])
        self.assertEqual(self.read()["parts"][0], first[0])
        self.report("--only", "latency", "--again")
        self.assertNotEqual(self.read()["parts"][0], first[0])

    def test_a_report_that_is_ended_keeps_its_figures(self):
        words = [str(BENCH), *TINY, "--only", "overlap,latency*,bandwidth*"]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 cwd=self.work, env=clean_environment())
        with child.stdout:
            self.assertRegex(child.stdout.readline(), r"^latency +[0-9.]+ s$")
            child.send_signal(signal.SIGTERM)
            child.stdout.read()
        self.assertEqual(child.wait(), 128 + signal.SIGTERM)
        done = self.names()
        self.assertEqual(done[0], "latency")
        before = self.read()["parts"][0]
        self.report("--only", "overlap,latency*,bandwidth*")
        self.assertEqual(self.read()["parts"][0], before)
        self.assertEqual(self.names(), ["latency", "bandwidth", "latency links", "bandwidth links",
                                        "overlap"])

    def test_the_reason_of_a_part_that_its_ranks_refuse(self):
        done = self.run_program(BENCH, *TINY, "--only", "latency", "--set", "transport.use=verbs",
                                "--set", "transport.local=links")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        failure = self.read()["parts"][0]["failure"]
        self.assertIn("transport.use is verbs", failure)
        self.assertNotIn("exited with code", failure)
        self.assertIn(failure, done.stdout)

    def test_changes_since_another_report(self):
        self.report("--only", "latency")
        old = self.read()
        for row in old["parts"][0]["result"]["rows"]:
            for figure in row["figures"]:
                # No machine is ever so slow, or so steady.
                figure["samples"] = [1e12] * 9
                figure["median"] = 1e12
        (self.work / "old.json").write_text(json.dumps(old))
        self.report("--only", "latency", "--compare", "old.json")
        page = (self.work / "report.html").read_text()
        self.assertIn('id="changes"', page)
        self.assertRegex(page, r"<td>latency</td><td>16 B: torusmp, median</td>.*faster")
        self.assertNotIn("slower</td>", page)
        self.assertIn("<!-- before: torusmp, median -->", page)
        self.assertIn("<!-- now: torusmp, median -->", page)


class Browser(Reports):
    def test_the_page_in_a_browser(self):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not chromium:
            self.skipTest("no chromium")
        self.report("--only", "latency*,aggregate,scatter")
        dom = subprocess.run(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={self.work}/browser", "--dump-dom",
             f"file://{self.work}/report.html"],
            capture_output=True, text=True, timeout=200,
            env=clean_environment() | {"HOME": str(self.work)}).stdout
        self.assertIn("torusmp: torus 2x2", re.search(r"<h1>(.*?)</h1>", dom)[1])
        self.assertGreaterEqual(len(re.findall(r"<svg ", dom)), 5)
        self.assertRegex(dom, r'<table class="words" id="summary">')
        for section in ("Latency", "All links at once", "Collectives", "Comparison with the papers"):
            self.assertRegex(dom, rf"<h2[^>]*>{section}</h2>")
        for column in ("50 %", "99 %", "99.9 %"):
            self.assertIn(f"<th>{column}<br>µs</th>", dom)
        self.assertIn("<td>18.5 µs</td>", dom)


class Testbeds(Reports):
    def setUp(self):
        skip_without_testbeds()
        super().setUp()

    def test_other_libraries_stand_beside_ours_on_the_same_links(self):
        done = self.run_program(SOURCE / "tests/testbed/torus-netns", "run", "2", "--open", "0", "--", BENCH, "report", "--only",
                                "broadcast and sum,peers", "--seconds", "0.002",
                                environment=clean_environment() | {"TMPDIR": str(self.work)})
        self.assert_ok(done)
        part = next(p for p in self.read()["parts"] if p["name"] == "peers")
        if not any(shutil.which(f"mpirun.{peer}") for peer in ("openmpi", "mpich")):
            self.assertIn("no other library found", part["failure"])
            return
        self.assertEqual(part["failure"], "")
        self.assertEqual(part["section"], "Other libraries over these links")
        rows = {row["measure"].split(",")[0]: row for row in part["result"]["rows"]}
        # A figure is missing if the mode of the machine changed during its run.
        medians = [rows[name]["figures"][0]["median"]
                   for name in ("here.latency.1", "here.pingpong.64KiB", "here.sum.8", "here.alltoall.64")]
        self.assertTrue(all(median is None or median > 0 for median in medians), medians)
        self.assertNotEqual(medians, [None] * 4)
        page = (self.work / "report.html").read_text()
        # One that is here and cannot run says so.
        self.assertRegex(page, r"<!-- sum, (Open MPI|MPICH) [0-9.]+(, median)? -->|failed, from here")


class BadInput(Reports):
    def test_unsupported_options(self):
        for words, parts in (
                (["report", "--only", "latenci"], ["--only latenci", "latency", "sweep"]),
                (["report", "--budget", "0"], ["--budget 0", "86400"]),
                (["report", "--output", "r.json"], ["r.json", "same file"]),
                (["report", "--output", "no/such/r.html"], ["no/such"]),
                (["report", "--sizes", "1:8"], ["--sizes", "--only"]),
                (["report", "--torus", "1"], ["at least two"]),
                (["report", "x.json"], ["x.json", "unexpected argument"]),
                (["latency", "--compare", "x.json"], ["--compare", "latency", "report"]),
                (["latency", "--budget", "5"], ["--budget", "latency", "report"])):
            with self.subTest(words=words):
                self.assert_refused(self.run_program(BENCH, *words), *parts)

    def test_files_of_another_kind(self):
        for name, text in (("empty", ""), ("other", '{"command": "latency"}'),
                           ("short", '{"command": "report", "machine": "x"}')):
            (self.work / f"{name}.json").write_text(text)
            for words in (["--compare", f"{name}.json"], ["--output", f"{name}.html"]):
                with self.subTest(words=words):
                    done = self.run_program(BENCH, *TINY, *words)
                    self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                    self.assertIn(f"{name}.json", done.stderr)
                    self.assertEqual((self.work / f"{name}.json").read_text(), text)

    def test_the_record_of_another_machine_is_kept(self):
        self.report("--only", "latency")
        before = (self.work / "report.json").read_text()
        done = self.run_program(BENCH, "report", "--torus", "2x3")
        self.assert_refused(done, "report.json", "2x2", "2x3", "--again")
        self.assertEqual((self.work / "report.json").read_text(), before)

    def test_under_a_launcher(self):
        done = self.run_program(TORUS_RUN, "-np", "1", BENCH, "report")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("started by a launcher", done.stderr)


if __name__ == "__main__":
    main()
