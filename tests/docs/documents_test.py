# SPDX-License-Identifier: BSD-3-Clause
"""The pages make a site, and the interfaces a reference, without warnings and without dead links.

    documents_test.py SOURCES SETTINGS WORK [unittest's arguments]
"""
import html.parser
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import urllib.parse

SOURCES, SETTINGS, WORK = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name in ("id", "name"):
            if attrs.get(name):
                self.anchors.add(attrs[name])
        for name in ("href", "src"):
            if attrs.get(name):
                self.links.append(attrs[name])


def dead_links(folder):
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            # Links to other machines are not tried; 404.html is for a server.
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
            found = target.exists() and (not parts.fragment or target not in pages or
                                         urllib.parse.unquote(parts.fragment) in pages[target].anchors)
            if not found:
                dead.append(f"{path.relative_to(folder)}: {link}")
    return pages, dead


class Documents(unittest.TestCase):
    def run_quietly(self, *command):
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    @unittest.skipUnless(shutil.which("mkdocs"), "no mkdocs")
    def test_the_site(self):
        site = WORK / "site"
        site.mkdir(parents=True, exist_ok=True)
        config = (SOURCES / "docs/site/mkdocs.yml.in").read_text().replace("@site@", str(site))
        (site / "mkdocs.yml").write_text(config)
        self.run_quietly(sys.executable, "-B", SOURCES / "docs/site/stage.py", SOURCES, site / "pages", f"settings.md={SETTINGS}")
        # Every page is in the contents; mkdocs does not fail if one is not.
        for page in (site / "pages").glob("*.md"):
            self.assertIn(f": {page.name}\n", config)
        self.run_quietly("mkdocs", "build", "--strict", "--quiet", "--config-file", site / "mkdocs.yml")
        pages, dead = dead_links(site / "html")
        self.assertGreater(len(pages), 12)
        self.assertEqual(dead, [])

    @unittest.skipUnless(shutil.which("doxygen"), "no doxygen")
    def test_the_reference(self):
        reference = WORK / "reference"
        shutil.rmtree(reference, ignore_errors=True)
        reference.mkdir(parents=True)
        config = (SOURCES / "docs/reference/Doxyfile.in").read_text()
        for name, value in (("PROJECT_VERSION", "0"), ("reference", reference), ("CMAKE_CURRENT_SOURCE_DIR", SOURCES / "docs"),
                            ("PROJECT_SOURCE_DIR", SOURCES), ("Python3_EXECUTABLE", sys.executable)):
            config = config.replace(f"@{name}@", str(value))
        self.assertNotIn("@", config)
        (reference / "Doxyfile").write_text(config)
        self.run_quietly("doxygen", reference / "Doxyfile")
        for header, function in (("qmp_8h", "QMP_declare_multiple"), ("mpi_8h", "MPI_Neighbor_alltoallw_init_c"),
                                 ("torusmp__mpi_8h", "TORUSMP_Coords")):
            self.assertIn(function, (reference / f"html/{header}.html").read_text())


if __name__ == "__main__":
    if not SETTINGS.is_file():
        sys.exit(f"documents: the page of the settings, {SETTINGS}, is not built. Build the target settings_page, for "
                 "example with cmake --build --preset release --target settings_page")
    unittest.main()
