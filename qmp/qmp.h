/* SPDX-License-Identifier: BSD-3-Clause */
/* QMP 2.5.4, the message-passing interface of lattice QCD, on a mesh or torus of processes.
 *
 * What it is for: a program declares once what it will exchange with whom (message memory, message
 * handles), then starts and waits for these handles as often as it likes; sums, broadcasts and
 * barriers over all nodes come beside it.
 *
 * Who owns what: the program owns message buffers and keeps them in place while a handle on them is
 * started. Objects made here (QMP_mem_t, QMP_msgmem_t, QMP_msghandle_t, QMP_comm_t) are freed with
 * the matching QMP_free_... call; pointers to dimensions and coordinates belong to the library
 * unless a function says otherwise.
 *
 * Threads: by the level that QMP_init_msg_passing() provided. Under QMP_THREAD_MULTIPLE any thread
 * may call, but two threads must not use one handle at a time, and communicators are made by one
 * thread at a time. Printing and QMP_time() may be called from any thread at any time.
 *
 * A node number is a process's number in a communicator, from 0. Node numbers and coordinates are
 * always lexicographic: with dimensions L and no map, node = x0 + L0 * (x1 + L1 * (x2 + ...)), so
 * the first dimension runs fastest; with a map p, dimension p[0] runs fastest, then p[1], ...
 * Without -qmp-geom, node numbers are the ranks of the machine. With -qmp-geom, nodes are laid over
 * the machine so that neighbours in that grid are neighbours by cable wherever this is possible,
 * and node numbers may then differ from ranks. A program that takes all coordinates from this
 * library can have every declared topology laid so: see QMP_declare_logical_topology().
 *
 * Errors: functions that return QMP_status_t return QMP_SUCCESS or say what is wrong, and where a
 * value cannot tell, QMP_get_error_number(NULL) keeps the code. Misuse that cannot be continued
 * from (a node out of range, a handle started twice, a message longer than its receive) prints what
 * was found and what was expected, and ends the whole job with exit code 1.
 *
 * Command-line flags, taken out of argv by QMP_init_msg_passing(); each takes all the integers that
 * follow it. A flag that is wrong ends the job with exit code 2.
 *   -qmp-geom 4 4 8       the allocated machine is this grid; "native": the machine's own torus
 *   -qmp-alloc-map 2 1 0  map of the allocated machine's and of the jobs' dimensions
 *   -qmp-logic-map 2 1 0  map used by QMP_declare_logical_topology()
 *   -qmp-job 1 2 1        split the allocated grid in so many jobs along each dimension (without
 *                         -qmp-geom one integer: so many jobs of consecutive nodes)
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

/* How the allocated machine is wired, as far as the job says: a grid with -qmp-geom, else a switch.
 */
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
typedef struct QMP_msgmem_struct* QMP_msgmem_t;       /* where a message lies */
typedef struct QMP_comm_struct* QMP_comm_t;           /* a group of nodes */
typedef struct QMP_msghandle_struct* QMP_msghandle_t; /* one end of a declared message */

/* Combines two whole buffers: inout = inout op in. */
typedef void (*QMP_binary_func)(void* inout, void* in);

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Start and end ------------------------------------------------------------------------- */

/* Joins the job; collective. Takes the flags above out of argv (argv[*argc] stays NULL).
 * *provided is the thread level the program may count on, never above what was asked for. */
QMP_API_ QMP_status_t QMP_init_msg_passing(int* argc, char*** argv, QMP_thread_level_t required,
                                           QMP_thread_level_t* provided);
/* True between QMP_init_msg_passing() and QMP_finalize_msg_passing(). */
QMP_API_ QMP_bool_t QMP_is_initialized(void);
/* Leaves the job; collective. Handles that are not started may still exist; one that is started and
 * not waited for ends the job with a message that names it. */
