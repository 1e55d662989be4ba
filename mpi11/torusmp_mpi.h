/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries of the machine for MPI programs: a mesh or torus of processes.
 *
 * Purpose: a program that knows the torus can lay out its work along it. Dimensions, extents and
 * coordinates are those of the torus of ranks: the nodes' torus times the block of ranks inside
 * each node. The last dimension runs fastest in the ranks of MPI_COMM_WORLD. A Cartesian
 * communicator created with reorder already follows the torus; these queries are for programs that
 * need more.
 *
 * Ownership: all arrays and strings belong to the caller. Threads: any, under the level that
 * MPI_Init_thread provided. Errors: MPI error codes, after the error handler of the given
 * communicator (of MPI_COMM_WORLD if there is none) was called.
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

/* The number of dimensions of the torus of ranks. */
TORUSMP_EXPORTED int TORUSMP_Dimensions(int* ndims);

/* Ranks along each dimension, and whether it is a ring (1) or open (0). Fails with MPI_ERR_DIMS if
 * maxdims is smaller than the number of dimensions. Either array may be null. */
TORUSMP_EXPORTED int TORUSMP_Extents(int maxdims, int dims[], int periods[]);

/* Coordinates of a rank of comm (of its remote group, for an inter-communicator) on the torus. */
TORUSMP_EXPORTED int TORUSMP_Coords(MPI_Comm comm, int rank, int maxdims, int coords[]);

/* Steps along the torus from this process to a rank of comm; 0 for this process. */
TORUSMP_EXPORTED int TORUSMP_Hops(MPI_Comm comm, int rank, int* hops);

/* The device or transport that carries messages to the next rank along a dimension: the network
 * device that [links] of the geometry file names, otherwise the transport ("shm", "tcp"); "self" if
 * the dimension has one rank, and the empty string at an open end. name has room for
 * TORUSMP_MAX_LINK_NAME characters; resultlen does not count the closing null. */
TORUSMP_EXPORTED int TORUSMP_Link(int dim, int direction, char* name, int* resultlen);

#ifdef __cplusplus
}
#endif

#undef TORUSMP_EXPORTED

#endif
