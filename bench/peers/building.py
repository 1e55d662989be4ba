# SPDX-License-Identifier: BSD-3-Clause
"""Builds the programs that compare-peers times: the same ones with torusmp and with each installed MPI."""

import shutil
import subprocess
from pathlib import Path

from console import Problem, USAGE, progress
from measures import BARE
from mpis import PEERS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def call(command, **keywords):
    """Runs a quiet command; its output is shown only when it fails."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **keywords)
    if done.returncode:
        raise Problem(f"this failed with code {done.returncode}: {' '.join(map(str, command))}\n"
                      f"{done.stdout[-4000:]}")


def build_ours(tree, build):
    if build:
        progress("building ours")
        if not (tree / "CMakeCache.txt").exists():
            call(["cmake", "-S", ROOT, "-B", tree, "-G", "Ninja",
                  "-DCMAKE_BUILD_TYPE=RelWithDebInfo"])
        call(["cmake", "--build", tree, "--target", "torus-run", "torus-info", "exchange_qmp",
              "collectives_ours", "messages_mpi", "threads_mpi", "windows_mpi", "wilson"])
    launcher, bench = tree / "bin/torus-run", tree / "bench"
    programs = {"exchange": bench / "exchange_qmp", "collectives": bench / "collectives_ours",
                "messages": bench / "messages_mpi", "threads": bench / "threads_mpi",
                "windows": bench / "windows_mpi"}
    for path in (launcher, *programs.values()):
        if not path.exists():
            raise Problem(f"{path} does not exist; build the targets torus-run, exchange_qmp, "
                          "collectives_ours, messages_mpi, threads_mpi and windows_mpi, or leave --no-build out",
                          USAGE)
    return {name: (launcher, program) for name, program in programs.items()}


def build_wilson(peer, prefix, folder):
    """The example built with upstream QMP, which is installed under `prefix`, and that MPI."""
    compiler = PEERS[peer].compiler_cxx
    if not compiler:
        return None
    progress(f"building wilson for {peer}")
    program, sources = Path(folder) / f"wilson-{peer}", ROOT / "examples/wilson"
    # As our build makes it.
    flags = ["-std=c++20", "-O3", "-DNDEBUG", "-ffp-contract=fast", "-w", "-DTORUSMP_VERSION=\"\""]
    if "avx2" in Path("/proc/cpuinfo").read_text():
        flags.append("-march=x86-64-v3")
    call([*PEERS[peer].command([compiler]), *flags, "-I", ROOT, "-I", sources, "-I", Path(prefix) / "include",
          *sorted(sources.glob("*.cpp")), "-o", program, "-L", Path(prefix) / "lib", "-lqmp",
          "-lboost_program_options", "-lfmt"])
    return program


def build_bare(library, folder):
    """A program that only uses sockets: net_raw.c or net_ring.c."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    program, sources = Path(folder) / f"exchange-{library}", ("exchange", "stream", "job_costs", "timing",
                                                              "bare", f"net_{library}")
    call([compiler, "-std=c99", "-O2", "-w", "-o", program, *(HERE / f"{s}.c" for s in sources)])
    return None, program


def build_mode(folder):
    """The program that finds the mode of the machine; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    program = Path(folder) / "mode"
    call([compiler, "-std=c11", "-O2", "-w", "-pthread", "-o", program, HERE / "mode.c"])
    return program


def build_peer(peer, folder):
    """{program: (launcher, program)}, empty if that MPI is not installed."""
    compiler, launcher = PEERS[peer].compiler, PEERS[peer].launcher
    if not compiler or not launcher:
        return {}
    progress(f"building for {peer}")
    built = {}
    for name, sources in (("exchange", ["exchange.c", "stream.c", "job_costs.c"]), ("messages", ["messages.c"]),
                          ("collectives", ["collectives.c", "collective_mpi.c"]),
                          ("threads", ["threads.c"]), ("windows", ["windows.c"])):
        program = Path(folder) / f"{name}-{peer}"
        call([*PEERS[peer].command([compiler]), "-std=c99", "-O2", "-w", "-pthread", "-o", program,
              *(HERE / s for s in (*sources, "timing.c", "net_mpi.c"))])
        built[name] = (launcher, program)
    return built


def upstream_prefixes(words):
    prefixes = dict(word.partition("=")[::2] for word in words)
    for peer, folder in prefixes.items():
        if peer not in PEERS or not (Path(folder) / "include/qmp.h").exists():
            raise Problem(f"--upstream {peer}={folder}: expected {' or '.join(PEERS)}, '=' and a "
                          "folder with include/qmp.h", USAGE)
    return prefixes


def build_all(chosen, arguments, folder):
    """{program: {library: (launcher, program)}}"""
    tree = arguments.build_dir.resolve()
    built = {"exchange": {}, "collectives": {}, "messages": {}, "threads": {}, "windows": {}, "wilson": {},
             "npb": {}}
    for name, program in build_ours(tree, not arguments.no_build).items():
        built[name]["ours"] = program
    launcher = built["exchange"]["ours"][0]
    for peer in PEERS:
        for name, program in build_peer(peer, folder).items():
            built[name][peer] = program
    for library in BARE:
        if any(library in m.libraries() for m in chosen):
            bare = build_bare(library, folder)
            if bare:
                built["exchange"][library] = bare
    if any(m.test == "wilson" for m in chosen):
        if (tree / "examples/wilson/torus-wilson").exists():
            built["wilson"]["ours"] = (launcher, tree / "examples/wilson/torus-wilson")
        for peer, prefix in upstream_prefixes(arguments.upstream).items():
            program = build_wilson(peer, prefix, folder)
            if program and peer in built["exchange"]:
                built["wilson"][peer] = (built["exchange"][peer][0], program)
    for library in ("ours", *PEERS) if arguments.npb else ():
        if library in built["messages"] and (arguments.npb / library).is_dir():
            built["npb"][library] = built["messages"][library][0], arguments.npb.resolve() / library
    progress("")
    return built
