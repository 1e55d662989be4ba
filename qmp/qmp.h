/* SPDX-License-Identifier: BSD-3-Clause */
/* QMP 2.5.4, the message-passing interface of lattice QCD, on a mesh or torus of processes.
 *
 * Purpose: a program declares its messages once (message memory, message handles), then starts and
 * waits for these handles as often as it needs; there are also sums, broadcasts and barriers over
 * all nodes.
 *
 * Ownership: the program owns message buffers and keeps them in place while a handle on them is
 * started. Objects created here (QMP_mem_t, QMP_msgmem_t, QMP_msghandle_t, QMP_comm_t) are freed
 * with the matching QMP_free_... call; pointers to dimensions and coordinates belong to the library
 * unless a function's comment states otherwise.
 *
 * Threads: by the level that QMP_init_msg_passing() provided. Under QMP_THREAD_MULTIPLE any thread
 * may call, but two threads must not use the same handle at the same time, and only one thread at a
 * time may create communicators. Printing and QMP_time() may be called from any thread at any time.
 *
 * A node number is the number of a process in a communicator, from 0. Node numbers and coordinates
 * are always lexicographic: with dimensions L and no map, node = x0 + L0 * (x1 + L1 * (x2 + ...)),
 * so the first dimension runs fastest; with a map p, dimension p[0] runs fastest, then p[1], ...
 * Without -qmp-geom, node numbers are the ranks of the machine. With -qmp-geom, nodes are placed on
 * the machine so that neighbours in that grid are neighbours by cable if possible, and node numbers
 * may then differ from ranks. A program that takes all coordinates from this library can have every
 * declared topology placed in this way: see QMP_declare_logical_topology().
 *
 * Errors: functions that return QMP_status_t return QMP_SUCCESS or an error code; for functions
 * that return other values, QMP_get_error_number(NULL) keeps the code. Fatal misuse (a node out of
 * range, a handle started twice, a message longer than its receive) prints the found and the
 * expected value, and ends the whole job with exit code 1.
 *
 * Command-line flags, removed from argv by QMP_init_msg_passing(); each takes all the integers that
 * follow it. An invalid flag ends the job with exit code 2.
 *   -qmp-geom 4 4 8       the allocated machine is this grid; "native": the machine's own torus
 *   -qmp-alloc-map 2 1 0  map of the allocated machine's and of the jobs' dimensions
 *   -qmp-logic-map 2 1 0  map used by QMP_declare_logical_topology()
 *   -qmp-job 1 2 1        number of jobs along each dimension of the allocated grid (without
 *                         -qmp-geom one integer: the number of jobs, of consecutive nodes each)
 *   -qmp-nmpi 8           use the first 8 processes only; the others leave when these are done
 */
#ifndef TORUSMP_QMP_H
#define TORUSMP_QMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__) || defined(__clang__)
#define QMP_API_ __attribute__((visibility("default")))
#else
#define QMP_API_
#endif

typedef int QMP_bool_t;
#define QMP_TRUE ((QMP_bool_t)1)
#define QMP_FALSE ((QMP_bool_t)0)

typedef enum QMP_status {
    QMP_SUCCESS = 0,
    QMP_ERROR = 0x1001,
    QMP_NOT_INITED,
    QMP_RTENV_ERR,
    QMP_CPUINFO_ERR,
    QMP_NODEINFO_ERR,
    QMP_NOMEM_ERR,
    QMP_MEMSIZE_ERR,
    QMP_HOSTNAME_ERR,
    QMP_INITSVC_ERR,
    QMP_TOPOLOGY_EXISTS,
    QMP_CH_TIMEOUT,
    QMP_NOTSUPPORTED,
    QMP_SVC_BUSY,
    QMP_BAD_MESSAGE,
    QMP_INVALID_ARG,
    QMP_INVALID_TOPOLOGY,
    QMP_NONEIGHBOR_INFO,
    QMP_MEMSIZE_TOOBIG,
    QMP_BAD_MEMORY,
    QMP_NO_PORTS,
    QMP_NODE_OUTRANGE,
    QMP_CHDEF_ERR,
    QMP_MEMUSED_ERR,
    QMP_INVALID_OP,
    QMP_TIMEOUT,
    QMP_MAX_STATUS
} QMP_status_t;

/* The interconnect of the allocated machine, as far as the job knows it: a grid with -qmp-geom, or
 * if the job has a torus (torus-run --torus, a geometry file) and uses all of it; otherwise a
 * switch. */
