# SPDX-License-Identifier: BSD-3-Clause
"""Runs torus-bench as users do, with tiny sizes, and checks the common features of its tables."""

import json
import sys
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import BUILD, Case

BENCH = BUILD / "bench/torus-bench"
TORUS_RUN = BUILD / "bin/torus-run"
QUICK = ("--seconds", "0.002")
SVG = "{http://www.w3.org/2000/svg}"


class Program(Case):
    drawn = set()   # the commands whose picture was checked: it takes longer to draw than to measure

    def measure(self, *words):
        """Returns the JSON document of a run that must succeed, after checks of the common features. Only the first
        run of each command draws a picture."""
        plot = [] if words[0] in self.drawn else ["--plot", "out.svg"]
        self.drawn.add(words[0])
        done = self.run_program(BENCH, *words, *QUICK, "--json", "out.json", *plot)
        self.assert_ok(done)
        self.assertEqual(done.stderr, "", "progress belongs on a terminal")
        document = json.loads((self.work / "out.json").read_text())
        # Tests run beside others, and torus-bench says so; class Busy looks at that.
        document["notes"] = [note for note in document["notes"] if not note.startswith("Other programs used ")]
        self.assertEqual(document["tool"], "torus-bench")
        self.assertEqual(document["command"], words[0])
        self.check_facts(document["ran_on"], done.stdout)
        self.check_figures(document)
        self.check_table(document, done.stdout)
        if plot:
            self.check_picture(document)
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["out.json", "out.svg"] if plot else ["out.json"])
        return document

    def check_links(self, document, ends):
        """Checks the bytes over links: each end is listed once, and both ends of a cable agree."""
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
                self.assertGreater(figure.get("calls", 1), 0)
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
        text = self.words_of("out.svg")
        for word in document["title"].split():
            self.assertIn(word, text)
        for column in document["columns"]:
            if column["draw"] != "no":
                self.assertIn(column["name"], text)
