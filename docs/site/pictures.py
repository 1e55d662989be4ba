#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the pictures of docs/monitoring.md from a job that runs: torus-top's screen, and its page in light and dark.

    docs/site/pictures.py BUILD      BUILD as build/release, with torus-bench in it

Needs tmux and chromium."""
import html
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
COLUMNS, LINES = 112, 22
WIDE, HIGH = 8.0, 17  # of a character
COLOURS = {34: "blue", 36: "cyan", 33: "yellow", 35: "magenta"}
STYLE = """text { font: 13px monospace; fill: #1b1f24; white-space: pre } rect { fill: #f6f7f9 }
.blue { fill: #0059b3 } .cyan { fill: #00788c } .yellow { fill: #8a5a00 } .magenta { fill: #a8188c }
.bold, .head { font-weight: bold } .dim { fill: #667080 } rect.bar { fill: #d7dbe2 }
@media (prefers-color-scheme: dark) {
text { fill: #e8eaed } rect { fill: #14171c } rect.bar { fill: #343a44 } .dim { fill: #9aa3af }
.blue { fill: #6cb2ff } .cyan { fill: #5fd3e6 } .yellow { fill: #f0b429 } .magenta { fill: #ff7adf } }"""


def cells(line, style):
    """Pieces of a line: column, text, classes; and the style with which the next line begins."""
    at = 0
    for codes, text in re.findall(r"\x1b\[([\d;]*)m|([^\x1b]+)", line):
        if text:
            yield at, text, style.copy()
            at += len(text)
            continue
        for code in map(int, filter(None, codes.split(";") if codes else ["0"])):
            if code == 0:
                style.clear()
            elif code in COLOURS:
                style["colour"] = COLOURS[code]
            elif code == 39:
                style.pop("colour", None)
            elif code in (1, 2, 7):
                style[{1: "bold", 2: "dim", 7: "bar"}[code]] = True


def to_svg(screen):
    lines = screen.rstrip().split("\n")
    width, height = round(COLUMNS * WIDE) + 16, len(lines) * HIGH + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
           f"<style>{STYLE}</style>", f'<rect width="{width}" height="{height}" rx="6"/>']
    style = {}
    for row, line in enumerate(lines):
        y = 8 + row * HIGH
        for column, text, how in cells(line, style):
            x = 8 + column * WIDE
            if how.get("bar"):
                out.append(f'<rect class="bar" x="{x:.0f}" y="{y}" width="{len(text) * WIDE:.0f}" height="{HIGH}"/>')
            names = [how.get("colour", "")] + [name for name in ("bold", "dim") if how.get(name)]
            if text.strip():
                out.append(f'<text class="{" ".join(filter(None, names))}" x="{x:.0f}" y="{y + 13}" '
                           f'textLength="{len(text) * WIDE:.0f}" xml:space="preserve">{html.escape(text)}</text>')
    return "\n".join(out + ["</svg>\n"])


def main(build):
    with tempfile.TemporaryDirectory(prefix="pic-", dir="/tmp") as work:
        environment = dict(os.environ, XDG_RUNTIME_DIR=work, HOME=work, LC_ALL="C.UTF-8", PATH=f"{build}/bench:{os.environ['PATH']}")
        job = subprocess.Popen([f"{build}/bin/torus-run", "-np", "27", "--torus", "3x3x3", "--set", "transport.local=links",
                                "torus-bench", "aggregate", "--sizes", "64KiB:64KiB", "--seconds", "40"],
                               env=environment, stdout=subprocess.DEVNULL)
        top = None
        try:
            while not os.path.exists(f"{work}/torusmp/job-{job.pid}"):
                time.sleep(0.1)
            time.sleep(8)  # there is something to see

            def tmux(*words):
                return subprocess.run(["tmux", "-S", f"{work}/tmux", "-f", "/dev/null", *words], env=environment,
                                      check=True, capture_output=True, text=True).stdout

            tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES),
                 f"env TERM=screen-256color {build}/bin/torus-top {job.pid}")
            for name, key in (("torus-top-ranks", "1"), ("torus-top-plane", "4")):
                tmux("send-keys", key)
                time.sleep(4)
                (DOCS / f"{name}.svg").write_text(to_svg(tmux("capture-pane", "-e", "-p")))
            tmux("kill-server")
            top = subprocess.Popen([f"{build}/bin/torus-top", "--serve", "127.0.0.1:0", str(job.pid)], env=environment,
                                   stdout=subprocess.PIPE, text=True)
            where = top.stdout.readline().split(" at ")[1].strip()
            time.sleep(5)
            for name, scheme in (("dark", 0), ("light", 1)):
                subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                "--hide-scrollbars", f"--user-data-dir={work}/browser", "--window-size=1100,980",
                                "--timeout=8000", f"--blink-settings=preferredColorScheme={scheme}",
                                f"--screenshot={DOCS}/torus-top-page-{name}.png", where + "#rank=13"],
                               env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        finally:
            for process in filter(None, (top, job)):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
