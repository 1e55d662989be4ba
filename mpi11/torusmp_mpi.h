/* SPDX-License-Identifier: BSD-3-Clause */
/* What an MPI program can ask about the machine it runs on: a mesh or torus of processes.
 *
 * What it is for: a program that knows the torus can lay its work along them. Dimensions,
 * extents and coordinates are those of the torus of ranks: the nodes' torus times the block of
 * ranks inside each node. The last dimension runs fastest in the ranks of MPI_COMM_WORLD. A
 * Cartesian communicator made with reorder already follows the torus; these queries serve
 * everything else.
 *
 * Who owns what: all arrays and strings are the caller's. Threads: any, under the level that
 * MPI_Init_thread provided. Errors: MPI error codes, after the error handler of the communicator
 * given (of MPI_COMM_WORLD where none is) was called.
 */
#ifndef TORUSMP_MPI_QUERIES_H
#define TORUSMP_MPI_QUERIES_H

#include <mpi.h>

#if defined(__GNUC__) || defined(__clang__)
#define TORUSMP_EXPORTED __attribute__((visibility("default")))
#else
#define TORUSMP_EXPORTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TORUSMP_MAX_DIMENSIONS 6
#define TORUSMP_MAX_LINK_NAME 256 /* with the closing null */

/* Directions of TORUSMP_Link. */
#define TORUSMP_MINUS 0
#define TORUSMP_PLUS 1

/* How many dimensions the torus of ranks has. */
TORUSMP_EXPORTED int TORUSMP_Dimensions(int* ndims);

/* Ranks along each dimension, and whether it closes to a ring (1) or is open (0). Fails with
 * MPI_ERR_DIMS where maxdims is smaller than the number of dimensions. Either array may be null. */
TORUSMP_EXPORTED int TORUSMP_Extents(int maxdims, int dims[], int periods[]);

/* Where a rank of comm (of its remote group, for an inter-communicator) stands on the torus. */
TORUSMP_EXPORTED int TORUSMP_Coords(MPI_Comm comm, int rank, int maxdims, int coords[]);

/* Steps along the torus from this process to a rank of comm; 0 for itself. */
TORUSMP_EXPORTED int TORUSMP_Hops(MPI_Comm comm, int rank, int* hops);

/* What carries messages to the next rank along a dimension: the network device that [links] of the
 * geometry file names, else the transport ("shm", "tcp"); "self" where the dimension has one rank,
 * and the empty string at an open end. name has room for TORUSMP_MAX_LINK_NAME characters;
 * resultlen is without the closing null. */
TORUSMP_EXPORTED int TORUSMP_Link(int dim, int direction, char* name, int* resultlen);

#ifdef __cplusplus
}
#endif

#undef TORUSMP_EXPORTED

#endif
