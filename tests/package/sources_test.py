# SPDX-License-Identifier: BSD-3-Clause
"""The guarantees of a release about the sources: each file names its licence, and all mentions of the version agree.

    sources_test.py SOURCES [unittest's arguments]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(sys.argv.pop(1))
LINE = "SPDX-License-Identifier: BSD-3-Clause"
# Where a comment can stand; pages of text, data and figures have none.
BY_ENDING = {".c", ".h", ".cpp", ".f", ".f90", ".py", ".sh", ".cmake", ".map", ".toml"}
BY_NAME = {"CMakeLists.txt", "newcomer", "prove", "use", "rules"}


def tracked():
    listed = subprocess.run(["git", "-C", SOURCES, "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0:
        return [SOURCES / name for name in listed.stdout.decode().split("\0") if name]
    # A tarball: without what was built in it.
    return [path for path in SOURCES.rglob("*") if path.is_file() and path.relative_to(SOURCES).parts[0] != "build"]


def is_source(path):
    if path.suffix in BY_ENDING or path.name in BY_NAME or path.name.endswith(".in"):
        return "corpus" not in path.parts
    with path.open("rb") as file:
        return file.read(2) == b"#!"


class Licence(unittest.TestCase):
    def test_every_source_names_the_licence(self):
        sources = [path for path in tracked() if path.exists() and is_source(path)]
        self.assertGreater(len(sources), 500)
        without = [str(path.relative_to(SOURCES)) for path in sources
                   if not any(LINE in line for line in path.read_text().split("\n")[:3])]
        self.assertEqual(without, [])

    def test_the_licence_is_the_one_of_the_file(self):
        text = (SOURCES / "LICENSE").read_text()
        self.assertIn("BSD 3-Clause License", text)
        self.assertIn("The torusmp authors", text)


class Version(unittest.TestCase):
    def test_all_mentions_of_the_version_agree(self):
        version = re.search(r"project\(torusmp VERSION (\d+\.\d+\.\d+)", (SOURCES / "CMakeLists.txt").read_text())[1]
        self.assertTrue((SOURCES / "debian/changelog").read_text().startswith(f"torusmp ({version})"))
        self.assertIn(f'version("{version}")', (SOURCES / "packaging/spack/package.py").read_text())
        changes = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", (SOURCES / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(changes[0], version)


class Includes(unittest.TestCase):
    """The sources that are compiled again when a header changes."""

    @classmethod
    def setUpClass(cls):
        names = {str(path.relative_to(SOURCES)): path for path in tracked()
                 if path.suffix in {".h", ".cpp"} and path.exists()}
        cls.included = {name: [other for other in re.findall(r'^#include "(.+)"', path.read_text(), re.M) if other in names]
                        for name, path in names.items()}

    def sources_that_see(self, header):
        self.assertIn(header, self.included)
        seen, new = set(), {header}
        while new:
            seen |= new
            new = {name for name, others in self.included.items() if not seen.isdisjoint(others)} - seen
        return sorted(name for name in seen if name.endswith(".cpp") and not name.startswith("tests/"))

    def test_a_new_setting_of_core_recompiles_few_sources(self):
        self.assertGreater(len(self.sources_that_see("core/options.h")), 100)
        for header in ("core/settings.h", "core/transport/api/settings.h", "core/transport/common/settings.h"):
            sources = self.sources_that_see(header)
            self.assertIn("core/transport/list.cpp" if "common" in header else "core/options.cpp", sources)
            self.assertLessEqual(len(sources), 20, f"{header}: {sources}")


class Packages(unittest.TestCase):
    def test_an_unknown_system_gets_a_list_and_no_error(self):
        with tempfile.NamedTemporaryFile("w") as release:
            release.write('ID=fedora\nVERSION_ID=43\nPRETTY_NAME="Fedora Linux 43"\n')
            release.flush()
            done = subprocess.run([SOURCES / "scripts/packages", "build"], capture_output=True, text=True,
                                  env=os.environ | {"TORUSMP_OS_RELEASE": release.name})
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        for text in ("Fedora Linux 43 is not known", "Debian 12 and 13, Ubuntu 24.04 and 26.04", "g++", "libfmt-dev"):
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
