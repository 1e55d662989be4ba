#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Puts the pages where mkdocs takes them from: those of docs/ with their pictures, those that stand
elsewhere in the sources, and those that are made.

    stage.py SOURCES OUT NAME=FILE...

NAME=FILE is a page that is made, such as settings.md. Links between pages follow where these go.
"""
import pathlib
import re
import sys

# Pages that are not in docs/, and their names in the site.
ELSEWHERE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "LICENSE": "licence.md",
             "mpi11/coverage.md": "coverage.md"}


def main(sources, out, *made):
    sources, out = pathlib.Path(sources).resolve(), pathlib.Path(out)
    places = {(sources / path).resolve(): name for path, name in ELSEWHERE.items()}
    places |= {page.resolve(): page.name for page in sorted((sources / "docs").glob("*.md"))}
    pictures = {picture.resolve(): picture.name for kind in ("*.svg", "*.png", "*.html")
                for picture in (sources / "docs").glob(kind)}
    texts = {name: page.read_text() for page, name in places.items()}
    texts["licence.md"] = "# Licence\n\n    " + texts["licence.md"].replace("\n", "\n    ")
    for page in made:
        name, _, file = page.partition("=")
        texts[name] = pathlib.Path(file).read_text()

    def move(source):
        def link(found):
            target, hash_sign, anchor = found[1].partition("#")
            if "://" in target or not target:
                return found[0]
            name = places.get((source.parent / target).resolve()) or pictures.get((source.parent / target).resolve())
            if name is None:
                sys.exit(f"{source}: {target} is not a page of the site: expected a page of docs/ or one of {list(ELSEWHERE)}")
            return f"]({name}{hash_sign}{anchor})"
        return link

    out.mkdir(parents=True, exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    for page, name in places.items():
        texts[name] = re.sub(r"\]\(([^)\s]+)\)", move(page), texts[name])
    for picture, name in pictures.items():
        (out / name).write_bytes(picture.read_bytes())
    for name, text in texts.items():
        (out / name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
