# SPDX-License-Identifier: BSD-3-Clause
"""Man pages and completions against their sources: each option, setting and function is
found, and shells offer it. Takes the build tree's folder of the manual, PROGRAM=PATH..., and the
sources.

    manual_test.py MADE SOURCES torus-run=PATH ... [unittest's arguments]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

MADE = pathlib.Path(sys.argv[1])
SOURCES = pathlib.Path(sys.argv[2])
PROGRAMS = {}
while len(sys.argv) > 3 and "=" in sys.argv[3]:
    name, path = sys.argv.pop(3).split("=", 1)
    PROGRAMS[name] = path

OPTION = re.compile(r"(?:^|[\s\[,])(--?[a-z][\w-]*)", re.M)


def plain(page):
    """Returns a page as it is displayed."""
    text = page.read_text()
    text = re.sub(r"\\f[BR]|\\&", "", text)
    for name, char in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ti", "~"), (r"\(ga", "`"), (r"\(ha", "^"), (r"\e", "\\")):
        text = text.replace(name, char)
    return text


def declared(name):
    """The options of the tables that --help prints."""
    output = subprocess.run([PROGRAMS[name], "--help"], capture_output=True, text=True, check=True).stdout
    rows = [line for line in output.split("\n") if re.match(r"  -", line)]
    return {word for row in rows for word in OPTION.findall(re.split(r"\s{2,}", row[2:])[0])}


class Pages(unittest.TestCase):
    def test_every_option_is_in_the_page_of_its_program(self):
        for name in PROGRAMS:
            options = declared(name)
            self.assertGreater(len(options), 4, name)
            text = plain(MADE / f"man/man1/{name}.1")
            for option in options:
                self.assertRegex(text, rf"(?<![\w-]){re.escape(option)}(?![\w-])", name)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(f'.SH "{section}"', text, name)

    def test_every_setting_is_in_the_page_of_the_file(self):
        reference = subprocess.run([PROGRAMS["torus-info"], "--reference"], capture_output=True, text=True,
                                   check=True).stdout
        text = plain(MADE / "man/man5/torus.toml.5")
        keys = re.findall(r"^### (\S+)", reference, re.M)
        self.assertGreater(len(keys), 30)
        for key in keys:
            self.assertIn(f'.SS "{key}"', text)

    def test_every_function_of_qmp_has_a_page(self):
        declared_there = set(re.findall(r"\b(QMP_[a-z]\w*)\(", re.sub(r"/\*.*?\*/", "", (SOURCES / "qmp/qmp.h").read_text(), flags=re.S)))
        self.assertGreater(len(declared_there), 120)
        pages = {page.name[:-2] for page in (MADE / "man/man3").iterdir()}
        self.assertEqual(declared_there - pages, set())
        text = plain(MADE / "man/man3/QMP_wait.3")
        self.assertIn("QMP_status_t QMP_wait(QMP_msghandle_t h);", text)
        self.assertIn("Blocks until the exchange is complete", text)

    @unittest.skipUnless(shutil.which("mandoc"), "no mandoc")
    def test_pages_are_well_formed(self):
        pages = sorted((MADE / "man").glob("man*/*"))
        self.assertGreater(len(pages), 140)
        output = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *pages], capture_output=True, text=True).stdout
        # A page of a version that is not released yet has no date.
        self.assertEqual([line for line in output.split("\n") if line and "missing date" not in line], [])


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Bash(unittest.TestCase):
    def offers(self, line):
        script = f"""
            compopt() {{ :; }}
            . {MADE}/completion/torusmp.bash
            COMP_LINE=$1 COMP_POINT=${{#1}}
            _torusmp
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        result = subprocess.run(["bash", "--norc", "-c", script, "bash", line], capture_output=True, text=True,
                                cwd=self.folder.name)
        self.assertEqual((result.stderr, result.returncode), ("", 0), line)
        return set(result.stdout.split())

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        pathlib.Path(self.folder.name, "cluster.toml").touch()
        pathlib.Path(self.folder.name, "plans").mkdir()

    def test_every_option_is_offered(self):
        for name in PROGRAMS:
            self.assertLessEqual(declared(name), self.offers(f"{name} -"), name)

    def test_values(self):
        for line, expected in {
                "torus-run --bind ": {"auto", "core", "numa", "none"},
                "torus-run --bind=n": {"numa", "none"},
                "torus-run --set transport.copy=": {"auto", "cma", "pipeline"},
                "torus-run --set=transport.copy=p": {"pipeline"},
                "torus-run --set transport.cop": {"transport.copy="},
                "torus-info --explain transport.cop": {"transport.copy"},
                "torus-run --config clu": {"cluster.toml"},
                "torus-run --config=clu": {"cluster.toml"},
                "torus-run --wdir ": {"plans"},
                "torus-info net": {"netplan"},
                "torus-info netplan --format ": {"hosts", "ifupdown", "ip", "mlx", "netplan", "networkd", "networkmanager", "torchrun"},
                "torus-setup --step ": {"look", "up", "discover", "apply", "check", "run"},
                "torus-bench agg": {"aggregate"},
                "mpirun --bind c": {"core"},
                "mpirun.torusmp --bind c": {"core"},
                "qmp-config --cf": {"--cflags"},
                "mpicc -static": {"-static-mpi"},
        }.items():
            self.assertEqual(self.offers(line), expected, line)

    def test_arguments_after_the_program_belong_to_the_program(self):
        self.assertIn("bash", self.offers("torus-run -np 4 ba"))
        self.assertEqual(self.offers("torus-run -np 4 ./prog --bi"), set())
        self.assertEqual(self.offers("torus-run --set transport.tokens=8 ./prog --bi"), set())


@unittest.skipUnless(shutil.which("zsh"), "no zsh")
class Zsh(unittest.TestCase):
    # The text that a user sees after the tab key, in a terminal of zsh.
    SCRIPT = textwrap.dedent("""
        zmodload zsh/zpty
        zpty -b shell zsh -f -i
        zpty -w shell 'PS1="> "; fpath=('$1' $fpath); autoload -Uz compinit; compinit -u -D; setopt noalwayslastprompt listrowsfirst; LISTMAX=10000; bindkey "^I" complete-word; print rea""dy'
        integer tries=0
        text=
        # Behind the prompt the line editor reads. The terminal itself would take the ^U below for its own.
        until [[ $text == *$'\\n'*ready*'> '* ]]; do
            zpty -rt shell part && text+=$part || sleep 0.02
            (( ++tries < 3000 )) || exit 3
        done
        zpty -w -n shell "$2"$'\\t'
        # Empties the line and says so, behind all that completion prints.
        zpty -w -n shell $'\\C-x\\C-e'
        zpty -w -n shell $'\\C-u'
        zpty -w shell 'print do""ne'
        text=
        tries=0
        until [[ $text == *$'\\n'*done* ]]; do
            zpty -rt shell part && text+=$part || sleep 0.02
            (( ++tries < 3000 )) || exit 4
        done
        print -r -- "$text"
        zpty -d shell
    """)

    def sees(self, line):
        environment = dict(os.environ, TERM="dumb", LC_ALL="C.UTF-8")
        result = subprocess.run(["zsh", "-f", "-c", self.SCRIPT, "zsh", MADE / "completion", line],
                                capture_output=True, text=True, timeout=200, env=environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_options_and_values(self):
        self.assertIn("--tag-output", self.sees("torus-run --tag"))
        self.assertIn("end the job after SECONDS", self.sees("torus-run --t"))
        listed = self.sees("torus-run --bind=")
        for word in ("auto", "core", "numa", "none"):
            self.assertIn(word, listed)
        self.assertIn("transport.copy=", self.sees("torus-run --set transport.cop"))
        self.assertIn("pipeline", self.sees("torus-run --set transport.copy=pip"))
        self.assertIn("aggregate", self.sees("torus-bench agg"))
        self.assertIn("--format", self.sees("torus-info netplan --form"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