typedef enum QMP_ictype {
    QMP_SWITCH = 0,
    QMP_GRID = 1,
    QMP_MESH = 1,
    QMP_FATTREE = 2
} QMP_ictype_t;

typedef enum QMP_thread_level {
    QMP_THREAD_SINGLE,     /* the process has one thread */
    QMP_THREAD_FUNNELED,   /* one thread calls */
    QMP_THREAD_SERIALIZED, /* any thread calls, one at a time */
    QMP_THREAD_MULTIPLE    /* any thread calls at any time */
} QMP_thread_level_t;

typedef enum QMP_clear_to_send {
    QMP_CTS_DISABLED = -1,
    QMP_CTS_NOT_READY = 0,
    QMP_CTS_READY = 1
} QMP_clear_to_send_t;

/* Alignment, in bytes, and kinds of memory for QMP_allocate_aligned_memory(). */
#define QMP_ALIGN_ANY 0
#define QMP_ALIGN_DEFAULT 64

#define QMP_MEM_NONCACHE 0x01
#define QMP_MEM_COMMS 0x02
#define QMP_MEM_FAST 0x04
#define QMP_MEM_DEFAULT (QMP_MEM_COMMS | QMP_MEM_FAST)

typedef struct QMP_mem_struct QMP_mem_t;              /* allocated memory */
typedef struct QMP_msgmem_struct* QMP_msgmem_t;       /* layout of a message */
typedef struct QMP_comm_struct* QMP_comm_t;           /* a group of nodes */
typedef struct QMP_msghandle_struct* QMP_msghandle_t; /* one end of a declared message */

/* Combines two whole buffers: inout = inout op in. */
typedef void (*QMP_binary_func)(void* inout, void* in);

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Start and end ------------------------------------------------------------------------- */

/* Joins the job; collective. Removes the flags above from argv (argv[*argc] stays NULL).
 * *provided is the thread level that the program can rely on, at most the required one. */
QMP_API_ QMP_status_t QMP_init_msg_passing(int* argc, char*** argv, QMP_thread_level_t required,
                                           QMP_thread_level_t* provided);
/* True between QMP_init_msg_passing() and QMP_finalize_msg_passing(). */
QMP_API_ QMP_bool_t QMP_is_initialized(void);
/* Leaves the job; collective. Handles that are not started may still exist; a handle that is
 * started and not waited for ends the job with a message that names it. */
QMP_API_ void QMP_finalize_msg_passing(void);
/* Ends the whole job; the launcher exits with error_code. Does not return. */
QMP_API_ void QMP_abort(int error_code);
/* Prints a message, then ends the whole job like QMP_abort(). */
QMP_API_ void QMP_abort_string(int error_code, char* message);

/* ---- Communicators ------------------------------------------------------------------------- */

/* Three communicators exist from the start. Allocated: all nodes. Job: this node's part of it, see
 * -qmp-job. Default: a copy of job; all functions without "_comm_" in their name use it. The set
 * functions replace these communicators on this node; all nodes must replace them alike. */
QMP_API_ QMP_comm_t QMP_comm_get_allocated(void);
QMP_API_ QMP_status_t QMP_comm_set_allocated(QMP_comm_t comm);
QMP_API_ QMP_comm_t QMP_comm_get_job(void);
QMP_API_ QMP_status_t QMP_comm_set_job(QMP_comm_t comm);
QMP_API_ QMP_comm_t QMP_comm_get_default(void);
QMP_API_ QMP_status_t QMP_comm_set_default(QMP_comm_t comm);

/* Collective over comm: nodes of one color form a new communicator, numbered by ascending key, then
 * by their number in comm. With a negative color, the node joins none and gets NULL. */
QMP_API_ QMP_status_t QMP_comm_split(QMP_comm_t comm, int color, int key, QMP_comm_t* newcomm);
/* Refuses (QMP_INVALID_ARG) the allocated, job and default communicators. */
QMP_API_ QMP_status_t QMP_comm_free(QMP_comm_t comm);
/* Arguments of the split that created comm: distinct colors of all nodes; own color; own key. */
QMP_API_ int QMP_comm_get_number_of_colors(QMP_comm_t comm);
QMP_API_ int QMP_comm_get_color(QMP_comm_t comm);
QMP_API_ int QMP_comm_get_key(QMP_comm_t comm);
/* *hiddencomm becomes the address of the MPI_Comm of the same nodes, which lives until comm is
 * freed or QMP ends. Initializes MPI if the program has not called MPI_Init. Returns
 * QMP_NOTSUPPORTED, and NULL, if the program is linked without the MPI front end. */
