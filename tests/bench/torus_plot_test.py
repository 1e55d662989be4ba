# SPDX-License-Identifier: BSD-3-Clause
"""torus-plot: nothing is cut off, curves are distinguished, units are whole, and a missing library is named."""

import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import SOURCE, Case, clean_environment, main

SCRIPT = SOURCE / "bench/plot/torus-plot"


def module():
    """Imports the script, to inspect its drawings. Debian's python3, which has matplotlib, runs it."""
    loader = importlib.machinery.SourceFileLoader("torus_plot", str(SCRIPT))
    found = importlib.util.module_from_spec(importlib.util.spec_from_loader("torus_plot", loader))
    loader.exec_module(found)
    return found


def table(columns, rows, key="bytes", **more):
    """Rows: (x, [value or None of each column])."""
    return {"title": "Bandwidth between ranks 0 and 1 of a job with a title that is far too long for one line of it",
            "key": key, "x_label": "", "y_label": "bandwidth, MB/s", "linear": False, "levels": [], "link_rates": [],
            "columns": [{"group": group, "name": name, "unit": unit, "draw": draw, "colour": colour, "count": False}
                        for group, name, unit, draw, colour in columns],
            "rows": [{key: x, "x": x if isinstance(x, int) else 0, "beside": False,
                      "figures": [{"median": v, "best": v, "samples": [] if v is None else [0.9 * v, v, 1.1 * v]}
                                  for v in values]} for x, values in rows], **more}


MANY = table([("broadcast", "a rather long name of an algorithm", "us", "line", 0), ("sum", "torusmp", "us", "line", 1),
              *((f"sum", f"library {i} with a long name 1.2.3", "us", "dashes", 1 + 7 * i) for i in (1, 2, 3)),
              ("broadcast", "bare socket", "us", "dashes", 0), ("", "rate", "MB/s", "line", 2)],
             [(1 << k, [2.0 ** k, 3 * 2.0 ** k, 5.0 * 2 ** k, 7.0 * 2 ** k, 9.0 * 2 ** k, None if k == 3 else 4.0 * 2 ** k,
                        1e4 * k]) for k in range(3, 21)])
DOTS = table([("", name, "", "points", i) for i, name in enumerate(("Open MPI 4.1.4", "MPICH 4.0.2", "bare sockets"))],
             [(f"collectives.broadcast.{k}MiB.tcp, µs", [0.1 * k, 0.01 * k, None]) for k in range(1, 30)], key="measure",
             levels=[{"name": "equal", "unit": "", "value": 1, "colour": 6}])
MAP = table([], [], link_rates=[{"receiver": rank, "sender": 0, "direction": f"{d}{way}", "rate": 10 if rank == 4 else 20}
                                for rank in range(18) for d in range(3) for way in "+-"])


