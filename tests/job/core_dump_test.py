# SPDX-License-Identifier: BSD-3-Clause
# A core dump of a rank that crashes: small, with its stack and its own memory.
#
#   core_dump_test.py TORUS_RUN MEMORY_JOB
#
# Skipped (77) where the kernel hands cores to a program, or the limit forbids them.
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile

MIB = 1 << 20
ALLOCATED = 8 * MIB  # by each rank, from the memory that peers reach
LARGEST = ALLOCATED + 24 * MIB
# Where segments were dumped there would be no end: the kernel stops here.
LIMIT = 256 * MIB


def main(torus_run, job):
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if pattern.startswith("|") or "/" in pattern or 0 <= hard < LIMIT:
        print(f"no cores can be collected: core_pattern is '{pattern}', the limit {hard}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [torus_run, "-np", "8", job, str(ALLOCATED // MIB), "--abort"], cwd=folder,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (LIMIT, hard)),
            stderr=subprocess.PIPE, text=True, timeout=120)
        assert done.returncode != 0, "the job must fail"
        cores = [name for name in glob.glob(folder + "/*") if os.path.isfile(name)]
        assert len(cores) == 1, f"found {len(cores)} files, expected the core of rank 0: {done.stderr}"
        size = os.path.getsize(cores[0])
        assert size < LARGEST, f"the core has {size >> 20} MiB, expected less than {LARGEST >> 20}"
        with open(cores[0], "rb") as file:
            core = file.read()
        assert b"the memory of rank 0" in core, "the core lacks what the rank has allocated"
        for peer in range(1, 8):
            assert f"the memory of rank {peer}".encode() not in core, f"rank {peer}'s memory is in it"
        if shutil.which("gdb"):
            stack = subprocess.run(["gdb", "-batch", "-nx", "-ex", "bt", job, cores[0]],
                                   capture_output=True, text=True, timeout=120).stdout
            for function in ("fails_here", "main"):
                assert function in stack, f"gdb shows no {function}():\n{stack}"
        print(f"the core has {size / MIB:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