QMP_API_ QMP_status_t QMP_get_hidden_comm(QMP_comm_t comm, void** hiddencomm);

/* ---- The machine --------------------------------------------------------------------------- */

QMP_API_ QMP_ictype_t QMP_get_msg_passing_type(void);
QMP_API_ int QMP_get_number_of_nodes(void);
QMP_API_ int QMP_comm_get_number_of_nodes(QMP_comm_t comm);
/* This node's number. */
QMP_API_ int QMP_get_node_number(void);
QMP_API_ int QMP_comm_get_node_number(QMP_comm_t comm);
/* The number of jobs created by -qmp-job, and the number of this job. */
QMP_API_ int QMP_get_number_of_jobs(void);
QMP_API_ int QMP_get_job_number(void);
/* The grid of this job with both -qmp-geom and -qmp-job; otherwise 0 and NULL. */
QMP_API_ int QMP_get_number_of_job_geometry_dimensions(void);
QMP_API_ const int* QMP_get_job_geometry(void);
/* True on node 0. */
QMP_API_ QMP_bool_t QMP_is_primary_node(void);
QMP_API_ QMP_bool_t QMP_comm_is_primary_node(QMP_comm_t comm);
/* The grid of the allocated machine and this node's coordinates in it: the grid of -qmp-geom, or
 * the job's torus, with coordinates that follow the cables; 0 and NULL if the machine is a switch.
 */
QMP_API_ int QMP_get_allocated_number_of_dimensions(void);
QMP_API_ const int* QMP_get_allocated_dimensions(void);
QMP_API_ const int* QMP_get_allocated_coordinates(void);

/* ---- Files --------------------------------------------------------------------------------- */

/* The node that does input and output for `node`: here each node itself. */
QMP_API_ int QMP_io_node(int node);
/* The node that does input and output for all nodes: 0. */
QMP_API_ int QMP_master_io_node(void);

/* ---- Logical topology ---------------------------------------------------------------------- */

/* Declares a grid of dims[0..ndim) over the nodes of a communicator, once; collective. The product
 * must be the number of nodes. ndim 0 declares nothing; ndim -1 declares the machine's own torus
 * (communicators of all processes only). A map has mapdim == ndim entries, a permutation; functions
 * without "_map" use the map of -qmp-logic-map, if given.
 * QMP_INVALID_ARG: a length below 1, a wrong product, a bad map or ndim. A second declaration ends
 * the job.
 * Environment QMP_PLACEMENT=declared: if no map is given, coordinates are assigned so that
 * neighbours in dims are neighbours by cable if possible. Coordinates are then not lexicographic:
 * only for programs that use QMP_get_node_number_from() for every node number. */
QMP_API_ QMP_status_t QMP_declare_logical_topology(const int dims[], int ndim);
QMP_API_ QMP_status_t QMP_comm_declare_logical_topology(QMP_comm_t comm, const int dims[],
                                                        int ndim);
QMP_API_ QMP_status_t QMP_declare_logical_topology_map(const int dims[], int ndim, const int map[],
                                                       int mapdim);
QMP_API_ QMP_status_t QMP_comm_declare_logical_topology_map(QMP_comm_t comm, const int dims[],
                                                            int ndim, const int map[], int mapdim);
QMP_API_ QMP_bool_t QMP_logical_topology_is_declared(void);
QMP_API_ QMP_bool_t QMP_comm_logical_topology_is_declared(QMP_comm_t comm);
/* 0 and NULL until a topology is declared. */
QMP_API_ int QMP_get_logical_number_of_dimensions(void);
QMP_API_ int QMP_comm_get_logical_number_of_dimensions(QMP_comm_t comm);
QMP_API_ const int* QMP_get_logical_dimensions(void);
QMP_API_ const int* QMP_comm_get_logical_dimensions(QMP_comm_t comm);

/* The functions up to QMP_comm_get_node_number_from() require a declared topology; without one the
 * job ends. */

/* This node's coordinates, one int per dimension. */
QMP_API_ const int* QMP_get_logical_coordinates(void);
QMP_API_ const int* QMP_comm_get_logical_coordinates(QMP_comm_t comm);
/* Another node's coordinates in memory to be released with free(); NULL, and QMP_NODE_OUTRANGE in
 * QMP_get_error_number(), if the node does not exist. */
