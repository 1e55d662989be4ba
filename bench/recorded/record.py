# SPDX-License-Identifier: BSD-3-Clause
"""The recorded run: docs/data/figures.json, a part for each program that was run, each with the machine,
the date, the commit and the command."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Problem(Exception):
    """Ends the program with one message."""


class Record:
    def __init__(self, path):
        self.path, self.parts = Path(path), {}
        if not self.path.exists():
            return
        try:
            self.parts = json.loads(self.path.read_text())["parts"]
        except (ValueError, KeyError, TypeError) as wrong:
            raise Problem(f"{path}: expected a file written by record-figures: {wrong}") from None

    def write(self):
        """Writes the file completely or not at all, one line per row, so that changes are readable."""
        lines = ['{"tool": "record-figures", "parts": {']
        lines.append(",\n".join(f"{json.dumps(name)}: {spread(part)}" for name, part in self.parts.items()))
        lines.append("}}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.path.with_suffix(".tmp")
        scratch.write_text("\n".join(lines) + "\n")
        scratch.replace(self.path)


def shortened(value):
    """Rounds samples to six digits; the tables of the programs have far fewer."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: shortened(v) for key, v in value.items()}
    return [shortened(v) for v in value] if isinstance(value, list) else value


def spread(part):
    result = part["result"]
    rows = "measures" if "measures" in result else "rows"
    head = {key: value for key, value in part.items() if key != "result"}
    rest = {key: value for key, value in result.items() if key != rows}
    body = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in shortened(result[rows]))
    inner = json.dumps(rest, ensure_ascii=False)[:-1] + f', "{rows}": [\n  {body}]}}'
    return json.dumps(head, ensure_ascii=False)[:-1] + f',\n "result": {inner}}}'
