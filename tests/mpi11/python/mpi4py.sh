#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds mpi4py by the command of docs/python.md, but without optimisation, and runs the example on
# numpy and messages of Python's objects.
#   mpi4py.sh FOLDER_OF_MPICC TORUS_RUN EXAMPLE VENV [quick]
# quick: mpi4py does not try each function of MPI, which takes four fifths of the time.
# Exit code 77: skipped, because mpi4py is not available.
set -uo pipefail
bin=$1 torus_run=$2 example=$3 venv=$4
configure=(MPI4PY_BUILD_CONFIGURE=1)
[ "${5:-}" != quick ] || configure=()
version=4.1.2

skip() { echo "SKIPPED: $*"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
python=/usr/bin/python3
"$python" -c 'import numpy, venv, ensurepip' 2>/dev/null || skip "no numpy or venv (Debian: python3-numpy python3-venv)"
"$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null ||
    skip "no Python.h (Debian: python3-dev)"

# One that an earlier run has built still takes the library of today: it is found by name.
if ! "$venv/bin/python" -c "import mpi4py; assert mpi4py.__version__ == '$version'" 2>/dev/null; then
    rm -rf "$venv"
    "$python" -m venv --system-site-packages "$venv" || fail "no virtual environment in $venv"
    # The downloads of pip, including its own tools, come first: an unavailable package is not a
    # fault of the library. (The metadata of the sources needs tools that are not here yet.)
    timeout 120 "$venv/bin/pip" download --no-deps --no-binary mpi4py --no-build-isolation \
        --dest "$venv/source" "mpi4py==$version" >"$venv/download" 2>&1
    grep -q "mpi4py-$version.tar.gz" "$venv/download" || skip "pip finds no mpi4py $version"
    timeout 120 "$venv/bin/pip" download --quiet --no-deps --dest "$venv/source" setuptools \
        >>"$venv/download" 2>&1 || skip "pip finds no setuptools to build with"
    env CFLAGS="-O0 -g0" "${configure[@]}" MPICC="$bin/mpicc" \
        "$venv/bin/pip" install --no-binary mpi4py --no-cache-dir "mpi4py==$version" >"$venv/log" 2>&1 ||
        { tail -n 30 "$venv/log"; fail "mpi4py is not built"; }
fi
needed=$(readelf -d "$venv"/lib/python3*/site-packages/mpi4py/MPI.*.so | grep NEEDED)
[[ $needed = *libtorusmp.so.0* && $needed != *libmpi* ]] || fail "mpi4py is linked with: $needed"

expect() {
    local text=$1 output
    shift
    output=$("$torus_run" "$@" 2>&1) || fail "$* ended with $?: $output"
    [[ $output = *"$text"* ]] || fail "$*: found '$output', expected '$text'"
}
# The sums that it prints are those of one rank's block, times the ranks.
for ranks in 1 4 6; do
    expect "$ranks ranks on a grid of" -np $ranks "$venv/bin/python" "$example" --steps 5
done
expect "4 ranks on a grid of 2x2" -np 4 --torus 2x2 --set transport.use=tcp "$venv/bin/python" "$example" --steps 5
expect "[{'rank': 0}, {'rank': 1}, {'rank': 2}]" -np 3 "$venv/bin/python" -c '
from mpi4py import MPI
world = MPI.COMM_WORLD
everything = world.allgather({"rank": world.rank})
if world.rank == 0: print(everything)'
echo "mpi4py $version passes"