QMP_API_ int* QMP_get_logical_coordinates_from(int node);
QMP_API_ int* QMP_comm_get_logical_coordinates_from(QMP_comm_t comm, int node);
/* Another node's coordinates, written to coords[0..ndim); -1 everywhere if the node does not exist.
 */
QMP_API_ void QMP_get_logical_coordinates_from2(int coords[], int node);
QMP_API_ void QMP_comm_get_logical_coordinates_from2(QMP_comm_t comm, int coords[], int node);
/* The node at these coordinates; -1 and QMP_NODE_OUTRANGE if they are outside the grid. */
QMP_API_ int QMP_get_node_number_from(const int coordinates[]);
QMP_API_ int QMP_comm_get_node_number_from(QMP_comm_t comm, const int coordinates[]);

/* ---- The lattice --------------------------------------------------------------------------- */

/* Divides a lattice of dimensions[0..ndims) sites over the nodes of the default communicator, along
 * its logical topology; if none is declared, declares one that splits the longest dimensions.
 * Returns QMP_ERROR if the lattice cannot be divided in this way. */
QMP_API_ QMP_status_t QMP_layout_grid(const int dimensions[], int ndims);
/* The part of each node: sites in each dimension, and in all. NULL and 0 before QMP_layout_grid().
 */
QMP_API_ const int* QMP_get_subgrid_dimensions(void);
QMP_API_ int QMP_get_number_of_subgrid_sites(void);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Memory that is suitable for messages (processes on one host access it directly), aligned to 64
 * bytes. NULL and QMP_NOMEM_ERR if out of memory. Stays valid until freed or until the process
 * ends. */
QMP_API_ QMP_mem_t* QMP_allocate_memory(size_t nbytes);
/* Allocates nbytes bytes. alignment is in bytes, 0 for any; flags is a sum of QMP_MEM_...
 * values, a hint that may be ignored. */
QMP_API_ QMP_mem_t* QMP_allocate_aligned_memory(size_t nbytes, size_t alignment, int flags);
QMP_API_ void* QMP_get_memory_pointer(QMP_mem_t* mem);
QMP_API_ void QMP_free_memory(QMP_mem_t* mem);

/* The layout of a message in memory. Sizes and strides are in bytes. Returns NULL and sets an error
 * code if an argument is negative. May be freed as soon as the handles on it are declared.
 * One block: */
QMP_API_ QMP_msgmem_t QMP_declare_msgmem(const void* mem, size_t nbytes);
/* nblocks blocks of blksize bytes, stride bytes from the start of one to the start of the next: */
QMP_API_ QMP_msgmem_t QMP_declare_strided_msgmem(void* base, size_t blksize, int nblocks,
                                                 ptrdiff_t stride);
/* Declares num strided layouts, one after the other. */
QMP_API_ QMP_msgmem_t QMP_declare_strided_array_msgmem(void* base[], size_t blksize[],
                                                       int nblocks[], ptrdiff_t stride[], int num);
/* count blocks, the i-th of blocklen[i] elements from element index[i] on, elemsize bytes each: */
QMP_API_ QMP_msgmem_t QMP_declare_indexed_msgmem(void* base, int blocklen[], int index[],
                                                 int elemsize, int count);
QMP_API_ void QMP_free_msgmem(QMP_msgmem_t m);

/* ---- Messages ------------------------------------------------------------------------------ */

/* One end of a message that may be exchanged many times. Messages of one communicator, one pair of
 * nodes and one kind match in the order in which they are started. The kinds, which never match
 * each other, are "to/from a node" and "relative" in each direction. A message may be shorter than
 * its receive, but not longer. priority is a hint and may be ignored.
 *
 * Relative: along logical dimension `axis`; dir > 0 is the neighbour with the next higher
 * coordinate, otherwise the next lower, with wraparound. A message that one node sends in direction
 * +1 is received by the other from direction -1. In a dimension of size 1 the neighbour is the node
 * itself; in one of size 2 both directions lead to the same node and are kept apart. */
