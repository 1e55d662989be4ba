# SPDX-License-Identifier: BSD-3-Clause
"""Pages in the format of man(7)."""
import re


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("'", "\\(aq").replace("`", "\\(ga").replace("~", "\\(ti").replace("^", "\\(ha")
    return "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)


def line(text):
    """A line that no dot or quote at its start makes a request of."""
    text = escape(text)
    return "\\&" + text if text.startswith(".") else text


def bold(text):
    return f"\\fB{escape(text)}\\fR"


def fill(text):
    """A paragraph, with a sentence to a line."""
    return "\n".join(inline(sentence) for sentence in re.split(r"(?<=[.:?!]) (?=[A-Z])", " ".join(text.split())))


def inline(text):
    """A line with Markdown's `code`, **strong words** and [links](address)."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]*`|\*\*[^*]*\*\*)", text)
    out = "".join(bold(part.strip("`*")) if part[:1] in "`*" and len(part) > 2 else escape(part)
                  for part in parts)
    return "\\&" + out if out.startswith((".", "'")) else out


def verbatim(lines):
    return [".PP", ".RS 4", ".nf", *[line(text) for text in lines], ".fi", ".RE"]


class Page:
    def __init__(self, name, section, version, about):
        self.lines = [
            '.\\" Made from the sources of torusmp.',
            f'.TH "{escape(name.upper() if section != "3" else name)}" "{section}" "" "torusmp {version}" "{about}"',
            ".nh", ".ad l",
        ]

    def section(self, title):
        self.lines.append(f'.SH "{escape(title.upper())}"')

    def name(self, names, summary):
        self.section("Name")
        self.lines.append(f"{escape(', '.join(names))} \\- {inline(summary)}")

    def paragraph(self, text):
        self.lines += [".PP", fill(text)]

    def item(self, head, text):
        self.lines += [".TP", head, fill(text)]

    def code(self, lines):
        self.lines += verbatim(lines)

    def see_also(self, pages):
        self.section("See also")
        self.lines.append(",\n".join(f"\\fB{escape(name)}\\fR({section})" for name, section in pages))

    def text(self):
        out = []
        for row in "\n".join(self.lines).split("\n"):
            # Behind a heading a paragraph begins by itself, and a line ends before one.
            if row == ".PP" and out[-1].startswith((".SH", ".SS")):
                continue
            if row.startswith((".SH", ".SS")) and out[-1] == ".br":
                out.pop()
            out.append(row)
        return "\n".join(out) + "\n"

    def markdown(self, text, skip_title=True):
        """Headings, paragraphs, lists, tables and indented code."""
        lines = text.rstrip("\n").split("\n")
        i = 0
        while i < len(lines):
            row = lines[i]
            heading = re.match(r"(#+) (.*)", row)
            if heading:
                level = len(heading[1])
                if level == 2:
                    self.section(heading[2])
                elif level == 3:
                    self.lines.append(f'.SS "{escape(heading[2])}"')
                elif not skip_title:
                    self.section(heading[2])
                i += 1
            elif row.startswith("    "):
                code = []
                while i < len(lines) and (lines[i].startswith("    ") or
                                          (not lines[i] and lines[i + 1:i + 2] and lines[i + 1].startswith("    "))):
                    code.append(lines[i][4:])
                    i += 1
                self.code(code)
            elif row.startswith("|"):
                cells = [cell.strip() for cell in row.strip("|").split("|")]
                if not re.fullmatch(r"[|\s:-]+", row) and not (
                        lines[i + 1:i + 2] and re.fullmatch(r"[|\s:-]+", lines[i + 1])):
                    self.item(inline(cells[0]), "; ".join(cell for cell in cells[1:] if cell))
                i += 1
            elif row.strip():
                bullet = row.startswith("- ")
                text = [row[2:] if bullet else row]
                i += 1
                while i < len(lines) and lines[i].strip() and not lines[i].startswith(("- ", "#", "|")):
                    text.append(lines[i].strip())
                    i += 1
                if bullet:
                    self.lines += ['.IP "\\(bu" 2', fill(" ".join(text))]
                else:
                    self.paragraph(" ".join(text))
            else:
                i += 1
