# SPDX-License-Identifier: BSD-3-Clause
"""README and docs say what the recorded run found, and bench/record-figures makes both."""

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


class Recorded(Case):
    def record(self, *words):
        return self.run_program(SCRIPT, "--build-dir", BUILD, *words)

    def copy(self):
        """The pages and the file, to be changed."""
        root = self.work / "root"
        for name in (*PAGES, DATA):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, root / name)
        return root


class Pages(Recorded):
    def test_readme_and_docs_say_what_is_recorded(self):
        done = self.record("--check")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_every_part_says_where_it_comes_from(self):
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
        line = next(l for l in before.splitlines() if l.startswith("| ping-pong 4 MiB"))
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
        measure = next(m for m in record["parts"]["host"]["result"]["measures"] if m["name"] == "shm.latency.8")
        measure["median"]["ours"] *= 2
        (root / DATA).write_text(json.dumps(record))
        done = self.record("--check", "--root", root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("README.md:", done.stderr)

    def test_a_page_without_a_table_or_its_end(self):
        for old, new, said in (("<!-- recorded start -->", "<!-- recorded begin -->", "no table 'begin'"),
                               ("<!-- end of recorded -->", "", "expected pairs of lines")):
            with self.subTest(said=said):
                root = self.copy()
                page = root / "README.md"
                page.write_text(page.read_text().replace(old, new))
                done = self.record("--check", "--root", root)
                self.assertEqual(done.returncode, 1)
                self.assertIn("README.md", done.stderr)
                self.assertIn(said, done.stderr)


    def test_figures_that_nobody_recorded_are_found(self):
        root = self.copy()
        page = root / "docs/mpi.md"
        row = "| latency 8 B | 0.38 µs | 0.24 µs |"
        page.write_text(page.read_text() + row + "\n\n# Measured by hand\n\n" + row + "\n")
        done = self.record("--check", "--root", root)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count(row), 1)
        self.assertIn("Measured by hand", done.stderr)


class Testbeds(Recorded):
    def setUp(self):
        skip_without_testbeds()
        super().setUp()
        # Of our own, so that others' testbeds are not in the list.
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
                                          "--seconds", "600"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True, env=self.environment)
                deadline = time.monotonic() + 120
                while not (there := self.testbeds()) and time.monotonic() < deadline:
                    time.sleep(0.05)
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
        done = self.record("--root", root, "--parts", "loopback,8x8,picture", "--seconds", "0.002")
        self.assert_ok(done)
        after = json.loads((root / DATA).read_text())["parts"]
        self.assertEqual(after["host"], before["host"])
        for name in ("loopback", "picture", "8x8"):
            self.assertIn(name, done.stdout)
            self.assertNotEqual(after[name]["host"]["date"], before[name]["host"]["date"])
            self.assertTrue(after[name]["result"]["rows"])
        self.assertIn("Bandwidth between ranks 0 and 1", (root / "docs/bandwidth.svg").read_text())
        self.assert_ok(self.record("--check", "--root", root))

    def test_a_part_that_cannot_be_run_is_left_out(self):
        root = self.copy()
        done = self.record("--root", root, "--parts", "npb")
        self.assert_ok(done)
        self.assertIn("left out: there is no --npb", done.stdout)

    def test_what_it_cannot_do(self):
        self.assert_refused(self.record("--parts", "speed"), "'speed'", "host")
        done = self.run_program(SCRIPT, "--build-dir", self.work, "--root", self.copy())
        self.assertEqual(done.returncode, 1)
        self.assertIn("torus-bench is not there", done.stderr)
        root = self.copy()
        (root / DATA).write_text("{}")
        done = self.record("--check", "--root", root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("figures.json", done.stderr)


if __name__ == "__main__":
    main()
