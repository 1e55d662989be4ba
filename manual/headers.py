# SPDX-License-Identifier: BSD-3-Clause
"""The functions that a public header declares, with the comments above them."""
import re
from dataclasses import dataclass, field


@dataclass
class Function:
    name: str
    prototype: str


@dataclass
class Entry:
    """Functions in a row, and the comment that they share."""
    text: str
    functions: list[Function] = field(default_factory=list)


@dataclass
class Block:
    """What stands without an empty line between it: it belongs together."""
    source: str
    entries: list[Entry] = field(default_factory=list)
    note: str = ""  # a comment that stood by itself above

    def functions(self):
        return [function for entry in self.entries for function in entry.functions]


def without_licence(source):
    return re.sub(r"^/\* SPDX-[^\n]*\n", "", source)


def comment_text(comment):
    body = re.sub(r"^/\*\s?|\s*\*/$", "", comment)
    return re.sub(r"\n\s*\* ?", "\n", body).strip()


def read_function(declaration):
    """None if the declaration is not a function, such as a type."""
    declaration = " ".join(declaration.split())
    made = re.fullmatch(r"TORUSMP_FUNCTION\((.*?), (\w+), (\(.*\))\)", declaration)
    if made:
        return Function("MPI_" + made[2], f"{made[1]} MPI_{made[2]}{made[3]};")
    plain = re.fullmatch(r"(?:QMP_API_|TORUSMP_EXPORTED) (.*?)(\w+)(\(.*\));", declaration)
    return plain and Function(plain[2], declaration.split(" ", 1)[1])


def parse(text):
    """The comment at the head of a header, and its blocks. Those without functions declare types
    and constants."""
    text = without_licence(text)
    head = comment_text(re.match(r"/\*.*?\*/", text, re.S)[0])
    blocks, note = [], ""
    for chunk in re.split(r"\n\s*\n", text[text.index("*/") + 2:]):
        block = Block(chunk)
        code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", chunk, flags=re.M)
        for token in re.findall(r"/\*.*?\*/|TORUSMP_FUNCTION\(.*?\)\)\n|[^/;]+;", code.strip() + "\n", re.S):
            token = token.strip()
            if token.startswith("/*"):
                if not token.startswith("/* ----"):
                    block.entries.append(Entry(comment_text(token)))
                continue
            function = read_function(token)
            if function:
                if not block.entries:
                    block.entries.append(Entry(""))
                block.entries[-1].functions.append(function)
        if block.functions():
            block.note, note = note, ""
        elif block.entries and not re.sub(r"/\*.*?\*/", "", chunk, flags=re.S).strip():
            note = block.entries[-1].text
            continue
        else:
            block.entries = []
        blocks.append(block)
    return head, blocks


def safe(comment):
    """Free of what means something to Doxygen."""
    return re.sub(r"([\\@<>#%*])", r"\\\1", comment)


def other_for_doxygen(source):
    """Types and constants, without what is for the compiler alone."""
    def convert(comment):
        behind = comment[1].strip() != ""
        return f"{comment[1]}/**{'<' if behind else ''} {safe(comment_text(comment[2]))} */"

    source = re.sub(r"^[ \t]*#[ \t]*(?!define (?!\w+_H\b|TORUSMP_EXPORTED|TORUSMP_FUNCTION|QMP_API_))(?:[^\n]*\\\n)*[^\n]*\n?", "", source + "\n", flags=re.M)
    source = re.sub(r'^(extern "C" \{|\}|/\* clang-format \w+ \*/|/\* -{4}.*)$', "", source, flags=re.M)
    return re.sub(r"^(.*?)(/\*(?:[^*]|\*(?!/))*\*/)", convert, source, flags=re.M)


def for_doxygen(text):
    """The header in a form that Doxygen reads: each function with its comment."""
    head, blocks = parse(text)
    out = [f"/** @file\n{safe(head)}\n*/"]
    for block in blocks:
        if not block.functions():
            out.append(other_for_doxygen(block.source))
            continue
        above = None
        for entry in block.entries:
            about = "\n\n".join(safe(part) for part in (entry.text, block.note) if part)
            if above:
                about += f"\n\n@see {above.name}()"
            for function in entry.functions:
                out += [f"/** {about} */", function.prototype]
                above = function
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    import sys
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(for_doxygen(header.read()))
