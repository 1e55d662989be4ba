# SPDX-License-Identifier: BSD-3-Clause
"""What a release promises of the sources: each names its licence, and all that name the version agree.

    sources_test.py SOURCES [unittest's arguments]
"""
import pathlib
import re
import subprocess
import sys
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
    def test_every_source_names_it(self):
        sources = [path for path in tracked() if path.exists() and is_source(path)]
        self.assertGreater(len(sources), 500)
        without = [str(path.relative_to(SOURCES)) for path in sources
                   if not any(LINE in line for line in path.read_text().split("\n")[:3])]
        self.assertEqual(without, [])

    def test_it_is_the_one_of_the_file(self):
        text = (SOURCES / "LICENSE").read_text()
        self.assertIn("BSD 3-Clause License", text)
        self.assertIn("The torusmp authors", text)


class Version(unittest.TestCase):
    def test_all_that_name_it_agree(self):
        version = re.search(r"project\(torusmp VERSION (\d+\.\d+\.\d+)", (SOURCES / "CMakeLists.txt").read_text())[1]
        self.assertTrue((SOURCES / "debian/changelog").read_text().startswith(f"torusmp ({version})"))
        self.assertIn(f'version("{version}")', (SOURCES / "packaging/spack/package.py").read_text())
        changes = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", (SOURCES / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(changes[0], version)


if __name__ == "__main__":
    unittest.main()