QMP_API_ void QMP_finalize_msg_passing(void);
/* Ends the whole job; the launcher exits with error_code. Does not return. */
QMP_API_ void QMP_abort(int error_code);
/* The same, with a message first. */
QMP_API_ void QMP_abort_string(int error_code, char* message);

/* ---- Communicators ------------------------------------------------------------------------- */

/* Three communicators exist from the start. Allocated: all nodes. Job: this node's part of it, see
 * -qmp-job. Default: a copy of job; all functions without "_comm_" in their name work on it.
 * The set functions put another communicator in their place on this node; make all nodes agree. */
QMP_API_ QMP_comm_t QMP_comm_get_allocated(void);
QMP_API_ QMP_status_t QMP_comm_set_allocated(QMP_comm_t comm);
QMP_API_ QMP_comm_t QMP_comm_get_job(void);
QMP_API_ QMP_status_t QMP_comm_set_job(QMP_comm_t comm);
QMP_API_ QMP_comm_t QMP_comm_get_default(void);
QMP_API_ QMP_status_t QMP_comm_set_default(QMP_comm_t comm);

/* Collective over comm: nodes of one color make one new communicator, numbered by ascending key,
 * then by their number in comm. A negative color joins none and gets NULL. */
QMP_API_ QMP_status_t QMP_comm_split(QMP_comm_t comm, int color, int key, QMP_comm_t* newcomm);
/* Refuses (QMP_INVALID_ARG) the allocated, job and default communicators. */
QMP_API_ QMP_status_t QMP_comm_free(QMP_comm_t comm);
/* What the split that made comm was given: distinct colors of all nodes; own color; own key. */
QMP_API_ int QMP_comm_get_number_of_colors(QMP_comm_t comm);
QMP_API_ int QMP_comm_get_color(QMP_comm_t comm);
QMP_API_ int QMP_comm_get_key(QMP_comm_t comm);
/* *hiddencomm becomes the address of the MPI_Comm of the same nodes, which lives until comm is freed
 * or QMP ends; MPI comes up for it where the program has not called MPI_Init. QMP_NOTSUPPORTED, and
 * NULL, where the program is linked without the MPI front end. */
QMP_API_ QMP_status_t QMP_get_hidden_comm(QMP_comm_t comm, void** hiddencomm);

/* ---- The machine --------------------------------------------------------------------------- */

QMP_API_ QMP_ictype_t QMP_get_msg_passing_type(void);
QMP_API_ int QMP_get_number_of_nodes(void);
QMP_API_ int QMP_comm_get_number_of_nodes(QMP_comm_t comm);
/* This node's number. */
QMP_API_ int QMP_get_node_number(void);
QMP_API_ int QMP_comm_get_node_number(QMP_comm_t comm);
/* How many jobs -qmp-job made, and which of them this is. */
QMP_API_ int QMP_get_number_of_jobs(void);
QMP_API_ int QMP_get_job_number(void);
/* The grid of this job with both -qmp-geom and -qmp-job; else 0 and NULL. */
QMP_API_ int QMP_get_number_of_job_geometry_dimensions(void);
QMP_API_ const int* QMP_get_job_geometry(void);
/* True on node 0. */
QMP_API_ QMP_bool_t QMP_is_primary_node(void);
QMP_API_ QMP_bool_t QMP_comm_is_primary_node(QMP_comm_t comm);
/* The grid of the allocated machine and this node's place in it; 0 and NULL without -qmp-geom. */
QMP_API_ int QMP_get_allocated_number_of_dimensions(void);
QMP_API_ const int* QMP_get_allocated_dimensions(void);
QMP_API_ const int* QMP_get_allocated_coordinates(void);

/* ---- Files --------------------------------------------------------------------------------- */

/* The node that does input and output for `node`: here each for itself. */
QMP_API_ int QMP_io_node(int node);
/* The node that does it for all: 0. */
QMP_API_ int QMP_master_io_node(void);

/* ---- Logical topology ---------------------------------------------------------------------- */