QMP_API_ QMP_msghandle_t QMP_declare_receive_relative(QMP_msgmem_t m, int axis, int dir,
                                                      int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_receive_relative(QMP_comm_t comm, QMP_msgmem_t m,
                                                           int axis, int dir, int priority);
QMP_API_ QMP_msghandle_t QMP_declare_send_relative(QMP_msgmem_t m, int axis, int dir, int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_send_relative(QMP_comm_t comm, QMP_msgmem_t m, int axis,
                                                        int dir, int priority);
/* To and from any node, including this one. */
QMP_API_ QMP_msghandle_t QMP_declare_send_to(QMP_msgmem_t m, int rem_node_rank, int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_send_to(QMP_comm_t comm, QMP_msgmem_t m,
                                                  int rem_node_rank, int priority);
QMP_API_ QMP_msghandle_t QMP_declare_receive_from(QMP_msgmem_t m, int rem_node_rank, int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_receive_from(QMP_comm_t comm, QMP_msgmem_t m,
                                                       int rem_node_rank, int priority);

/* Moves the memory of a handle that is not started; the shape stays. addr replaces the base (or the
 * first base of a strided array: all bases move together). */
QMP_API_ QMP_status_t QMP_change_address(QMP_msghandle_t msg, void* addr);
/* Moves the memory of each part of a multiple; naddr must be the number of its parts. */
QMP_API_ QMP_status_t QMP_change_address_multiple(QMP_msghandle_t msg, void* addr[], int naddr);

/* NULL is allowed. A handle in flight, or a part of a multiple, ends the job. */
QMP_API_ void QMP_free_msghandle(QMP_msghandle_t h);

/* Joins handles into one that starts and completes as a whole and that now owns them: freeing it
 * frees them. The parts of a multiple among them become parts of the new one. num may be 0. */
QMP_API_ QMP_msghandle_t QMP_declare_multiple(QMP_msghandle_t msgh[], int num);
/* Like QMP_declare_multiple(), with the promise that for every send the receive from that node is
 * included. */
QMP_API_ QMP_msghandle_t QMP_declare_send_recv_pairs(QMP_msghandle_t msgh[], int num);

/* Declares whether a receive buffer is ready for the next message. Only a hint: a message is never
 * delivered before QMP_start(). For handles that are not started. */
QMP_API_ QMP_status_t QMP_clear_to_send(QMP_msghandle_t mh, QMP_clear_to_send_t cts);

/* Begins an exchange and returns immediately; the buffers belong to the library until it is
 * complete. Starting a handle that is already started ends the job. */
QMP_API_ QMP_status_t QMP_start(QMP_msghandle_t h);
/* Blocks until the exchange is complete; returns success immediately if the handle is not started.
 */
QMP_API_ QMP_status_t QMP_wait(QMP_msghandle_t h);
QMP_API_ QMP_status_t QMP_wait_all(QMP_msghandle_t h[], int num);
/* Whether the exchange is complete (true if the handle is not started); does not block. Once true,
 * the handle counts as waited for. */
QMP_API_ QMP_bool_t QMP_is_complete(QMP_msghandle_t h);

/* ---- Global operations --------------------------------------------------------------------- */

/* All are collective and blocking, work in place, and give the same bits on every node, in every
 * run with the same layout. QMP_INVALID_ARG: a null pointer or a negative length. */
QMP_API_ QMP_status_t QMP_barrier(void);
QMP_API_ QMP_status_t QMP_comm_barrier(QMP_comm_t comm);
/* From node 0. */
QMP_API_ QMP_status_t QMP_broadcast(void* buffer, size_t nbytes);
QMP_API_ QMP_status_t QMP_comm_broadcast(QMP_comm_t comm, void* buffer, size_t nbytes);

QMP_API_ QMP_status_t QMP_sum_int(int* value);
QMP_API_ QMP_status_t QMP_comm_sum_int(QMP_comm_t comm, int* value);
QMP_API_ QMP_status_t QMP_sum_uint64_t(uint64_t* value);
QMP_API_ QMP_status_t QMP_comm_sum_uint64_t(QMP_comm_t comm, uint64_t* value);
QMP_API_ QMP_status_t QMP_sum_float(float* value);
QMP_API_ QMP_status_t QMP_comm_sum_float(QMP_comm_t comm, float* value);
QMP_API_ QMP_status_t QMP_sum_double(double* value);
QMP_API_ QMP_status_t QMP_comm_sum_double(QMP_comm_t comm, double* value);
QMP_API_ QMP_status_t QMP_sum_long_double(long double* value);
QMP_API_ QMP_status_t QMP_comm_sum_long_double(QMP_comm_t comm, long double* value);
/* Summed in long double, rounded once. */
QMP_API_ QMP_status_t QMP_sum_double_extended(double* value);
QMP_API_ QMP_status_t QMP_comm_sum_double_extended(QMP_comm_t comm, double* value);
/* Element by element. */
QMP_API_ QMP_status_t QMP_sum_float_array(float value[], int length);
QMP_API_ QMP_status_t QMP_comm_sum_float_array(QMP_comm_t comm, float value[], int length);
QMP_API_ QMP_status_t QMP_sum_double_array(double value[], int length);
QMP_API_ QMP_status_t QMP_comm_sum_double_array(QMP_comm_t comm, double value[], int length);
QMP_API_ QMP_status_t QMP_sum_long_double_array(long double value[], int length);
QMP_API_ QMP_status_t QMP_comm_sum_long_double_array(QMP_comm_t comm, long double value[],
                                                     int length);
QMP_API_ QMP_status_t QMP_max_float(float* value);
QMP_API_ QMP_status_t QMP_comm_max_float(QMP_comm_t comm, float* value);
QMP_API_ QMP_status_t QMP_max_double(double* value);
QMP_API_ QMP_status_t QMP_comm_max_double(QMP_comm_t comm, double* value);
QMP_API_ QMP_status_t QMP_min_float(float* value);
QMP_API_ QMP_status_t QMP_comm_min_float(QMP_comm_t comm, float* value);
QMP_API_ QMP_status_t QMP_min_double(double* value);
QMP_API_ QMP_status_t QMP_comm_min_double(QMP_comm_t comm, double* value);
QMP_API_ QMP_status_t QMP_xor_ulong(unsigned long* value);
QMP_API_ QMP_status_t QMP_comm_xor_ulong(QMP_comm_t comm, unsigned long* value);

/* Block i (count bytes) of sendbuffer goes to node i, block i of recvbuffer comes from node i. */
QMP_API_ QMP_status_t QMP_comm_alltoall(QMP_comm_t comm, char* recvbuffer, char* sendbuffer,
                                        int count);

/* Combines the buffers of all nodes, buflen bytes each, with a function supplied by the program.
 * The order of application is fixed; the function must be associative. */
QMP_API_ QMP_status_t QMP_binary_reduction(void* lbuffer, size_t buflen, QMP_binary_func bfunc);
QMP_API_ QMP_status_t QMP_comm_binary_reduction(QMP_comm_t comm, void* lbuffer, size_t buflen,
                                                QMP_binary_func bfunc);

/* ---- Errors -------------------------------------------------------------------------------- */

/* The text of a status code. */
QMP_API_ const char* QMP_error_string(QMP_status_t code);
/* The last error of a handle or, with NULL, of any function that does not return a status. */
QMP_API_ QMP_status_t QMP_get_error_number(QMP_msghandle_t mh);
QMP_API_ const char* QMP_get_error_string(QMP_msghandle_t mh);

/* ---- Printing and time --------------------------------------------------------------------- */

/* Sets the verbosity of the library (0: errors only; 1: also how topologies are placed on the
 * machine). Returns the previous level. Works before QMP_init_msg_passing(). */
QMP_API_ int QMP_verbose(int level);
/* A level above 0 sums the time spent in messages and global operations. Returns the previous
 * level. */
QMP_API_ int QMP_profcontrol(int level);
/* Like printf, with "QMP m<node>,n<nodes>@<host>:" before the text and a newline after it. They
 * return the length of the text without these. printf and info write to stdout, error to stderr. */
QMP_API_ int QMP_printf(const char* format, ...);
QMP_API_ int QMP_fprintf(FILE* stream, const char* format, ...);
QMP_API_ int QMP_info(const char* format, ...);
QMP_API_ int QMP_error(const char* format, ...);

/* Seconds since a fixed moment; monotonic. */
QMP_API_ double QMP_time(void);
/* Seconds summed under QMP_profcontrol(). */
QMP_API_ void QMP_reset_total_qmp_time(void);
QMP_API_ double QMP_get_total_qmp_time(void);

/* "2.5.4" and 2005004. */
QMP_API_ const char* QMP_version_str(void);
QMP_API_ int QMP_version_int(void);

#ifdef __cplusplus
}
#endif

/* For parameters that a program must declare and does not use. */
#define _QMP_UNUSED_ARGUMENT(x) ((void)(x))

#endif
