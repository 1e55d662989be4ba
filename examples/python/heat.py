# SPDX-License-Identifier: BSD-3-Clause
"""Heat on a torus, with mpi4py and numpy: each rank has a block of the grid and exchanges the edges
of its block with its neighbours in each step.

    torus-run -np 8 --torus 4x2 python3 heat.py [--size N] [--steps N]

Messages are numpy arrays, sent directly from their memory. The sum over the whole grid must be the
same at the end as at the beginning; rank 0 checks and prints it.
"""
import argparse
import sys

import numpy
from mpi4py import MPI


def exchange(grid, field):
    """Fills the border of `field` with the edges of the neighbours, one dimension after the other."""
    for dimension in range(field.ndim):
        before, after = grid.Shift(dimension, 1)

        def layer(index):
            return tuple(index if d == dimension else slice(None) for d in range(field.ndim))

        for source, target, edge, border in ((before, after, -2, 0), (after, before, 1, -1)):
            received = numpy.empty_like(field[layer(border)])
            grid.Sendrecv(numpy.ascontiguousarray(field[layer(edge)]), target, recvbuf=received, source=source)
            field[layer(border)] = received


def main():
    words = argparse.ArgumentParser(description="Heat on a torus.")
    words.add_argument("--size", type=int, default=64, help="points of a rank in each dimension")
    words.add_argument("--steps", type=int, default=100)
    given = words.parse_args()

    world = MPI.COMM_WORLD
    dims = MPI.Compute_dims(world.size, 2)
    grid = world.Create_cart(dims, periods=[True] * len(dims), reorder=True)
    field = numpy.zeros([given.size + 2] * len(dims))
    inner = (slice(1, -1),) * len(dims)
    field[inner] = numpy.random.default_rng(grid.rank).random(field[inner].shape)

    before = grid.allreduce(field[inner].sum())
    start = MPI.Wtime()
    for _ in range(given.steps):
        exchange(grid, field)
        around = sum(numpy.roll(field, shift, d)[inner] for d in range(field.ndim) for shift in (1, -1))
        field[inner] += 0.1 * (around - 2 * field.ndim * field[inner])
    seconds = grid.reduce(MPI.Wtime() - start, op=MPI.MAX)
    after = grid.allreduce(field[inner].sum())

    same = abs(after - before) < 1e-9 * before
    if grid.rank == 0:
        print(f"{grid.size} ranks on a grid of {'x'.join(map(str, dims))}: {given.steps} steps, "
              f"{1e6 * seconds / given.steps:.0f} us each; heat {before:.6f} before, {after:.6f} after")
        if not same:
            print("heat.py: heat was lost or made", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