/* Lays a grid of dims[0..ndim) over the nodes of a communicator, once; collective. The product must
 * be the number of nodes. ndim 0 declares nothing; ndim -1 declares the machine's own torus
 * (communicators of all processes only). A map has mapdim == ndim entries, a permutation; without
 * "_map" the one of -qmp-logic-map is used, or none.
 * QMP_INVALID_ARG: a length below 1, a wrong product, a bad map or ndim. A second declaration ends
 * the job.
 * Environment QMP_PLACEMENT=declared: where no map is given, coordinates are dealt so that
 * neighbours in dims are neighbours by cable wherever possible. Coordinates are then not
 * lexicographic: only for programs that ask QMP_get_node_number_from() for every node number. */
QMP_API_ QMP_status_t QMP_declare_logical_topology(const int dims[], int ndim);
QMP_API_ QMP_status_t QMP_comm_declare_logical_topology(QMP_comm_t comm, const int dims[],
                                                        int ndim);
QMP_API_ QMP_status_t QMP_declare_logical_topology_map(const int dims[], int ndim, const int map[],
                                                       int mapdim);
QMP_API_ QMP_status_t QMP_comm_declare_logical_topology_map(QMP_comm_t comm, const int dims[],
                                                            int ndim, const int map[], int mapdim);
QMP_API_ QMP_bool_t QMP_logical_topology_is_declared(void);
QMP_API_ QMP_bool_t QMP_comm_logical_topology_is_declared(QMP_comm_t comm);
/* 0 and NULL while nothing is declared. */
QMP_API_ int QMP_get_logical_number_of_dimensions(void);
QMP_API_ int QMP_comm_get_logical_number_of_dimensions(QMP_comm_t comm);
QMP_API_ const int* QMP_get_logical_dimensions(void);
QMP_API_ const int* QMP_comm_get_logical_dimensions(QMP_comm_t comm);

/* From here to QMP_comm_get_node_number_from() a topology must be declared, or the job ends. */

/* This node's coordinates, one int a dimension. */
QMP_API_ const int* QMP_get_logical_coordinates(void);
QMP_API_ const int* QMP_comm_get_logical_coordinates(QMP_comm_t comm);
/* Another node's coordinates in memory to be released with free(); NULL, and QMP_NODE_OUTRANGE in
 * QMP_get_error_number(), when there is no such node. */
QMP_API_ int* QMP_get_logical_coordinates_from(int node);
QMP_API_ int* QMP_comm_get_logical_coordinates_from(QMP_comm_t comm, int node);
/* The same into coords[0..ndim); -1 everywhere when there is no such node. */
QMP_API_ void QMP_get_logical_coordinates_from2(int coords[], int node);
QMP_API_ void QMP_comm_get_logical_coordinates_from2(QMP_comm_t comm, int coords[], int node);
/* The node at these coordinates; -1 and QMP_NODE_OUTRANGE when they are outside the grid. */
QMP_API_ int QMP_get_node_number_from(const int coordinates[]);
QMP_API_ int QMP_comm_get_node_number_from(QMP_comm_t comm, const int coordinates[]);

/* ---- The lattice --------------------------------------------------------------------------- */

/* Divides a lattice of dimensions[0..ndims) sites over the nodes of the default communicator, along
 * its logical topology; when none is declared, declares one that divides the longest dimensions.
 * QMP_ERROR when the lattice cannot be divided so. */
QMP_API_ QMP_status_t QMP_layout_grid(const int dimensions[], int ndims);
/* The part of each node: sites in each dimension, and in all. NULL and 0 before. */
QMP_API_ const int* QMP_get_subgrid_dimensions(void);
QMP_API_ int QMP_get_number_of_subgrid_sites(void);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Memory that suits messages (processes on one host reach it directly), aligned to 64 bytes. NULL
 * and QMP_NOMEM_ERR when there is none. Stays valid until freed or until the process ends. */
