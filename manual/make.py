#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the man pages and completions.

    make.py OUT VERSION SUFFIX HELP SETTINGS HEADER...

OUT gets man/ and completion/. HELP is a folder with NAME.txt, what "NAME --help" prints or the source whose
head describes it; SETTINGS what "torus-info --reference" prints; then come the headers whose functions get
pages. SUFFIX (".torusmp" or nothing) ends the names of pages that other MPIs have too. What is
written by hand stands in Markdown beside this script.
"""
import pathlib
import re
import sys

import completion
import headers
import help as helps
from roff import Page, bold, escape, inline

PROGRAMS = ["torus-run", "torus-check", "torus-info", "torus-setup", "torus-top", "torus-bench", "mpicc", "qmp-config",
            "torus-wilson", "torus-gauge-file", "torus-halo-exchange"]
# Other names of a program; all of them are those of other MPIs, too.
NAMES = {"torus-run": ["mpirun", "mpiexec"],
         "mpicc": ["mpicxx", "mpic++", "mpiCC", "mpifort", "mpif90", "mpif77", "mpicc_abi", "mpicxx_abi"]}
SECOND_USES = {"torus-info": ["netplan"]}
OTHER_MPIS = {"mpicc", *NAMES["torus-run"], *NAMES["mpicc"]}


def sentence_start(text):
    """"Tests every cable" behind a name and a dash."""
    first = text.split(" ")[0]
    return text if first.isupper() or not first[1:].islower() else text[0].lower() + text[1:]


def program_page(program, others, version):
    name = program.name.replace(" ", "-")
    page = Page(name, "1", version, "torusmp")
    page.name([name, *others], sentence_start(program.summary))
    page.section("Synopsis")
    for usage in program.usage:
        command, _, rest = usage.partition(" ")
        page.lines += [f"{bold(command)} {escape(rest)}", ".br"]
    page.section("Description")
    for text in program.preamble:
        page.paragraph(text)
    for group in program.words:
        page.lines.append(f'.SS "{escape(group.title)}"')
        for word, text in group.rows:
            page.item(bold(word), text)
    for text in program.notes:
        page.paragraph(text)
    for group in program.options:
        if len(program.options) > 1 and group is not program.options[0]:
            page.lines.append(f'.SS "{escape(group.title)}"')
        else:
            page.section(group.title)
        for option in group.rows:
            page.item(bold(option.shown), option.text)
    if program.exit_status:
        page.section("Exit status")
        page.paragraph(program.exit_status)
    if program.examples:
        page.section("Examples")
        page.code(program.examples)
    page.see_also([("torusmp", "7"), ("torus.toml", "5")] +
                  [(other, "1") for other in PROGRAMS[:6] if other != program.name])
    return page.text()


def written(name):
    return (pathlib.Path(__file__).parent / name).read_text()


def settings_page(reference, version):
    page = Page("torus.toml", "5", version, "torusmp")
    page.name(["torus.toml"], "the geometry file of torusmp: the machine, its cables, and settings")
    page.section("Description")
    page.markdown(written("torus.toml.5.md"))
    # The page begins with its title and where it comes from.
    page.markdown(reference.split("\n\n", 1)[1])
    page.see_also([("torusmp", "7"), ("torus-info", "1"), ("torus-check", "1")])
    return page.text()


def overview_page(version):
    text = written("torusmp.7.md")
    title, summary = re.match(r"# (\S+): (.*)\n", text).groups()
    page = Page(title, "7", version, "torusmp")
    page.name([title], summary)
    page.markdown(text)
    return page.text()


def function_pages(header, text, version):
    """(names, page) for the functions that belong together."""
    for block in headers.parse(text)[1]:
        functions = block.functions()
        if not functions:
            continue
        names = [function.name for function in functions]
        page = Page(names[0], "3", version, "torusmp")
        description = next((entry.text for entry in block.entries if entry.text), names[0])
        summary = re.match(r".*?[.:;](?=\s|$)|.*", " ".join(description.split()))[0].rstrip(".:;")
        page.name(names, sentence_start(summary))
        page.section("Synopsis")
        page.lines += [".nf", bold(f"#include <{header}>"), ".PP"]
        page.lines += [bold(function.prototype) for function in functions]
        page.lines.append(".fi")
        page.section("Description")
        if block.note:
            page.paragraph(block.note)
        for entry in block.entries:
            if len(block.entries) > 1:
                page.lines += [".TP", bold(", ".join(f"{function.name}()" for function in entry.functions)
                                           or "All of these")]
                page.lines.append(inline(" ".join(entry.text.split()) or "See above."))
            elif entry.text:
                page.paragraph(entry.text)
        page.see_also([("torusmp", "7")])
        yield names, page.text()


def main(out, version, suffix, folder, reference, *public):
    man, completions = pathlib.Path(out, "man"), pathlib.Path(out, "completion")
    for made in (man / "man1", man / "man3", man / "man5", man / "man7", completions):
        made.mkdir(parents=True, exist_ok=True)
        for old in made.iterdir():
            old.unlink()

    def file(name, section):
        return f"{name}{suffix if name in OTHER_MPIS else ''}.{section}"

    def write(name, section, text):
        (man / f"man{section}" / file(name, section)).write_text(text)

    def link(name, section, target):
        (man / f"man{section}" / file(name, section)).symlink_to(file(target, section))

    programs = []
    for name in PROGRAMS:
        for use in [name] + [f"{name} {second}" for second in SECOND_USES.get(name, [])]:
            source = pathlib.Path(folder, use.replace(" ", "-") + ".txt")
            if not source.exists():
                continue
            read = helps.parse_comment if source.read_text().startswith("/*") else helps.parse
            program = read(use, source.read_text())
            programs.append(program)
            others = NAMES.get(use, [])
            write(use.replace(" ", "-"), 1, program_page(program, others, version))
            for other in others:
                link(other, 1, name)
    page = pathlib.Path(reference).read_text()
    write("torus.toml", 5, settings_page(page, version))
    write("torusmp", 7, overview_page(version))
    for header in public:
        text = pathlib.Path(header).read_text()
        for names, page_text in function_pages(pathlib.Path(header).name, text, version):
            write(names[0], 3, page_text)
            for name in names[1:]:
                link(name, 3, names[0])

    settings = completion.read_settings(page)
    commands = [program.name for program in programs if " " not in program.name]
    commands += [other + suffix for other in NAMES["torus-run"] + NAMES["mpicc"]]
    if suffix:
        commands = [name + suffix if name == "mpicc" else name for name in commands]
    (completions / "torusmp.bash").write_text(completion.bash(programs, settings, commands))
    (completions / "_torusmp").write_text(completion.zsh(programs, settings, commands))


if __name__ == "__main__":
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
