#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The whole library over real soft-RoCE, in one boot of a testbed of virtual machines:
testbed_test.py [options] NAME=PROGRAM...

  testbed_test.py --shape many torus-run=build/release/bin/torus-run torus-bench=... qmp_cases=...

Options:
  --shape one|many   one guest with all nodes, or a guest a node (one)
  --torus 2x2x2      the torus of nodes
  --mtu BYTES        of the links (4200)
  --use verbs        transport.use of the jobs; "tcp" shows what the testbed itself can do
  --only PATTERN     cases whose name matches; may be repeated
  --long             more runs
  --list             prints the cases' names and ends

A case that needs a program that is not named is left out, and that is said.
Exit codes: 0 all right, 1 a case failed, 2 usage, 77 guests cannot be had here, 125 a guest failed.
"""
import argparse
import fnmatch
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = os.path.dirname(os.path.realpath(__file__))
TESTBED = os.path.join(os.path.dirname(HERE), "testbed")
RXE_VM = os.path.join(TESTBED, "rxe-vm")
sys.path.insert(0, TESTBED)
from netns.plan import PlanError, device_name, parse_dims  # noqa: E402
from vm.wiring import PATH, SHAPES, Wiring               # noqa: E402

IMPOSSIBLE = 77
BOOT = 180  # seconds that guests may take on a busy machine
# All of one program where none leaves anything behind that disturbs the next; a few of them where guests are many and slow,
# and their clocks differ.
QMP_CASES = {
    "one": "machine memory sizes shorter_than_receive start_order multiples wait_and_test strided "
           "strided_array_and_indexed sums extremes binary_reduction same_bits broadcast alltoall barrier communicators "
           "split_work leave_things",
    "many": "machine memory sizes start_order multiples sums alltoall split_work"}


@dataclass(frozen=True)
class Case:
    name: str
    seconds: int        # a limit, several times what it takes on a quiet machine
    command: str        # for a shell on node 0
    programs: tuple     # beside torus-run
    shapes: tuple = SHAPES
    long: tuple = ()    # the shapes in which it runs only with --long


def cases(wiring):
    """In this order: those that damage the testbed come last."""
    size = wiring.torus.size
    run = f"torus-run -np {size}"
    qmp = f"qmp_cases {QMP_CASES[wiring.shape]}"
    links = "--set transport.local=links --set transport.tokens=2 --set transport.relay_tokens=2"
    lattice = "--lattice 4x4x4x4 --tolerance 1e-6"
    end = wiring.ends(0)[0]
    pair = f"TORUSMP_TEST_TRANSPORT=verbs TORUSMP_TEST_DEVICES='{end.device} {wiring.far[end].device}'"
    yield Case("transport", 200, f"{pair} verbs_test", ("verbs_test",), ("one",))
    yield Case("transport.memlock", 60, f"{pair} setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock verbs_test "
               "'[memlock]'", ("verbs_test",), ("one",))
    yield Case("launch", 60, f"test $({run} hostname | wc -l) = {size}", (), ("one",))
    yield Case("silence", 400, f"sh {HERE}/cases/silence.sh 1", ("front_end_steps",), long=("many",))
    yield Case("qmp", 150, f"{run} {qmp}", ("qmp_cases",))
    yield Case("qmp.few-credits", 120, f"{run} {links} {qmp}", ("qmp_cases",), ("one",), long=SHAPES)
    damaged, other = wiring.ends(size - 1)[:2]
    yield Case("torus-check", 120, f"sh {HERE}/cases/torus_check.sh {size - 1} {damaged.device} {other.device}",
               ("torus-check", "torus-info"), ("many",))
    yield Case("bench.latency", 60, "torus-bench latency --sizes 8:64KiB --step 32", ("torus-bench",), ("one",), long=SHAPES)
    yield Case("bench.aggregate", 100, "torus-bench aggregate --sizes 64KiB:64KiB --seconds 0.02", ("torus-bench",),
               long=SHAPES)
    yield Case("bench.relay", 100, "torus-bench relay --sizes 8:64KiB --window 8 --seconds 0.02", ("torus-bench",), ("one",),
               long=SHAPES)
    yield Case("wilson", 100, f"{run} wilson {lattice}", ("wilson",), long=("many",))
    random = f"sh {HERE}/cases/random_messages.sh"
    yield Case("random-messages", 200, f"{random} 3000", ("relay_soak_job",), ("one",))
    yield Case("random-messages.long", 3000, f"{random} 100000", ("relay_soak_job",), long=SHAPES)
    yield Case("windows", 900, f"{run} mpi_windows making fences posts locks operations pairs", ("mpi_windows",), ("one",),
               long=SHAPES)
    yield Case("memlock", 300, f"sh {HERE}/cases/memlock.sh", ("qmp_cases",), ("one",))
    if wiring.routes:
        far = size - 1
        way = wiring.torus.path(0, far)
        last = device_name(way[-1][0], -way[-1][1])
        words = f"{far} {device_name(*way[0])} {last} {wiring.addresses[far, last][0]}"
        yield Case("kernel-routing", 120, f"sh {HERE}/cases/kernel_routing.sh {words}", ("qmp_cases",), ("many",))
    yield Case("soak", 1500, f"for i in $(seq 20); do {run} {qmp} || exit 1; done", ("qmp_cases",),
               long=SHAPES)
    end = wiring.ends(size - 1)[0]
    cables = f"python3 {HERE}/cases/cables.py"
    yield Case("cables", 3400, f"{cables} 20", ("cable_traffic",), ("one",), long=SHAPES)
    if wiring.torus.dims == [2, 2, 2]:  # where no corner is the neighbour of its opposite one
        yield Case("cables.placed", 3000, f"{cables} 4 1 far", ("cable_traffic", "torus-top"), ("one",), long=SHAPES)
    yield Case("fault.device-down", 200, f"sh {HERE}/cases/device_down.sh {end.node} {end.device} {wiring.far[end].node}",
               ("fault_rank",), long=("many",))
    yield Case("fault.guest-killed", 220, f"sh {HERE}/cases/guest_killed.sh {size - 1}", ("fault_rank",), ("many",))


def parse():
    parser = argparse.ArgumentParser(prog="testbed_test.py", add_help=False,
                                     usage="testbed_test.py [options] NAME=PROGRAM...; --help")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--shape", choices=SHAPES, default="one")
    parser.add_argument("--torus", default="2x2x2")
    parser.add_argument("--mtu", type=int, default=4200)
    parser.add_argument("--use", default="verbs", choices=("verbs", "tcp", "auto"))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("programs", nargs="*")
    return parser.parse_args()


def choose(options, wiring, programs):
    chosen = []
    for case in cases(wiring):
        if options.shape not in case.shapes or (options.shape in case.long and not options.long):
            continue
        if options.only and not any(fnmatch.fnmatchcase(case.name, pattern) for pattern in options.only):
            continue
        missing = [name for name in ("torus-run",) + case.programs if name not in programs]
        if missing and not options.list:
            print(f"left out {case.name}: {' '.join(missing)} not named on the command line", flush=True)
        else:
            chosen.append(case)
    return chosen


def run(options, chosen, programs):
    """Guests see the host's files, so a folder of links is all that it takes to have programs in their PATH."""
    with tempfile.TemporaryDirectory(prefix="verbs-testbed-") as folder:
        for name, path in programs.items():
            os.symlink(os.path.realpath(path), os.path.join(folder, name))
        table = os.path.join(folder, "cases")
        with open(table, "w") as f:
            f.write("".join(f"{case.name}\t{case.seconds}\t{case.command}\n" for case in chosen))
        limit = sum(case.seconds + 10 for case in chosen)
        command = [RXE_VM, "run", options.torus, "--shape", options.shape, "--mtu", str(options.mtu), "--use", options.use,
                   "--timeout", str(limit), "--boot-timeout", str(BOOT), "--env", f"PATH={folder}:{PATH}", "-v"]
        if options.shape == "many":
            command.append("--routes")
        return subprocess.run(command + ["--", "sh", os.path.join(HERE, "run_cases.sh"), table]).returncode


def main():
    options = parse()
    if options.help:
        print(__doc__.strip())
        return 0
    programs = dict(word.partition("=")[::2] for word in options.programs)
    absent = [path for path in programs.values() if not os.access(path, os.X_OK)]
    try:
        if absent:
            raise PlanError(f"{absent[0]} is not a program: expected NAME=PROGRAM")
        wiring = Wiring(parse_dims(options.torus), options.shape, mtu=options.mtu, routes=options.shape == "many")
    except PlanError as error:
        print(f"testbed_test.py: {error}", file=sys.stderr)
        return 2
    chosen = choose(options, wiring, programs)
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        print(f"testbed_test.py: no case of shape {options.shape} is left: see --list", file=sys.stderr)
        return 2
    code = run(options, chosen, programs)
    if code == IMPOSSIBLE:
        print("skipped: guests with soft-RoCE cannot be had here")
    return code


sys.exit(main())