QMP_API_ QMP_mem_t* QMP_allocate_memory(size_t nbytes);
/* alignment in bytes, 0 for any; flags: QMP_MEM_... added up, a wish that may be ignored. */
QMP_API_ QMP_mem_t* QMP_allocate_aligned_memory(size_t nbytes, size_t alignment, int flags);
QMP_API_ void* QMP_get_memory_pointer(QMP_mem_t* mem);
QMP_API_ void QMP_free_memory(QMP_mem_t* mem);

/* Where a message lies. Sizes and strides are in bytes. NULL and an error code when an argument is
 * negative. May be freed as soon as the handles on it are declared.
 * One block: */
QMP_API_ QMP_msgmem_t QMP_declare_msgmem(const void* mem, size_t nbytes);
/* nblocks blocks of blksize bytes, stride bytes from the start of one to the start of the next: */
QMP_API_ QMP_msgmem_t QMP_declare_strided_msgmem(void* base, size_t blksize, int nblocks,
                                                 ptrdiff_t stride);
/* num of these, one behind the other: */
QMP_API_ QMP_msgmem_t QMP_declare_strided_array_msgmem(void* base[], size_t blksize[],
                                                       int nblocks[], ptrdiff_t stride[], int num);
/* count blocks, the i-th of blocklen[i] elements from element index[i] on, elemsize bytes each: */
QMP_API_ QMP_msgmem_t QMP_declare_indexed_msgmem(void* base, int blocklen[], int index[],
                                                 int elemsize, int count);
QMP_API_ void QMP_free_msgmem(QMP_msgmem_t m);

/* ---- Messages ------------------------------------------------------------------------------ */

/* One end of a message that may be exchanged many times. Messages of one communicator, one pair of
 * nodes and one kind match in the order in which they are started; the kinds, which never mix, are
 * "to/from a node" and "relative" in each direction. A message may be shorter than its receive, not
 * longer. priority is a wish and may be ignored.
 *
 * Relative: along logical dimension `axis`, dir > 0 the neighbour with the next higher coordinate,
 * else the next lower, with wraparound. What one node sends in direction +1 the other receives from
 * direction -1. In a dimension of size 1 the neighbour is the node itself, in one of size 2 both
 * directions lead to the same node and are kept apart. */
