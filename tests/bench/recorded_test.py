# SPDX-License-Identifier: BSD-3-Clause
"""README and docs show the figures of the recorded run, which bench/record-figures writes."""

import importlib.machinery
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import BUILD, SOURCE, Case, clean_environment, main, skip_without_testbeds

SCRIPT = SOURCE / "bench/record-figures"
PAGES = ("README.md", "docs/benchmarks.md", "docs/clusters.md", "docs/mpi.md", "docs/papers.md")
DATA = "docs/data/figures.json"


def script():
    """Imports record-figures as a module, with its imports."""
    loader = importlib.machinery.SourceFileLoader("record_figures", str(SCRIPT))
    found = importlib.util.module_from_spec(importlib.util.spec_from_loader("record_figures", loader))
    loader.exec_module(found)
    return found


class Recorded(Case):
    def record(self, *words):
        return self.run_program(SCRIPT, "--build-dir", BUILD, *words)

    def copy(self):
        """Copies of the pages and of the file, for changes."""
        root = self.work / "root"
        for name in (*PAGES, DATA):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, root / name)
        return root


class Pages(Recorded):
    def test_readme_and_docs_show_the_recorded_figures(self):
        done = self.record("--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_part_names_its_source(self):
        for name, part in json.loads((SOURCE / DATA).read_text())["parts"].items():
            with self.subTest(part=name):
                for key in ("command", "version"):
                    self.assertTrue(part[key])
                for key in ("cpu", "cores", "system", "date", "load"):
                    self.assertIn(key, part["host"])
                self.assertNotIn(str(SOURCE), part["command"])

    def test_a_page_that_was_changed_is_found_and_mended(self):
        root = self.copy()
        page = root / "README.md"
        before = page.read_text()
        line = next(l for l in before.splitlines() if l.startswith("| halo of six"))
        page.write_text(before.replace(line, line[:-2] + "0 |"))
        done = self.record("--check", "--root", root)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        at = before.splitlines().index(line) + 1
        self.assertIn(f"README.md:{at}: found '", done.stderr)
        self.assertIn(f"found '{line[:-2]}0 |', recorded is '{line}'", done.stderr)
        self.assert_ok(self.record("--pages", "--root", root))
        self.assertEqual(page.read_text(), before)

    def test_a_record_that_was_changed_is_found(self):
        root = self.copy()
        record = json.loads((root / DATA).read_text())
        measure = next(m for m in record["parts"]["readme"]["result"]["measures"] if m["name"] == "shm.latency.8")
        measure["median"]["ours"] *= 2
        (root / DATA).write_text(json.dumps(record))
        done = self.record("--check", "--root", root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("README.md:", done.stderr)

    def test_a_page_without_a_table_or_its_end(self):
        for old, new, said in (("<!-- recorded start -->", "<!-- recorded begin -->", "unknown table 'begin'"),
                               ("<!-- end of recorded -->", "", "expected pairs of lines")):
            with self.subTest(said=said):
                root = self.copy()
                page = root / "README.md"
                page.write_text(page.read_text().replace(old, new))
                done = self.record("--check", "--root", root)
                self.assertEqual(done.returncode, 1)
                self.assertIn("README.md", done.stderr)
                self.assertIn(said, done.stderr)


    def test_figures_that_were_not_recorded_are_found(self):
        root = self.copy()
        page = root / "docs/mpi.md"
        row = "| latency 8 B | 0.38 µs | 0.24 µs |"
        page.write_text(page.read_text() + row + "\n\n# Measured by hand\n\n" + row + "\n")
        done = self.record("--check", "--root", root)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count(row), 1)
        self.assertIn("Measured by hand", done.stderr)


class Quiet(Recorded):
    """Figures that scatter, or come from a busy machine, are not recorded."""

    def setUp(self):
        super().setUp()
        self.script = script()

    def test_beside_other_programs_nothing_is_measured_or_recorded(self):
        root = self.copy()
        before = (root / DATA).read_bytes()
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            done = self.record("--root", root, "--parts", "8x8")
        finally:
            other.kill()
            other.wait()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^record-figures: other programs use \d\.\d processors: nothing is recorded ")
        self.assertEqual((root / DATA).read_bytes(), before)

    def test_the_scatter_of_samples(self):
        quiet = self.script.quiet
        self.assertIsNone(quiet.scatter_of([1, 9]))
        self.assertAlmostEqual(quiet.scatter_of([8, 9, 10, 11, 12]), 0.2)
        self.assertFalse(quiet.scatters([8, 9, 10, 11, 12]))
        self.assertTrue(quiet.scatters([5, 7, 10, 13, 15]))
        self.assertFalse(quiet.scatters([10, 10, 10, 10, 90]), "one outlier is not scatter")

    def test_its_own_processes_do_not_count_as_other_programs(self):
        own = self.script.quiet.own_seconds()
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
        self.assertGreaterEqual(self.script.quiet.own_seconds() - own, 0.45)

    def test_daemons_that_a_launcher_leaves_behind_do_not_count_as_other_programs(self):
        busy = [sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"]
        leave = f"import subprocess\nsubprocess.Popen({busy!r})"
        measure = (f"import sys, subprocess\nsys.path.insert(0, {str(SOURCE / 'bench/peers')!r})\nimport quiet\n"
                   f"beside = quiet.Beside()\nsubprocess.run([sys.executable, '-c', {leave!r}])\n"
                   "beside.processors()\nprint(quiet.own_seconds() - beside.own)")
        done = subprocess.run([sys.executable, "-c", measure], stdout=subprocess.PIPE, text=True, check=True)
        self.assertGreaterEqual(float(done.stdout), 0.45)

    def measured(self, samples, beside=0.0):
        return {"beside": beside, "result": {"measures": [
            {"name": "shm.latency.8", "samples": {"ours": samples, "mpich": [1, 5, 9]}}]}}

    def test_why_a_part_is_not_recorded(self):
        why = self.script.why_unquiet
        self.assertIsNone(why(self.measured([10, 10, 11])), "other libraries may scatter: their figures are marked")
        self.assertIn("other programs used 0.5 processors", why(self.measured([10, 10, 11], 0.5)))
        self.assertIn("the samples scatter of shm.latency.8", why(self.measured([5, 10, 15])))
        table = {"key": "bytes", "columns": [{"group": "torusmp", "name": "half trip"},
                                             {"group": "bare socket", "name": "half trip"}],
                 "rows": [{"bytes": 8, "figures": [{"samples": [5, 10, 15]}, {"samples": [1, 5, 9]}]}]}
        self.assertIn("half trip at 8", why({"beside": 0, "result": table}))
        table["rows"][0]["figures"][0]["samples"] = [10, 10, 10]
        self.assertIsNone(why({"beside": 0, "result": table}))

    def test_a_part_of_which_torusmp_failed_is_not_recorded(self):
        self.script.run_once = lambda *_: self.measured([10]) | {"result": {"measures": [], "failures": [
            {"measure": "shm.latency.8", "library": "ours", "message": "exit code 127: torus-run"},
            {"measure": "shm.latency.8", "library": "mpich", "message": "exit code 1: mpirun"}]}}
        with self.assertRaisesRegex(self.script.Problem, "not recorded: programs of torusmp failed .1., the first with exit code 127: torus-run"):
            self.script.run_part(self.script.PARTS[0], None, "")

    def test_a_part_that_is_not_quiet_is_tried_again(self):
        class Arguments:
            unquiet = False
        part, tries = self.script.PARTS[0], []

        def run_once(*_):
            tries.append(self.measured([5, 10, 15] if len(tries) < 2 else [10, 10, 11]))
            return tries[-1]
        self.script.run_once = run_once
        self.assertIs(self.script.run_part(part, Arguments, ""), tries[2])
        self.script.run_once = lambda *_: tries.append(0) or self.measured([5, 10, 15])
        tries.clear()
        with self.assertRaisesRegex(self.script.Problem, "not recorded: the samples scatter"):
            self.script.run_part(part, Arguments, "")
        self.assertEqual(len(tries), self.script.TRIES)
        Arguments.unquiet = True
        self.assertIn("scatter", self.script.run_part(part, Arguments, "")["unquiet"])

    def with_readme_part(self, samples=(9000, 10000, 11000), libraries=None):
        """A copy whose record has the part of README's table and picture."""
        root = self.copy()
        record = json.loads((root / DATA).read_text())
        blocks = self.script.blocks
        libraries = libraries or blocks.BOTH
        names = dict.fromkeys(name for _, name in (*blocks.START, *blocks.PICTURE))
        host = record["parts"]["host"]
        record["parts"]["readme"] = host | {"beside": 0.02, "result": host["result"] | {"measures": [
            {"name": name, "unit": "MB/s" if "pingpong" in name or "stream" in name else "us",
             "median": {library: sorted(samples)[1] for library in libraries}, "ratio": 1.0,
             "samples": {library: list(samples) for library in libraries}} for name in names]}}
        (root / DATA).write_text(json.dumps(record))
        return root

    def test_table_and_picture_are_of_the_same_samples(self):
        root = self.with_readme_part()
        self.assert_ok(self.record("--pages", "--root", root))
        readme = (root / "README.md").read_text()
        self.assertIn("| ping-pong 4 MiB, memory of `malloc` | 10.0 GB/s |", readme)
        self.assertIn("| over a link by TCP: stream of 1 MiB | 10.0 GB/s |", readme)
        self.assertIn("(docs/bandwidth.svg)", readme)
        self.assertIn("0.02 cores used by others", readme)
        self.assertIn("torusmp, memory of malloc", self.words_of(root / "docs/bandwidth.svg"))
        self.assert_ok(self.record("--check", "--root", root))
        record = self.script.Record(root / DATA)
        drawn = self.script.blocks.picture_of(record)["table"]
        at = {row["bytes"]: row["figures"][0]["median"] for row in drawn["rows"]}
        self.assertEqual(at[4 << 20], 10000)
        self.assertEqual(list(at), [1024 << k for k in range(13)])

    def test_peers_of_pypi_have_columns_where_they_were_measured(self):
        for libraries in (self.script.blocks.BOTH, self.script.blocks.ALL):
            root = self.with_readme_part(libraries=libraries)
            self.assert_ok(self.record("--pages", "--root", root))
            heading = next(l for l in (root / "README.md").read_text().splitlines() if l.startswith("| on one machine"))
            self.assertEqual(heading.count("|"), 2 + len(libraries), heading)
            self.assertEqual("Intel MPI" in heading, "intel" in libraries)

    def test_a_picture_of_other_samples_is_found(self):
        root = self.with_readme_part()
        self.assert_ok(self.record("--pages", "--root", root))
        record = json.loads((root / DATA).read_text())
        record["parts"]["readme"]["host"]["date"] = "2031-01-02T03:04:05"
        (root / DATA).write_text(json.dumps(record))
        done = self.record("--check", "--root", root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("docs/bandwidth.svg: it is not drawn from the recorded samples", done.stderr)
        del record["parts"]["readme"]
        (root / DATA).write_text(json.dumps(record))
        self.assertIn("no samples of it are recorded", self.record("--check", "--root", root).stderr)

    def test_a_figure_that_scatters_is_marked_in_its_table(self):
        root = self.with_readme_part((5000, 10000, 15000))
        self.assert_ok(self.record("--pages", "--root", root))
        readme = (root / "README.md").read_text()
        self.assertIn("| ping-pong 4 MiB, memory of `malloc` | 10.0 GB/s ~ |", readme)
        self.assertIn("~: the quartiles of its samples", readme)


class Testbeds(Recorded):
    def setUp(self):
        skip_without_testbeds()
        super().setUp()
        # A separate state folder, so that other testbeds are not in the list.
        self.environment = clean_environment() | {"TORUS_NETNS_STATE": str(self.work / "state")}

    def testbeds(self):
        done = self.run_program(SOURCE / "tests/testbed/torus-netns", "list", environment=self.environment)
        return [line.split()[0] for line in done.stdout.splitlines()]

    def namespaces(self, testbed):
        names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.split()
        return [name for name in names if name.startswith(f"{testbed}-")]

    def test_it_leaves_no_testbed_where_it_is_ended(self):
        for part in ("steps", "links"):  # torus-bench, and compare-peers
            with self.subTest(part=part):
                root = self.copy()
                child = subprocess.Popen([SCRIPT, "--build-dir", BUILD, "--root", root, "--parts", part,
                                          "--seconds", "600", "--unquiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True, env=self.environment)
                deadline = time.monotonic() + 120
                while not (there := self.testbeds()) and time.monotonic() < deadline:
                    time.sleep(0.5)     # a list takes a tenth of a second of a core
                child.send_signal(signal.SIGTERM)
                _, err = child.communicate(timeout=150)
                self.assertEqual(child.returncode, 128 + signal.SIGTERM, err)
                self.assertIn("interrupted", err)
                self.assertEqual(len(there), 1)
                self.assertEqual((self.testbeds(), self.namespaces(there[0])), ([], []))


class Measures(Recorded):
    def test_a_part_is_measured_recorded_and_written(self):
        root = self.copy()
        before = json.loads((root / DATA).read_text())["parts"]
        # A test cannot ask for a quiet machine.
        done = self.record("--root", root, "--parts", "loopback,8x8", "--seconds", "0.002", "--unquiet")
        self.assert_ok(done)
        after = json.loads((root / DATA).read_text())["parts"]
        self.assertEqual(after["host"], before["host"])
        for name in ("loopback", "8x8"):
            self.assertIn(name, done.stdout)
            self.assertNotEqual(after[name]["host"]["date"], before[name]["host"]["date"])
            self.assertTrue(after[name]["result"]["rows"])
            self.assertGreaterEqual(after[name]["beside"], 0)
        self.assert_ok(self.record("--check", "--root", root))

    def test_a_part_that_cannot_be_run_is_left_out(self):
        root = self.copy()
        done = self.record("--root", root, "--parts", "npb", "--unquiet")
        self.assert_ok(done)
        self.assertIn("omitted: --npb is not given", done.stdout)

    def test_unsupported_options(self):
        self.assert_refused(self.record("--parts", "speed"), "'speed'", "host")
        done = self.run_program(SCRIPT, "--build-dir", self.work, "--root", self.copy())
        self.assertEqual(done.returncode, 1)
        self.assertIn("torus-bench does not exist", done.stderr)
        root = self.copy()
        (root / DATA).write_text("{}")
        done = self.record("--check", "--root", root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("figures.json", done.stderr)


if __name__ == "__main__":
    main()
