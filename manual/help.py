# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a program's --help text: man pages and completions are made of it, so that
each option is described once, where the program declares it."""
import re
from dataclasses import dataclass, field

from headers import without_licence


@dataclass
class Option:
    names: list[str]  # "--np", "-n"; the one to offer first
    shown: str  # as the program writes it
    value: str = ""  # "FILE"; empty: it takes none
    attached: bool = False  # the value stands behind "=" only
    text: str = ""


@dataclass
class Group:
    title: str
    rows: list = field(default_factory=list)  # options, or (word, text)


@dataclass
class Help:
    name: str
    summary: str = ""
    usage: list[str] = field(default_factory=list)
    preamble: list[str] = field(default_factory=list)  # paragraphs
    options: list[Group] = field(default_factory=list)
    words: list[Group] = field(default_factory=list)  # what can stand in place of an option
    notes: list[str] = field(default_factory=list)  # paragraphs
    examples: list[str] = field(default_factory=list)  # lines
    exit_status: str = ""

    def all_options(self):
        return [option for group in self.options for option in group.rows]


def read_option(shown):
    """An option from how it is written, as in "-n [ --np ] N" or "-show, --showme"."""
    boost = re.fullmatch(r"(-\w) \[ (--[\w-]+) \](?: (.*))?", shown)
    if boost:
        short, long, value = boost.groups()
        names, attached = [long, short], False
        shown = f"{short}, {long} {value or ''}".rstrip()
    else:
        first = shown.split(", ")[0]
        value = first[len(re.match(r"-{1,2}[\w:-]+", first)[0]):]
        attached = value.startswith(("=", "[="))
        names = re.findall(r"(?:^|, )(-{1,2}[\w:-]+)", shown)
        value = value.strip("[=]") if attached else value
    return Option(names, shown, re.sub(r"\(=.*\)$", "", value or "").strip(), attached)


def paragraphs(lines):
    text = "\n".join(lines).strip("\n")
    return [part.split("\n") for part in re.split(r"\n\s*\n", text) if part.strip()]


def read_rows(lines, is_option):
    """Rows of two columns; what is indented further goes on with the row above."""
    rows = []
    starts = [re.match(r"  \S.*?\s{2,}", line) for line in lines]
    ends = [start.end() for start in starts if start]
    column = max(ends, key=ends.count) if ends else 0
    for line in lines:
        if re.match(r"  -" if is_option else r"  \w", line):
            # The longest name may fill its column.
            row = re.match(r"  (\S.*?)(?:\s{2,}(.*))?$", line)
            if not row[2] and line[column - 1:column] == " ":
                rows.append([line[:column].strip(), line[column:]])
            else:
                rows.append([row[1], row[2] or ""])
        elif rows:
            rows[-1][1] += " " + line
    # A line that ends inside a word ends with its hyphen.
    return [(shown, re.sub(r"(?<=\w)- (?=\w)", "-", " ".join(text.split()))) for shown, text in rows]


def parse(name, text):
    """The text of "NAME --help"."""
    found = Help(name)
    lines = text.rstrip("\n").split("\n")
    lines = [line for line in lines if line != "--"]
    i = 0
    plain = []  # what stands in no table, in its order; None where the first table stood

    def block():
        """The indented lines from here on; a table may hold empty ones between its rows."""
        nonlocal i
        taken = []
        while i < len(lines) and (lines[i].startswith("  ") or
                                  (not lines[i] and i + 1 < len(lines) and lines[i + 1].startswith("  -"))):
            taken.append(lines[i])
            i += 1
        return taken

    while i < len(lines):
        line = lines[i]
        i += 1
        if line.startswith("Usage: "):
            found.usage.append(line[7:])
            while i < len(lines) and lines[i].startswith("       "):
                found.usage.append(lines[i].strip())
                i += 1
            # A table of options may follow without a title.
            start = i
            rows = block()
            if rows and rows[0].startswith("  -"):
                found.options.append(Group("Options", read(rows)))
            else:
                i = start
        elif re.match(rf"({re.escape(name)}|mpirun) .*\[", line) and "." not in line.split("[")[0]:
            found.usage.append(line)
        elif re.fullmatch(r"Option\w*( .*)?:", line):
            found.options.append(Group(line[:-1], read(block())))
            plain.append(None)
        elif line == "Examples:":
            found.examples = [row[2:] for row in block()]
        elif re.fullmatch(r"\w+:", line):
            found.words.append(Group(line[:-1], read_rows(block(), False)))
            plain.append(None)
        elif line.startswith("  -") and not found.options:
            i -= 1
            found.options.append(Group("Options", read(block())))
            plain.append(None)
        else:
            plain.append(line)
    first = plain.index(None) if None in plain else len(plain)
    before = paragraphs(plain[:first])
    after = paragraphs([line for line in plain[first:] if line is not None])
    words = [" ".join(part) for part in before]
    if words:
        whole = words[0]
        sentence = re.match(r".*?\.(?= [A-Z]|$)|.*", whole)[0]
        found.summary = re.sub(rf"^{re.escape(name)}:? ", "", sentence).rstrip(".")
        found.preamble = [whole] + words[1:]
    for part in after:
        rest = " ".join(part)
        # Ends a paragraph of its own, or the one before.
        exits = re.search(r"(Exit codes?:|Ends with 0 ).*", rest)
        if exits:
            found.exit_status = re.sub(r"^Exit codes?: ", "", exits[0])
            rest = rest[:exits.start()].strip()
        if rest:
            found.notes.append(rest)
    found.usage = found.usage or [f"{name} [options]"]
    return found


def parse_comment(name, source):
    """The comment at the head of an example's source, which has the same parts in the same order."""
    comment = re.match(r"/\*(.*?)\*/", without_licence(source), re.S)[1]
    lines = [re.sub(r"^ \*? ?", "", line) for line in comment.split("\n")]
    found = Help(name, usage=[f"{name} [argument]"])
    for part in paragraphs(lines):
        text = " ".join(" ".join(part).split())
        if part[0].startswith("    "):
            found.examples = [line[4:] for line in part]
        elif text.startswith("Ends with "):
            found.exit_status = text
        elif not found.summary:
            found.summary = text.partition(": ")[2].rstrip(".")
        else:
            found.preamble.append(text)
    return found


def read(lines):
    options = []
    for shown, text in read_rows(lines, True):
        option = read_option(shown)
        option.text = text
        # "(also -np N)" in the text names further spellings.
        for also in re.findall(r"\(also (-[^)]*)\)", text):
            option.names += [word for word in re.findall(r"-{1,2}[\w-]+", also) if word not in option.names]
        options.append(option)
    return options