QMP_API_ QMP_msghandle_t QMP_declare_receive_relative(QMP_msgmem_t m, int axis, int dir,
                                                      int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_receive_relative(QMP_comm_t comm, QMP_msgmem_t m,
                                                           int axis, int dir, int priority);
QMP_API_ QMP_msghandle_t QMP_declare_send_relative(QMP_msgmem_t m, int axis, int dir, int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_send_relative(QMP_comm_t comm, QMP_msgmem_t m, int axis,
                                                        int dir, int priority);
/* To and from any node, itself included. */
QMP_API_ QMP_msghandle_t QMP_declare_send_to(QMP_msgmem_t m, int rem_node_rank, int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_send_to(QMP_comm_t comm, QMP_msgmem_t m,
                                                  int rem_node_rank, int priority);
QMP_API_ QMP_msghandle_t QMP_declare_receive_from(QMP_msgmem_t m, int rem_node_rank, int priority);
QMP_API_ QMP_msghandle_t QMP_comm_declare_receive_from(QMP_comm_t comm, QMP_msgmem_t m,
                                                       int rem_node_rank, int priority);

/* Moves the memory of a handle that is not started; the shape stays. addr takes the place of the
 * base (of the first base of a strided array: all move together). */
QMP_API_ QMP_status_t QMP_change_address(QMP_msghandle_t msg, void* addr);
/* The same for each part of a multiple, naddr == number of its parts. */
QMP_API_ QMP_status_t QMP_change_address_multiple(QMP_msghandle_t msg, void* addr[], int naddr);

/* NULL is fine. A handle in flight, or a part of a multiple, ends the job. */
QMP_API_ void QMP_free_msghandle(QMP_msghandle_t h);

/* Joins handles in one that starts and completes as a whole and that now owns them: freeing it
 * frees them. The parts of a multiple among them become parts of the new one. num may be 0. */
QMP_API_ QMP_msghandle_t QMP_declare_multiple(QMP_msghandle_t msgh[], int num);
/* The same, with the promise that with every send the receive from that node is among them. */
QMP_API_ QMP_msghandle_t QMP_declare_send_recv_pairs(QMP_msghandle_t msgh[], int num);

/* Tells whether a receive buffer is ready for the next message. Only a hint: a message is never
 * delivered before QMP_start(). For handles that are not started. */
QMP_API_ QMP_status_t QMP_clear_to_send(QMP_msghandle_t mh, QMP_clear_to_send_t cts);

/* Begins an exchange and returns at once; the buffers are the library's until it is complete. A
 * handle already started ends the job. */
QMP_API_ QMP_status_t QMP_start(QMP_msghandle_t h);
/* Blocks until the exchange is complete; success at once on a handle that is not started. */
QMP_API_ QMP_status_t QMP_wait(QMP_msghandle_t h);
QMP_API_ QMP_status_t QMP_wait_all(QMP_msghandle_t h[], int num);
/* Whether the exchange is complete (true on a handle that is not started); does not block. Once
 * true, the handle counts as waited for. */
QMP_API_ QMP_bool_t QMP_is_complete(QMP_msghandle_t h);

/* ---- Global operations --------------------------------------------------------------------- */

/* All are collective and blocking, work in place, and leave the same bits on every node, in every
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
/* Added up in long double, rounded once. */
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

/* Combines the buffers of all nodes, buflen bytes each, with a function of the program's. Its order
 * of application is fixed; it must be associative. */
QMP_API_ QMP_status_t QMP_binary_reduction(void* lbuffer, size_t buflen, QMP_binary_func bfunc);
QMP_API_ QMP_status_t QMP_comm_binary_reduction(QMP_comm_t comm, void* lbuffer, size_t buflen,
                                                QMP_binary_func bfunc);

/* ---- Errors -------------------------------------------------------------------------------- */

/* What a code means. */
QMP_API_ const char* QMP_error_string(QMP_status_t code);
/* The last error of a handle, or with NULL of any function that did not return a status. */
QMP_API_ QMP_status_t QMP_get_error_number(QMP_msghandle_t mh);
QMP_API_ const char* QMP_get_error_string(QMP_msghandle_t mh);

/* ---- Printing and time --------------------------------------------------------------------- */

/* Sets how much the library tells (0: errors only; 1: also how topologies lie on the machine).
 * Returns the level before. Works before QMP_init_msg_passing(). */
QMP_API_ int QMP_verbose(int level);
/* Above 0: the time spent in messages and global operations is added up. Returns the level before.
 */
QMP_API_ int QMP_profcontrol(int level);
/* Like printf, with "QMP m<node>,n<nodes>@<host>:" in front and a newline behind. They return the
 * length of the text without these. printf and info go to stdout, error to stderr. */
QMP_API_ int QMP_printf(const char* format, ...);
QMP_API_ int QMP_fprintf(FILE* stream, const char* format, ...);
QMP_API_ int QMP_info(const char* format, ...);
QMP_API_ int QMP_error(const char* format, ...);

/* Seconds since some fixed moment; steady. */
QMP_API_ double QMP_time(void);
/* Seconds added up under QMP_profcontrol(). */
QMP_API_ void QMP_reset_total_qmp_time(void);
QMP_API_ double QMP_get_total_qmp_time(void);

/* "2.5.4" and 2005004. */
QMP_API_ const char* QMP_version_str(void);
QMP_API_ int QMP_version_int(void);

#ifdef __cplusplus
}
#endif

/* For parameters that a program must take and does not use. */
#define _QMP_UNUSED_ARGUMENT(x) ((void)(x))

#endif