class Drawings(Case):
    def setUp(self):
        super().setUp()
        self.plot = module()

    def figures(self):
        subtitle = "a processor with a name that goes on and on, 2 cores, Linux 6.18.44; 8 ranks 2x2x2; on some day in autumn"
        yield "many", self.plot.draw_curves(MANY, subtitle)
        yield "linear", self.plot.draw_curves(dict(MANY, linear=True, key="hops"), subtitle)
        yield "nothing", self.plot.draw_curves(dict(MANY, rows=[]), subtitle)
        yield "dots", self.plot.draw_dots(DOTS, subtitle)
        yield "map", self.plot.draw_map(MAP, subtitle, {"extents": [3, 3, 2], "periodic": [True] * 3})

    def test_no_text_is_outside_the_picture_or_over_curves(self):
        for name, figure in self.figures():
            with self.subTest(picture=name):
                figure.draw_without_rendering()
                renderer = figure._get_renderer()
                whole = figure.get_tightbbox(renderer, bbox_extra_artists=self.plot.shown(figure))
                whole = whole.transformed(figure.dpi_scale_trans)
                ticks = [tick.label1 for axes in figure.axes if axes.axison for axis in (axes.xaxis, axes.yaxis)
                         for tick in axis._update_ticks()]
                for text in ticks + self.plot.shown(figure):
                    box = text.get_window_extent(renderer)
                    if not isinstance(text, self.plot.matplotlib.text.Text) or not text.get_text() or not box.width:
                        continue
                    self.assertGreaterEqual(box.x0, whole.x0 - 1, text.get_text())
                    self.assertLessEqual(box.x1, whole.x1 + 1, text.get_text())
                for axes in figure.axes:
                    if axes.get_legend():
                        legend = axes.get_legend().get_window_extent(renderer)
                        self.assertLessEqual(legend.y1, axes.get_window_extent(renderer).y0, "the legend is on curves")
                # No empty margins: they make the rest smaller.
                self.assertLess(whole.width, 1.1 * self.plot.WIDTH * figure.dpi)
                # 400 pixels wide, the least type is still 6 pixels high; labels of axes are 9.
                self.assertGreaterEqual(400 * 9 / whole.width * figure.dpi / 72, 6)

    def test_no_two_curves_share_colour_and_dash(self):
        styles = [(s["color"], s["linestyle"]) for s in (c.style() for c in self.plot.curves_of(MANY))]
        self.assertEqual(len(styles), 7)
        self.assertEqual(len(set(styles)), len(styles))

    def test_each_panel_has_one_unit(self):
        figure = self.plot.draw_curves(MANY, "")
        self.assertEqual([axes.get_ylabel() for axes in figure.axes], ["ms", "GB/s"])
        self.assertEqual([axes.get_xlabel() for axes in figure.axes], ["message size"] * 2)
        alone = dict(MANY, columns=MANY["columns"][:1], y_label="time of a call, us",
                     rows=[dict(row, figures=row["figures"][:1]) for row in MANY["rows"][:8]])
        self.assertEqual(self.plot.draw_curves(alone, "").axes[0].get_ylabel(), "time of a call, µs")

    def test_values_are_where_they_belong(self):
        axes = self.plot.draw_curves(MANY, "").axes[0]
        line = axes.get_lines()[0]
        self.assertEqual(list(line.get_xdata()), [row["x"] for row in MANY["rows"]])
        for found, row in zip(line.get_ydata(), MANY["rows"]):
            self.assertAlmostEqual(found, row["figures"][0]["median"] / 1e3)

    def test_a_slow_link_is_distinguished(self):
        figure = self.plot.draw_map(MAP, "", {"extents": [3, 3, 2], "periodic": [True] * 3})
        links = [line for line in figure.axes[0].get_lines() if str(line.get_gid()).startswith("link ")]
        self.assertEqual(len(links), 18 * 6)
        slow = [line for line in links if line.get_linestyle() != "-"]
        self.assertEqual({line.get_gid().split()[-1] for line in slow}, {"4"})
        self.assertEqual(len(slow), 6)


class Program(Case):
    def plot(self, *names, **environment):
        job = [{"file": str(self.work / name), "subtitle": "here", "map": None, "table": MANY} for name in names]
        (self.work / "job.json").write_text(json.dumps(job))
        return subprocess.run([sys.executable, SCRIPT, self.work / "job.json"], capture_output=True, text=True,
                              env=clean_environment() | environment, cwd=self.work)

    def test_the_file_name_extension_selects_the_format(self):
        self.assert_ok(self.plot("a.svg", "a.png"))
        self.assertEqual((self.work / "a.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        first = (self.work / "a.svg").read_text()
        self.assertIn("<!-- sum, torusmp -->", first)
        self.assert_ok(self.plot("a.svg"))
        self.assertEqual(first, (self.work / "a.svg").read_text(), "a picture of the same figures is the same")
        done = self.plot("a.gif")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gif", done.stderr)
        self.assertEqual(sorted(p.name for p in self.work.iterdir()), ["a.png", "a.svg", "job.json"])

    def test_without_matplotlib_it_names_the_package(self):
        (self.work / "matplotlib.py").write_text("raise ImportError('No module named matplotlib')\n")
        done = self.plot("a.svg", PYTHONPATH=str(self.work), TORUS_PLOT_AGAIN="1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("Install the Debian package python3-matplotlib", done.stderr)


if __name__ == "__main__":
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        if sys.executable != "/usr/bin/python3":
            os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
        print("skipped: python3-matplotlib is missing")
        sys.exit(77)
    main()
