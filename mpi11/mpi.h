/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI 5.0 in C, on a mesh or torus of processes.
 *
 * Purpose: programs include this header and link libmpi.so; mpicc does both. It declares all of
 * MPI 5.0, and the functions of MPI-1 that later standards removed. mpi11/coverage.md lists every
 * function of the standard and its limits.
 *
 * Binary interface: handles, constants, MPI_Status and callbacks are those of the standard ABI of
 * MPI 5.0. A handle is a pointer; the predefined ones are small integers cast to pointers, the same
 * in C and in Fortran, and may be used in constant initialisers. Constants that this library adds
 * to the ABI have values that the ABI does not use, which their comments state.
 *
 * Ownership: the program owns its buffers and keeps them in place, and unchanged if the standard
 * requires it, until the operation on them is complete. Handles created by the library live until
 * the matching MPI_..._free, and an object until its last use is complete.
 *
 * Threads: by the level that MPI_Init_thread provided. Under MPI_THREAD_MULTIPLE any thread may
 * call at any time, but two threads must not complete the same request at the same time.
 *
 * Errors: every function returns MPI_SUCCESS or an error code, after it has called the error
 * handler of its communicator. The default handler prints rank, function, communicator and the
 * invalid argument with the reason, and ends the job.
 *
 * Profiling: every function exists as MPI_ (a weak name that a tool may define itself) and PMPI_.
 */
#ifndef TORUSMP_MPI_H
#define TORUSMP_MPI_H

/* Programs rely on size_t and ptrdiff_t from the mpi.h of other libraries. */
#include <stddef.h>
#include <stdint.h>

#define TORUSMP 1 /* identifies this library's header */

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

#ifdef __cplusplus
extern "C" {
#endif

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_File* MPI_File;
typedef struct MPI_ABI_Group* MPI_Group;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Message* MPI_Message;
typedef struct MPI_ABI_Op* MPI_Op;
typedef struct MPI_ABI_Request* MPI_Request;
typedef struct MPI_ABI_Session* MPI_Session;
typedef struct MPI_ABI_Win* MPI_Win;

/* The program may read the first three fields; the others are reserved for the library. */
typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
/* TYPE(MPI_Status) of Fortran's module mpi_f08. */
typedef MPI_Status MPI_F08_status;

/* Communicators, groups, files, requests, messages, infos, error handlers. */
#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_GROUP_EMPTY ((MPI_Group)0x109)
#define MPI_FILE_NULL ((MPI_File)0x118)
#define MPI_WIN_NULL ((MPI_Win)0x110)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)0x129)
#define MPI_SESSION_NULL ((MPI_Session)0x120)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_INFO_ENV ((MPI_Info)0x131)
#define MPI_ERRHANDLER_NULL ((MPI_Errhandler)0x140)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_ABORT ((MPI_Errhandler)0x142)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)

/* Operations of reductions. */
#define MPI_OP_NULL ((MPI_Op)0x020)
#define MPI_SUM ((MPI_Op)0x021)
#define MPI_MIN ((MPI_Op)0x022)
#define MPI_MAX ((MPI_Op)0x023)
#define MPI_PROD ((MPI_Op)0x024)
#define MPI_BAND ((MPI_Op)0x028)
#define MPI_BOR ((MPI_Op)0x029)
#define MPI_BXOR ((MPI_Op)0x02a)
#define MPI_LAND ((MPI_Op)0x030)
#define MPI_LOR ((MPI_Op)0x031)
#define MPI_LXOR ((MPI_Op)0x032)
#define MPI_MINLOC ((MPI_Op)0x038)
#define MPI_MAXLOC ((MPI_Op)0x039)
#define MPI_REPLACE ((MPI_Op)0x03c)
#define MPI_NO_OP ((MPI_Op)0x03d)

/* Datatypes of C and C++. */
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_PACKED ((MPI_Datatype)0x207)
#define MPI_CHAR ((MPI_Datatype)0x243)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x244)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x245)
#define MPI_WCHAR ((MPI_Datatype)0x23c)
#define MPI_SHORT ((MPI_Datatype)0x208)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x20c)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_UNSIGNED ((MPI_Datatype)0x20d)
#define MPI_LONG ((MPI_Datatype)0x20a)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x20e)
#define MPI_LONG_LONG ((MPI_Datatype)0x20b)
#define MPI_LONG_LONG_INT ((MPI_Datatype)0x20b)
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x20f)
#define MPI_FLOAT ((MPI_Datatype)0x210)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x220)
#define MPI_C_BOOL ((MPI_Datatype)0x238)
#define MPI_C_FLOAT_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_COMPLEX ((MPI_Datatype)0x212)
#define MPI_C_DOUBLE_COMPLEX ((MPI_Datatype)0x216)
#define MPI_C_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x224)
#define MPI_CXX_BOOL ((MPI_Datatype)0x239)
#define MPI_CXX_FLOAT_COMPLEX ((MPI_Datatype)0x213)
#define MPI_CXX_DOUBLE_COMPLEX ((MPI_Datatype)0x217)
#define MPI_CXX_LONG_DOUBLE_COMPLEX ((MPI_Datatype)0x225)
#define MPI_INT8_T ((MPI_Datatype)0x240)
#define MPI_UINT8_T ((MPI_Datatype)0x241)
#define MPI_INT16_T ((MPI_Datatype)0x248)
#define MPI_UINT16_T ((MPI_Datatype)0x249)
#define MPI_INT32_T ((MPI_Datatype)0x250)
#define MPI_UINT32_T ((MPI_Datatype)0x251)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_AINT ((MPI_Datatype)0x201)
#define MPI_COUNT ((MPI_Datatype)0x202)
#define MPI_OFFSET ((MPI_Datatype)0x203)

/* Pairs for MPI_MINLOC and MPI_MAXLOC. */
#define MPI_FLOAT_INT ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x229)
#define MPI_LONG_INT ((MPI_Datatype)0x22a)
#define MPI_2INT ((MPI_Datatype)0x22b)
#define MPI_SHORT_INT ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT ((MPI_Datatype)0x22d)
#define MPI_2REAL ((MPI_Datatype)0x230)
#define MPI_2DOUBLE_PRECISION ((MPI_Datatype)0x231)
#define MPI_2INTEGER ((MPI_Datatype)0x232)

/* Datatypes of Fortran. */
#define MPI_LOGICAL ((MPI_Datatype)0x218)
#define MPI_INTEGER ((MPI_Datatype)0x219)
#define MPI_REAL ((MPI_Datatype)0x21a)
#define MPI_DOUBLE_PRECISION ((MPI_Datatype)0x21c)
#define MPI_COMPLEX ((MPI_Datatype)0x21b)
#define MPI_DOUBLE_COMPLEX ((MPI_Datatype)0x21d)
#define MPI_CHARACTER ((MPI_Datatype)0x21e)
#define MPI_LOGICAL1 ((MPI_Datatype)0x2c0)
#define MPI_LOGICAL2 ((MPI_Datatype)0x2c8)
#define MPI_LOGICAL4 ((MPI_Datatype)0x2d0)
#define MPI_LOGICAL8 ((MPI_Datatype)0x2d8)
#define MPI_LOGICAL16 ((MPI_Datatype)0x2e0)
#define MPI_INTEGER1 ((MPI_Datatype)0x2c1)
#define MPI_INTEGER2 ((MPI_Datatype)0x2c9)
#define MPI_INTEGER4 ((MPI_Datatype)0x2d1)
#define MPI_INTEGER8 ((MPI_Datatype)0x2d9)
#define MPI_INTEGER16 ((MPI_Datatype)0x2e1)
#define MPI_REAL2 ((MPI_Datatype)0x2ca)
#define MPI_REAL4 ((MPI_Datatype)0x2d2)
#define MPI_REAL8 ((MPI_Datatype)0x2da)
#define MPI_REAL16 ((MPI_Datatype)0x2e2)
#define MPI_COMPLEX4 ((MPI_Datatype)0x2d3)
#define MPI_COMPLEX8 ((MPI_Datatype)0x2db)
#define MPI_COMPLEX16 ((MPI_Datatype)0x2e3)
#define MPI_COMPLEX32 ((MPI_Datatype)0x2eb)

/* The markers of MPI-1 for the ends of a structure. Not part of the ABI, which does not use values
 * from 0x800 on. */
#define MPI_LB ((MPI_Datatype)0x801)
#define MPI_UB ((MPI_Datatype)0x802)

/* Error classes. */
#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_GROUP 9
#define MPI_ERR_OP 10
#define MPI_ERR_TOPOLOGY 11
#define MPI_ERR_DIMS 12
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_PENDING 18
#define MPI_ERR_IN_STATUS 19
#define MPI_ERR_ACCESS 20
#define MPI_ERR_AMODE 21
#define MPI_ERR_ASSERT 22
#define MPI_ERR_BAD_FILE 23
#define MPI_ERR_BASE 24
#define MPI_ERR_CONVERSION 25
#define MPI_ERR_DISP 26
#define MPI_ERR_DUP_DATAREP 27
#define MPI_ERR_FILE_EXISTS 28
#define MPI_ERR_FILE_IN_USE 29
#define MPI_ERR_FILE 30
#define MPI_ERR_INFO_KEY 31
#define MPI_ERR_INFO_NOKEY 32
#define MPI_ERR_INFO_VALUE 33
#define MPI_ERR_INFO 34
#define MPI_ERR_IO 35
#define MPI_ERR_KEYVAL 36
#define MPI_ERR_LOCKTYPE 37
#define MPI_ERR_NAME 38
#define MPI_ERR_NO_MEM 39
#define MPI_ERR_NOT_SAME 40
#define MPI_ERR_NO_SPACE 41
#define MPI_ERR_NO_SUCH_FILE 42
#define MPI_ERR_PORT 43
#define MPI_ERR_QUOTA 44
#define MPI_ERR_READ_ONLY 45
#define MPI_ERR_RMA_ATTACH 46
#define MPI_ERR_RMA_CONFLICT 47
#define MPI_ERR_RMA_RANGE 48
#define MPI_ERR_RMA_SHARED 49
#define MPI_ERR_RMA_SYNC 50
#define MPI_ERR_SERVICE 51
#define MPI_ERR_SIZE 52
#define MPI_ERR_SPAWN 53
#define MPI_ERR_UNSUPPORTED_DATAREP 54
#define MPI_ERR_UNSUPPORTED_OPERATION 55
#define MPI_ERR_WIN 56
#define MPI_ERR_RMA_FLAVOR 57
#define MPI_ERR_PROC_ABORTED 58
#define MPI_ERR_VALUE_TOO_LARGE 59
#define MPI_ERR_SESSION 60
#define MPI_ERR_ERRHANDLER 61
#define MPI_ERR_ABI 62
/* Of calls for jobs that go on when processes die, which the standard does not have yet. */
#define MPI_ERR_PROC_FAILED 101
#define MPI_ERR_PROC_FAILED_PENDING 102
#define MPI_ERR_REVOKED 103
/* Codes of the tools interface, which are no classes for error handlers. */
#define MPI_T_ERR_CANNOT_INIT 1001
#define MPI_T_ERR_NOT_ACCESSIBLE 1002
#define MPI_T_ERR_NOT_INITIALIZED 1003
#define MPI_T_ERR_NOT_SUPPORTED 1004
#define MPI_T_ERR_MEMORY 1005
#define MPI_T_ERR_INVALID 1006
#define MPI_T_ERR_INVALID_INDEX 1007
#define MPI_T_ERR_INVALID_ITEM 1008
#define MPI_T_ERR_INVALID_SESSION 1009
#define MPI_T_ERR_INVALID_HANDLE 1010
#define MPI_T_ERR_INVALID_NAME 1011
#define MPI_T_ERR_OUT_OF_HANDLES 1012
#define MPI_T_ERR_OUT_OF_SESSIONS 1013
#define MPI_T_ERR_CVAR_SET_NOT_NOW 1014
#define MPI_T_ERR_CVAR_SET_NEVER 1015
#define MPI_T_ERR_PVAR_NO_WRITE 1016
#define MPI_T_ERR_PVAR_NO_STARTSTOP 1017
#define MPI_T_ERR_PVAR_NO_ATOMIC 1018
#define MPI_ERR_LASTCODE 16383

/* Ranks and tags with a special meaning. */
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-2)
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)

/* Addresses with a special meaning. */
#define MPI_BOTTOM ((void*)0)
#define MPI_IN_PLACE ((void*)1)
#define MPI_BUFFER_AUTOMATIC ((void*)2)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_F08_STATUS_IGNORE ((MPI_F08_status*)0)
#define MPI_F08_STATUSES_IGNORE ((MPI_F08_status*)0)
#define MPI_ERRCODES_IGNORE ((int*)0)
#define MPI_ARGV_NULL ((char**)0)
#define MPI_ARGVS_NULL ((char***)0)
#define MPI_UNWEIGHTED ((int*)10)
#define MPI_WEIGHTS_EMPTY ((int*)11)

/* Sizes of strings, including the closing null if any, and the overhead of a buffered send. */
#define MPI_MAX_DATAREP_STRING 128
#define MPI_MAX_ERROR_STRING 512
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME 128
#define MPI_MAX_PORT_NAME 1024
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_PSET_NAME_LEN 1024
#define MPI_MAX_STRINGTAG_LEN 1024
#define MPI_BSEND_OVERHEAD 512

/* How a file is opened, from where a pointer into it is moved, and what stands for the place where
 * the view of a sequential file is. */
#define MPI_MODE_APPEND 1
#define MPI_MODE_CREATE 2
#define MPI_MODE_DELETE_ON_CLOSE 4
#define MPI_MODE_EXCL 8
#define MPI_MODE_RDONLY 16
#define MPI_MODE_RDWR 32
#define MPI_MODE_SEQUENTIAL 64
#define MPI_MODE_UNIQUE_OPEN 128
#define MPI_MODE_WRONLY 256
#define MPI_SEEK_CUR 401
#define MPI_SEEK_END 402
#define MPI_SEEK_SET 403
#define MPI_DISPLACEMENT_CURRENT ((MPI_Offset)(-1))

/* Promises of a program about an epoch, kinds of locks, and how a window was made and behaves. */
#define MPI_MODE_NOCHECK 1024
#define MPI_MODE_NOPRECEDE 2048
#define MPI_MODE_NOPUT 4096
#define MPI_MODE_NOSTORE 8192
#define MPI_MODE_NOSUCCEED 16384
#define MPI_LOCK_EXCLUSIVE 301
#define MPI_LOCK_SHARED 302
#define MPI_WIN_FLAVOR_CREATE 311
#define MPI_WIN_FLAVOR_ALLOCATE 312
#define MPI_WIN_FLAVOR_DYNAMIC 313
#define MPI_WIN_FLAVOR_SHARED 314
#define MPI_WIN_UNIFIED 321
#define MPI_WIN_SEPARATE 322

/* Thread levels. */
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1024
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_MULTIPLE 4096

/* Results of comparisons and MPI_Topo_test, and kinds of MPI_Comm_split_type. */
#define MPI_IDENT 201
#define MPI_CONGRUENT 202
#define MPI_SIMILAR 203
#define MPI_UNEQUAL 204
#define MPI_CART 211
#define MPI_GRAPH 212
#define MPI_DIST_GRAPH 213
#define MPI_COMM_TYPE_SHARED 221
#define MPI_COMM_TYPE_HW_UNGUIDED 222
#define MPI_COMM_TYPE_HW_GUIDED 223
#define MPI_COMM_TYPE_RESOURCE_GUIDED 224

/* Constructors of datatypes, and their arguments. */
#define MPI_ORDER_C 12
#define MPI_ORDER_FORTRAN 15
#define MPI_DISTRIBUTE_NONE 16
#define MPI_DISTRIBUTE_BLOCK 17
#define MPI_DISTRIBUTE_CYCLIC 18
#define MPI_DISTRIBUTE_DFLT_DARG 19
#define MPI_TYPECLASS_INTEGER 192
#define MPI_TYPECLASS_REAL 193
#define MPI_TYPECLASS_COMPLEX 194
#define MPI_COMBINER_NAMED 101
#define MPI_COMBINER_DUP 102
#define MPI_COMBINER_CONTIGUOUS 103
#define MPI_COMBINER_VECTOR 104
#define MPI_COMBINER_HVECTOR 105
#define MPI_COMBINER_INDEXED 106
#define MPI_COMBINER_HINDEXED 107
#define MPI_COMBINER_INDEXED_BLOCK 108
#define MPI_COMBINER_HINDEXED_BLOCK 109
#define MPI_COMBINER_STRUCT 110
#define MPI_COMBINER_SUBARRAY 111
#define MPI_COMBINER_DARRAY 112
#define MPI_COMBINER_F90_REAL 113
#define MPI_COMBINER_F90_COMPLEX 114
#define MPI_COMBINER_F90_INTEGER 115
#define MPI_COMBINER_RESIZED 116
#define MPI_COMBINER_VALUE_INDEX 117

/* Types created by the INTEGER-valued routines of MPI-1 in Fortran. Not part of the ABI. */
#define MPI_COMBINER_HVECTOR_INTEGER 2105
#define MPI_COMBINER_HINDEXED_INTEGER 2107
#define MPI_COMBINER_STRUCT_INTEGER 2110

/* Keys of attributes. */
#define MPI_KEYVAL_INVALID 0
#define MPI_TAG_UB 501
#define MPI_IO 502
#define MPI_HOST 503
#define MPI_WTIME_IS_GLOBAL 504
#define MPI_APPNUM 505
#define MPI_LASTUSEDCODE 506
#define MPI_UNIVERSE_SIZE 507
#define MPI_FT 508 /* not in the standard yet: 1 if the job goes on when a process dies, else 0 */

/* Attributes of a window. */
#define MPI_WIN_BASE 601
#define MPI_WIN_DISP_UNIT 602
#define MPI_WIN_SIZE 603
#define MPI_WIN_CREATE_FLAVOR 604
#define MPI_WIN_MODEL 605

/* Fields of a Fortran status, an array of MPI_F_STATUS_SIZE integers; indices count from 0 here. */
#define MPI_F_STATUS_SIZE 8
#define MPI_F_SOURCE 0
#define MPI_F_TAG 1
#define MPI_F_ERROR 2

/* Functions of the program that the library calls. */
typedef void(MPI_User_function)(void* invec, void* inoutvec, int* len, MPI_Datatype* datatype);
typedef void(MPI_User_function_c)(void* invec, void* inoutvec, MPI_Count* len,
                                  MPI_Datatype* datatype);
typedef void(MPI_Comm_errhandler_function)(MPI_Comm* comm, int* error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef void(MPI_File_errhandler_function)(MPI_File* file, int* error_code, ...);
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef void(MPI_Session_errhandler_function)(MPI_Session* session, int* error_code, ...);
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
typedef void(MPI_Win_errhandler_function)(MPI_Win* win, int* error_code, ...);
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef int(MPI_Datarep_extent_function)(MPI_Datatype datatype, MPI_Aint* extent,
                                         void* extra_state);
typedef int(MPI_Datarep_conversion_function)(void* userbuf, MPI_Datatype datatype, int count,
                                             void* filebuf, MPI_Offset position, void* extra_state);
typedef int(MPI_Datarep_conversion_function_c)(void* userbuf, MPI_Datatype datatype,
                                               MPI_Count count, void* filebuf, MPI_Offset position,
                                               void* extra_state);
typedef int(MPI_Comm_copy_attr_function)(MPI_Comm comm, int keyval, void* extra_state,
                                         void* value_in, void* value_out, int* flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm comm, int keyval, void* value,
                                           void* extra_state);
typedef int(MPI_Type_copy_attr_function)(MPI_Datatype datatype, int keyval, void* extra_state,
                                         void* value_in, void* value_out, int* flag);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype datatype, int keyval, void* value,
                                           void* extra_state);
typedef int(MPI_Win_copy_attr_function)(MPI_Win win, int keyval, void* extra_state, void* value_in,
                                        void* value_out, int* flag);
typedef int(MPI_Win_delete_attr_function)(MPI_Win win, int keyval, void* value, void* extra_state);
typedef int(MPI_Grequest_query_function)(void* extra_state, MPI_Status* status);
typedef int(MPI_Grequest_free_function)(void* extra_state);
typedef int(MPI_Grequest_cancel_function)(void* extra_state, int complete);

#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function*)0)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function*)1)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function*)0)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function*)0)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function*)1)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function*)0)
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function*)0)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function*)1)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function*)0)
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function*)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c*)0)

/* The MPI-1 names of these functions. */
typedef MPI_Comm_errhandler_function MPI_Handler_function;
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
#define MPI_NULL_COPY_FN ((MPI_Copy_function*)0)
#define MPI_DUP_FN ((MPI_Copy_function*)1)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function*)0)

/* The tools interface. Its enumerations are types in C. */
typedef struct MPI_ABI_T_enum* MPI_T_enum;
typedef struct MPI_ABI_T_cvar_handle* MPI_T_cvar_handle;
typedef struct MPI_ABI_T_pvar_handle* MPI_T_pvar_handle;
typedef struct MPI_ABI_T_pvar_session* MPI_T_pvar_session;
typedef struct MPI_ABI_T_event_registration* MPI_T_event_registration;
typedef struct MPI_ABI_T_event_instance* MPI_T_event_instance;
#define MPI_T_ENUM_NULL ((MPI_T_enum)0)
#define MPI_T_CVAR_HANDLE_NULL ((MPI_T_cvar_handle)0)
#define MPI_T_PVAR_HANDLE_NULL ((MPI_T_pvar_handle)0)
#define MPI_T_PVAR_ALL_HANDLES ((MPI_T_pvar_handle)1)
#define MPI_T_PVAR_SESSION_NULL ((MPI_T_pvar_session)0)
#define MPI_T_VERBOSITY_USER_BASIC 9
#define MPI_T_VERBOSITY_USER_DETAIL 10
#define MPI_T_VERBOSITY_USER_ALL 12
#define MPI_T_VERBOSITY_TUNER_BASIC 17
#define MPI_T_VERBOSITY_TUNER_DETAIL 18
#define MPI_T_VERBOSITY_TUNER_ALL 20
#define MPI_T_VERBOSITY_MPIDEV_BASIC 33
#define MPI_T_VERBOSITY_MPIDEV_DETAIL 34
#define MPI_T_VERBOSITY_MPIDEV_ALL 36
#define MPI_T_BIND_NO_OBJECT 1
#define MPI_T_BIND_MPI_COMM 2
#define MPI_T_BIND_MPI_DATATYPE 3
#define MPI_T_BIND_MPI_ERRHANDLER 4
#define MPI_T_BIND_MPI_FILE 5
#define MPI_T_BIND_MPI_GROUP 6
#define MPI_T_BIND_MPI_OP 7
#define MPI_T_BIND_MPI_REQUEST 8
#define MPI_T_BIND_MPI_WIN 9
#define MPI_T_BIND_MPI_MESSAGE 10
#define MPI_T_BIND_MPI_INFO 11
#define MPI_T_BIND_MPI_SESSION 12
#define MPI_T_SCOPE_CONSTANT 1
#define MPI_T_SCOPE_READONLY 2
#define MPI_T_SCOPE_LOCAL 3
#define MPI_T_SCOPE_GROUP 4
#define MPI_T_SCOPE_GROUP_EQ 5
#define MPI_T_SCOPE_ALL 6
#define MPI_T_SCOPE_ALL_EQ 7
#define MPI_T_PVAR_CLASS_STATE 1
#define MPI_T_PVAR_CLASS_LEVEL 2
#define MPI_T_PVAR_CLASS_SIZE 3
#define MPI_T_PVAR_CLASS_PERCENTAGE 4
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 5
#define MPI_T_PVAR_CLASS_LOWWATERMARK 6
#define MPI_T_PVAR_CLASS_COUNTER 7
#define MPI_T_PVAR_CLASS_AGGREGATE 8
#define MPI_T_PVAR_CLASS_TIMER 9
#define MPI_T_PVAR_CLASS_GENERIC 10
typedef enum MPI_T_cb_safety {
    MPI_T_CB_REQUIRE_NONE = 0x00,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED = 0x03,
    MPI_T_CB_REQUIRE_THREAD_SAFE = 0x0F,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 0x3F
} MPI_T_cb_safety;
typedef enum MPI_T_source_order {
    MPI_T_SOURCE_ORDERED = 1,
    MPI_T_SOURCE_UNORDERED = 2
} MPI_T_source_order;
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance event_instance,
                                      MPI_T_event_registration event_registration,
                                      MPI_T_cb_safety cb_safety, void* user_data);
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration,
                                           MPI_T_cb_safety cb_safety, void* user_data);
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count,
                                              MPI_T_event_registration event_registration,
                                              int source_index, MPI_T_cb_safety cb_safety,
                                              void* user_data);

/* The functions. Each line declares MPI_name and PMPI_name. Visible also where the compiler hides
 * names; said once, because an attribute of each would cost compilers a tenth of a small program. */
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC visibility push(default)
#endif
#define TORUSMP_FUNCTION(result, name, parameters) \
    result MPI_##name parameters;                  \
    result PMPI_##name parameters;
/* clang-format off */

/* Beginning and end, versions, time. */
TORUSMP_FUNCTION(int, Init, (int* argc, char*** argv))
TORUSMP_FUNCTION(int, Init_thread, (int* argc, char*** argv, int required, int* provided))
TORUSMP_FUNCTION(int, Initialized, (int* flag))
TORUSMP_FUNCTION(int, Finalized, (int* flag))
TORUSMP_FUNCTION(int, Finalize, (void))
TORUSMP_FUNCTION(int, Abort, (MPI_Comm comm, int errorcode))
TORUSMP_FUNCTION(int, Query_thread, (int* provided))
TORUSMP_FUNCTION(int, Is_thread_main, (int* flag))
TORUSMP_FUNCTION(int, Get_version, (int* version, int* subversion))
TORUSMP_FUNCTION(int, Get_library_version, (char* version, int* resultlen))
TORUSMP_FUNCTION(int, Abi_get_version, (int* abi_major, int* abi_minor))
TORUSMP_FUNCTION(int, Abi_get_info, (MPI_Info* info))
TORUSMP_FUNCTION(int, Abi_get_fortran_info, (MPI_Info* info))
TORUSMP_FUNCTION(int, Abi_set_fortran_info, (MPI_Info info))
TORUSMP_FUNCTION(int, Abi_get_fortran_booleans,
                 (int logical_size, void* logical_true, void* logical_false, int* is_set))
TORUSMP_FUNCTION(int, Abi_set_fortran_booleans,
                 (int logical_size, void* logical_true, void* logical_false))
TORUSMP_FUNCTION(int, Get_hw_resource_info, (MPI_Info* hw_info))
TORUSMP_FUNCTION(int, Get_processor_name, (char* name, int* resultlen))
TORUSMP_FUNCTION(double, Wtime, (void))
TORUSMP_FUNCTION(double, Wtick, (void))
TORUSMP_FUNCTION(int, Pcontrol, (const int level, ...))

/* Sending and receiving, blocking. */
TORUSMP_FUNCTION(int, Send,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Bsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Ssend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Rsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Recv,
                 (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Sendrecv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Status* status))
TORUSMP_FUNCTION(int, Sendrecv_replace,
                 (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                  int recvtag, MPI_Comm comm, MPI_Status* status))
TORUSMP_FUNCTION(int, Buffer_attach, (void* buffer, int size))
TORUSMP_FUNCTION(int, Buffer_detach, (void* buffer_addr, int* size))
TORUSMP_FUNCTION(int, Buffer_flush, (void))
TORUSMP_FUNCTION(int, Buffer_iflush, (MPI_Request* request))
TORUSMP_FUNCTION(int, Comm_attach_buffer, (MPI_Comm comm, void* buffer, int size))
TORUSMP_FUNCTION(int, Comm_detach_buffer, (MPI_Comm comm, void* buffer_addr, int* size))
TORUSMP_FUNCTION(int, Comm_flush_buffer, (MPI_Comm comm))
TORUSMP_FUNCTION(int, Comm_iflush_buffer, (MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Get_count, (const MPI_Status* status, MPI_Datatype datatype, int* count))
TORUSMP_FUNCTION(int, Get_elements, (const MPI_Status* status, MPI_Datatype datatype, int* count))
TORUSMP_FUNCTION(int, Get_elements_x,
                 (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count))
TORUSMP_FUNCTION(int, Status_set_cancelled, (MPI_Status* status, int flag))
TORUSMP_FUNCTION(int, Status_set_elements,
                 (MPI_Status* status, MPI_Datatype datatype, int count))
TORUSMP_FUNCTION(int, Status_set_elements_x,
                 (MPI_Status* status, MPI_Datatype datatype, MPI_Count count))
TORUSMP_FUNCTION(int, Status_set_source, (MPI_Status* status, int source))
TORUSMP_FUNCTION(int, Status_set_tag, (MPI_Status* status, int tag))
TORUSMP_FUNCTION(int, Status_set_error, (MPI_Status* status, int error))
TORUSMP_FUNCTION(int, Status_get_source, (const MPI_Status* status, int* source))
TORUSMP_FUNCTION(int, Status_get_tag, (const MPI_Status* status, int* tag))
TORUSMP_FUNCTION(int, Status_get_error, (const MPI_Status* status, int* error))

/* Sending and receiving, non-blocking and persistent. */
TORUSMP_FUNCTION(int, Isend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ibsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Issend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Irsend,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Irecv,
                 (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Isendrecv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                  void* recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Isendrecv_replace,
                 (void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source,
                  int recvtag, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Send_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Bsend_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ssend_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Rsend_init,
                 (const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Recv_init,
                 (void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Start, (MPI_Request* request))
TORUSMP_FUNCTION(int, Startall, (int count, MPI_Request array_of_requests[]))

/* Requests. */
TORUSMP_FUNCTION(int, Wait, (MPI_Request* request, MPI_Status* status))
TORUSMP_FUNCTION(int, Waitany,
                 (int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status))
TORUSMP_FUNCTION(int, Waitall,
                 (int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses))
TORUSMP_FUNCTION(int, Waitsome,
                 (int incount, MPI_Request array_of_requests[], int* outcount,
                  int array_of_indices[], MPI_Status* array_of_statuses))
TORUSMP_FUNCTION(int, Test, (MPI_Request* request, int* flag, MPI_Status* status))
TORUSMP_FUNCTION(int, Testany,
                 (int count, MPI_Request array_of_requests[], int* indx, int* flag,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Testall,
                 (int count, MPI_Request array_of_requests[], int* flag,
                  MPI_Status* array_of_statuses))
TORUSMP_FUNCTION(int, Testsome,
                 (int incount, MPI_Request array_of_requests[], int* outcount,
                  int array_of_indices[], MPI_Status* array_of_statuses))
TORUSMP_FUNCTION(int, Request_free, (MPI_Request* request))
TORUSMP_FUNCTION(int, Request_get_status, (MPI_Request request, int* flag, MPI_Status* status))
TORUSMP_FUNCTION(int, Request_get_status_all,
                 (int count, const MPI_Request array_of_requests[], int* flag,
                  MPI_Status* array_of_statuses))
TORUSMP_FUNCTION(int, Request_get_status_any,
                 (int count, const MPI_Request array_of_requests[], int* indx, int* flag,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Request_get_status_some,
                 (int incount, const MPI_Request array_of_requests[], int* outcount,
                  int array_of_indices[], MPI_Status* array_of_statuses))
TORUSMP_FUNCTION(int, Cancel, (MPI_Request* request))
TORUSMP_FUNCTION(int, Test_cancelled, (const MPI_Status* status, int* flag))
TORUSMP_FUNCTION(int, Grequest_start,
                 (MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                  MPI_Grequest_cancel_function* cancel_fn, void* extra_state, MPI_Request* request))
TORUSMP_FUNCTION(int, Grequest_complete, (MPI_Request request))

/* Messages that have arrived, before they are received. */
TORUSMP_FUNCTION(int, Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status))
TORUSMP_FUNCTION(int, Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status))
TORUSMP_FUNCTION(int, Mprobe,
                 (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status))
TORUSMP_FUNCTION(int, Improbe,
                 (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Mrecv,
                 (void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Imrecv,
                 (void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Request* request))

/* Datatypes. */
TORUSMP_FUNCTION(int, Type_contiguous, (int count, MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_vector,
                 (int count, int blocklength, int stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_hvector,
                 (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_indexed,
                 (int count, const int array_of_blocklengths[], const int array_of_displacements[],
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_hindexed,
                 (int count, const int array_of_blocklengths[],
                  const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_indexed_block,
                 (int count, int blocklength, const int array_of_displacements[],
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_hindexed_block,
                 (int count, int blocklength, const MPI_Aint array_of_displacements[],
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_struct,
                 (int count, const int array_of_blocklengths[],
                  const MPI_Aint array_of_displacements[], const MPI_Datatype array_of_types[],
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_subarray,
                 (int ndims, const int array_of_sizes[], const int array_of_subsizes[],
                  const int array_of_starts[], int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_darray,
                 (int size, int rank, int ndims, const int array_of_gsizes[],
                  const int array_of_distribs[], const int array_of_dargs[],
                  const int array_of_psizes[], int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_resized,
                 (MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_dup, (MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_commit, (MPI_Datatype* datatype))
TORUSMP_FUNCTION(int, Type_free, (MPI_Datatype* datatype))
TORUSMP_FUNCTION(int, Type_size, (MPI_Datatype datatype, int* size))
TORUSMP_FUNCTION(int, Type_size_x, (MPI_Datatype datatype, MPI_Count* size))
TORUSMP_FUNCTION(int, Type_get_extent, (MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent))
TORUSMP_FUNCTION(int, Type_get_extent_x, (MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent))
TORUSMP_FUNCTION(int, Type_get_true_extent,
                 (MPI_Datatype datatype, MPI_Aint* true_lb, MPI_Aint* true_extent))
TORUSMP_FUNCTION(int, Type_get_true_extent_x,
                 (MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent))
TORUSMP_FUNCTION(int, Type_get_envelope,
                 (MPI_Datatype datatype, int* num_integers, int* num_addresses, int* num_datatypes,
                  int* combiner))
TORUSMP_FUNCTION(int, Type_get_contents,
                 (MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                  int array_of_integers[], MPI_Aint array_of_addresses[],
                  MPI_Datatype array_of_datatypes[]))
TORUSMP_FUNCTION(int, Type_create_f90_real, (int p, int r, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_f90_complex, (int p, int r, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_f90_integer, (int r, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_match_size, (int typeclass, int size, MPI_Datatype* datatype))
TORUSMP_FUNCTION(int, Type_get_value_index,
                 (MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type))
TORUSMP_FUNCTION(int, Type_set_name, (MPI_Datatype datatype, const char* type_name))
TORUSMP_FUNCTION(int, Type_get_name, (MPI_Datatype datatype, char* type_name, int* resultlen))
TORUSMP_FUNCTION(int, Type_create_keyval,
                 (MPI_Type_copy_attr_function* type_copy_attr_fn,
                  MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                  void* extra_state))
TORUSMP_FUNCTION(int, Type_free_keyval, (int* type_keyval))
TORUSMP_FUNCTION(int, Type_set_attr, (MPI_Datatype datatype, int type_keyval, void* attribute_val))
TORUSMP_FUNCTION(int, Type_get_attr,
                 (MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag))
TORUSMP_FUNCTION(int, Type_delete_attr, (MPI_Datatype datatype, int type_keyval))
TORUSMP_FUNCTION(int, Get_address, (const void* location, MPI_Aint* address))
TORUSMP_FUNCTION(MPI_Aint, Aint_add, (MPI_Aint base, MPI_Aint disp))
TORUSMP_FUNCTION(MPI_Aint, Aint_diff, (MPI_Aint addr1, MPI_Aint addr2))
TORUSMP_FUNCTION(int, Pack,
                 (const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize,
                  int* position, MPI_Comm comm))
TORUSMP_FUNCTION(int, Unpack,
                 (const void* inbuf, int insize, int* position, void* outbuf, int outcount,
                  MPI_Datatype datatype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Pack_size, (int incount, MPI_Datatype datatype, MPI_Comm comm, int* size))
TORUSMP_FUNCTION(int, Pack_external,
                 (const char* datarep, const void* inbuf, int incount, MPI_Datatype datatype,
                  void* outbuf, MPI_Aint outsize, MPI_Aint* position))
TORUSMP_FUNCTION(int, Unpack_external,
                 (const char* datarep, const void* inbuf, MPI_Aint insize, MPI_Aint* position,
                  void* outbuf, int outcount, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, Pack_external_size,
                 (const char* datarep, int incount, MPI_Datatype datatype, MPI_Aint* size))

/* Collectives, blocking. */
TORUSMP_FUNCTION(int, Barrier, (MPI_Comm comm))
TORUSMP_FUNCTION(int, Bcast,
                 (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Gather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Gatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Scatter,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Scatterv,
                 (const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Allgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Allgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Alltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Alltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Alltoallw,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Allreduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_scatter,
                 (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_scatter_block,
                 (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Scan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Exscan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_local,
                 (const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op))
TORUSMP_FUNCTION(int, Op_create, (MPI_User_function* user_fn, int commute, MPI_Op* op))
TORUSMP_FUNCTION(int, Op_free, (MPI_Op* op))
TORUSMP_FUNCTION(int, Op_commutative, (MPI_Op op, int* commute))

/* Collectives, non-blocking. */
TORUSMP_FUNCTION(int, Ibarrier, (MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ibcast,
                 (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Igather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Igatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iscatter,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Iscatterv,
                 (const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iallgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iallgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Ialltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ialltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ialltoallw,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Ireduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  int root, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iallreduce,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ireduce_scatter,
                 (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ireduce_scatter_block,
                 (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iscan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iexscan,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request))

/* Collectives, persistent. */
TORUSMP_FUNCTION(int, Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Bcast_init,
                 (void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Gather_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Gatherv_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Scatter_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Scatterv_init,
                 (const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Allgather_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Allgatherv_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Alltoall_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Alltoallv_init,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Alltoallw_init,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Reduce_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Allreduce_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Reduce_scatter_init,
                 (const void* sendbuf, void* recvbuf, const int recvcounts[], MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Reduce_scatter_block_init,
                 (const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Scan_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Exscan_init,
                 (const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))

/* Collectives with the neighbours of a topology. */
TORUSMP_FUNCTION(int, Neighbor_allgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_allgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_alltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_alltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_alltoallw,
                 (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
TORUSMP_FUNCTION(int, Ineighbor_allgather,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_allgatherv,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_alltoall,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_alltoallv,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_alltoallw,
                 (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_allgather_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_allgatherv_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_alltoall_init,
                 (const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_alltoallv_init,
                 (const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_alltoallw_init,
                 (const void* sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))

/* Groups. */
TORUSMP_FUNCTION(int, Group_size, (MPI_Group group, int* size))
TORUSMP_FUNCTION(int, Group_rank, (MPI_Group group, int* rank))
TORUSMP_FUNCTION(int, Group_translate_ranks,
                 (MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]))
TORUSMP_FUNCTION(int, Group_compare, (MPI_Group group1, MPI_Group group2, int* result))
TORUSMP_FUNCTION(int, Comm_group, (MPI_Comm comm, MPI_Group* group))
TORUSMP_FUNCTION(int, Group_union, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_intersection, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_difference, (MPI_Group group1, MPI_Group group2, MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_excl, (MPI_Group group, int n, const int ranks[], MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_range_incl,
                 (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_range_excl,
                 (MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Group_free, (MPI_Group* group))

/* Communicators. */
TORUSMP_FUNCTION(int, Comm_size, (MPI_Comm comm, int* size))
TORUSMP_FUNCTION(int, Comm_rank, (MPI_Comm comm, int* rank))
TORUSMP_FUNCTION(int, Comm_compare, (MPI_Comm comm1, MPI_Comm comm2, int* result))
TORUSMP_FUNCTION(int, Comm_dup, (MPI_Comm comm, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_idup, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request))
TORUSMP_FUNCTION(int, Comm_idup_with_info,
                 (MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request))
TORUSMP_FUNCTION(int, Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_create_group,
                 (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_split_type,
                 (MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_free, (MPI_Comm* comm))
TORUSMP_FUNCTION(int, Comm_disconnect, (MPI_Comm* comm))
TORUSMP_FUNCTION(int, Comm_set_info, (MPI_Comm comm, MPI_Info info))
TORUSMP_FUNCTION(int, Comm_get_info, (MPI_Comm comm, MPI_Info* info_used))
TORUSMP_FUNCTION(int, Comm_set_name, (MPI_Comm comm, const char* comm_name))
TORUSMP_FUNCTION(int, Comm_get_name, (MPI_Comm comm, char* comm_name, int* resultlen))
TORUSMP_FUNCTION(int, Comm_test_inter, (MPI_Comm comm, int* flag))
TORUSMP_FUNCTION(int, Comm_remote_size, (MPI_Comm comm, int* size))
TORUSMP_FUNCTION(int, Comm_remote_group, (MPI_Comm comm, MPI_Group* group))
TORUSMP_FUNCTION(int, Intercomm_create,
                 (MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                  int tag, MPI_Comm* newintercomm))
TORUSMP_FUNCTION(int, Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm* newintracomm))
TORUSMP_FUNCTION(int, Comm_create_keyval,
                 (MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                  MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                  void* extra_state))
TORUSMP_FUNCTION(int, Comm_free_keyval, (int* comm_keyval))
TORUSMP_FUNCTION(int, Comm_set_attr, (MPI_Comm comm, int comm_keyval, void* attribute_val))
TORUSMP_FUNCTION(int, Comm_get_attr,
                 (MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag))
TORUSMP_FUNCTION(int, Comm_delete_attr, (MPI_Comm comm, int comm_keyval))

/* Topologies. */
TORUSMP_FUNCTION(int, Topo_test, (MPI_Comm comm, int* status))
TORUSMP_FUNCTION(int, Dims_create, (int nnodes, int ndims, int dims[]))
TORUSMP_FUNCTION(int, Cart_create,
                 (MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                  MPI_Comm* comm_cart))
TORUSMP_FUNCTION(int, Cartdim_get, (MPI_Comm comm, int* ndims))
TORUSMP_FUNCTION(int, Cart_get,
                 (MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]))
TORUSMP_FUNCTION(int, Cart_rank, (MPI_Comm comm, const int coords[], int* rank))
TORUSMP_FUNCTION(int, Cart_coords, (MPI_Comm comm, int rank, int maxdims, int coords[]))
TORUSMP_FUNCTION(int, Cart_shift,
                 (MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest))
TORUSMP_FUNCTION(int, Cart_sub, (MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Cart_map,
                 (MPI_Comm comm, int ndims, const int dims[], const int periods[], int* newrank))
TORUSMP_FUNCTION(int, Graph_create,
                 (MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
                  MPI_Comm* comm_graph))
TORUSMP_FUNCTION(int, Graphdims_get, (MPI_Comm comm, int* nnodes, int* nedges))
TORUSMP_FUNCTION(int, Graph_get,
                 (MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[]))
TORUSMP_FUNCTION(int, Graph_neighbors_count, (MPI_Comm comm, int rank, int* nneighbors))
TORUSMP_FUNCTION(int, Graph_neighbors, (MPI_Comm comm, int rank, int maxneighbors, int neighbors[]))
TORUSMP_FUNCTION(int, Graph_map,
                 (MPI_Comm comm, int nnodes, const int index[], const int edges[], int* newrank))
/* Weights are pointers, not arrays: compilers warn if MPI_UNWEIGHTED is passed as an array. */
TORUSMP_FUNCTION(int, Dist_graph_create_adjacent,
                 (MPI_Comm comm_old, int indegree, const int sources[], const int* sourceweights,
                  int outdegree, const int destinations[], const int* destweights, MPI_Info info,
                  int reorder, MPI_Comm* comm_dist_graph))
TORUSMP_FUNCTION(int, Dist_graph_create,
                 (MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                  const int destinations[], const int* weights, MPI_Info info, int reorder,
                  MPI_Comm* comm_dist_graph))
TORUSMP_FUNCTION(int, Dist_graph_neighbors_count,
                 (MPI_Comm comm, int* indegree, int* outdegree, int* weighted))
TORUSMP_FUNCTION(int, Dist_graph_neighbors,
                 (MPI_Comm comm, int maxindegree, int sources[], int* sourceweights,
                  int maxoutdegree, int destinations[], int* destweights))

/* Errors. */
TORUSMP_FUNCTION(int, Comm_create_errhandler,
                 (MPI_Comm_errhandler_function* comm_errhandler_fn, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler errhandler))
TORUSMP_FUNCTION(int, Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Comm_call_errhandler, (MPI_Comm comm, int errorcode))
TORUSMP_FUNCTION(int, Errhandler_free, (MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Error_string, (int errorcode, char* string, int* resultlen))
TORUSMP_FUNCTION(int, Error_class, (int errorcode, int* errorclass))
TORUSMP_FUNCTION(int, Add_error_class, (int* errorclass))
TORUSMP_FUNCTION(int, Add_error_code, (int errorclass, int* errorcode))
TORUSMP_FUNCTION(int, Add_error_string, (int errorcode, const char* string))
TORUSMP_FUNCTION(int, Remove_error_class, (int errorclass))
TORUSMP_FUNCTION(int, Remove_error_code, (int errorcode))
TORUSMP_FUNCTION(int, Remove_error_string, (int errorcode))

/* Memory and info. */
TORUSMP_FUNCTION(int, Alloc_mem, (MPI_Aint size, MPI_Info info, void* baseptr))
TORUSMP_FUNCTION(int, Free_mem, (void* base))
TORUSMP_FUNCTION(int, Info_create, (MPI_Info* info))
TORUSMP_FUNCTION(int, Info_create_env, (int argc, char* argv[], MPI_Info* info))
TORUSMP_FUNCTION(int, Info_set, (MPI_Info info, const char* key, const char* value))
TORUSMP_FUNCTION(int, Info_delete, (MPI_Info info, const char* key))
TORUSMP_FUNCTION(int, Info_get,
                 (MPI_Info info, const char* key, int valuelen, char* value, int* flag))
TORUSMP_FUNCTION(int, Info_get_string,
                 (MPI_Info info, const char* key, int* buflen, char* value, int* flag))
TORUSMP_FUNCTION(int, Info_get_valuelen, (MPI_Info info, const char* key, int* valuelen, int* flag))
TORUSMP_FUNCTION(int, Info_get_nkeys, (MPI_Info info, int* nkeys))
TORUSMP_FUNCTION(int, Info_get_nthkey, (MPI_Info info, int n, char* key))
TORUSMP_FUNCTION(int, Info_dup, (MPI_Info info, MPI_Info* newinfo))
TORUSMP_FUNCTION(int, Info_free, (MPI_Info* info))

/* Files: opening them, what they are, which part a process sees. Offsets are in etypes of the view,
 * sizes in bytes. Errors go to the handler of the file, by default MPI_ERRORS_RETURN; those of
 * opening and deleting to the handler of MPI_FILE_NULL. */
TORUSMP_FUNCTION(int, File_open,
                 (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh))
TORUSMP_FUNCTION(int, File_close, (MPI_File* fh))
TORUSMP_FUNCTION(int, File_delete, (const char* filename, MPI_Info info))
TORUSMP_FUNCTION(int, File_set_size, (MPI_File fh, MPI_Offset size))
TORUSMP_FUNCTION(int, File_preallocate, (MPI_File fh, MPI_Offset size))
TORUSMP_FUNCTION(int, File_get_size, (MPI_File fh, MPI_Offset* size))
TORUSMP_FUNCTION(int, File_get_group, (MPI_File fh, MPI_Group* group))
TORUSMP_FUNCTION(int, File_get_amode, (MPI_File fh, int* amode))
TORUSMP_FUNCTION(int, File_set_info, (MPI_File fh, MPI_Info info))
TORUSMP_FUNCTION(int, File_get_info, (MPI_File fh, MPI_Info* info_used))
TORUSMP_FUNCTION(int, File_set_view,
                 (MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, MPI_Info info))
TORUSMP_FUNCTION(int, File_get_view,
                 (MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep))
TORUSMP_FUNCTION(int, File_get_type_extent, (MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent))
TORUSMP_FUNCTION(int, File_get_byte_offset, (MPI_File fh, MPI_Offset offset, MPI_Offset* disp))
TORUSMP_FUNCTION(int, File_set_atomicity, (MPI_File fh, int flag))
TORUSMP_FUNCTION(int, File_get_atomicity, (MPI_File fh, int* flag))
TORUSMP_FUNCTION(int, File_sync, (MPI_File fh))
TORUSMP_FUNCTION(int, Register_datarep,
                 (const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                  MPI_Datarep_conversion_function* write_conversion_fn,
                  MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state))

/* Files: reading and writing at an offset of the call, at the file pointer of each process, and at
 * the pointer that all share. */
TORUSMP_FUNCTION(int, File_read_at,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_at,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_at_all,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_at_all,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_all,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_all,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_seek, (MPI_File fh, MPI_Offset offset, int whence))
TORUSMP_FUNCTION(int, File_get_position, (MPI_File fh, MPI_Offset* offset))
TORUSMP_FUNCTION(int, File_read_shared,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_shared,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_ordered,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_ordered,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence))
TORUSMP_FUNCTION(int, File_get_position_shared, (MPI_File fh, MPI_Offset* offset))

/* Files: without waiting. */
TORUSMP_FUNCTION(int, File_iread_at,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_at,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_at_all,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_at_all,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_all,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_all,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_shared,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype, MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_shared,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype,
                  MPI_Request* request))

/* Files: collective calls in two halves. */
TORUSMP_FUNCTION(int, File_read_at_all_begin,
                 (MPI_File fh, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_write_at_all_begin,
                 (MPI_File fh, MPI_Offset offset, const void* buf, int count,
                  MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_read_at_all_end, (MPI_File fh, void* buf, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_at_all_end, (MPI_File fh, const void* buf, MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_all_begin,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_write_all_begin,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_read_all_end, (MPI_File fh, void* buf, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_all_end, (MPI_File fh, const void* buf, MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_ordered_begin,
                 (MPI_File fh, void* buf, int count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_write_ordered_begin,
                 (MPI_File fh, const void* buf, int count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_read_ordered_end, (MPI_File fh, void* buf, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_ordered_end, (MPI_File fh, const void* buf, MPI_Status* status))

/* Files: error handlers. */
TORUSMP_FUNCTION(int, File_create_errhandler,
                 (MPI_File_errhandler_function* file_errhandler_fn, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler))
TORUSMP_FUNCTION(int, File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, File_call_errhandler, (MPI_File fh, int errorcode))

/* Windows: memory that other processes reach without a call of its owner (MPI-5.0, chapter 12).
 * The model is MPI_WIN_UNIFIED. */
TORUSMP_FUNCTION(int, Win_create,
                 (void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win))
TORUSMP_FUNCTION(int, Win_allocate,
                 (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
TORUSMP_FUNCTION(int, Win_allocate_shared,
                 (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
TORUSMP_FUNCTION(int, Win_shared_query,
                 (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr))
TORUSMP_FUNCTION(int, Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win))
TORUSMP_FUNCTION(int, Win_attach, (MPI_Win win, void* base, MPI_Aint size))
TORUSMP_FUNCTION(int, Win_detach, (MPI_Win win, const void* base))
TORUSMP_FUNCTION(int, Win_free, (MPI_Win* win))
TORUSMP_FUNCTION(int, Win_get_group, (MPI_Win win, MPI_Group* group))
TORUSMP_FUNCTION(int, Win_set_info, (MPI_Win win, MPI_Info info))
TORUSMP_FUNCTION(int, Win_get_info, (MPI_Win win, MPI_Info* info_used))
TORUSMP_FUNCTION(int, Win_set_name, (MPI_Win win, const char* win_name))
TORUSMP_FUNCTION(int, Win_get_name, (MPI_Win win, char* win_name, int* resultlen))

/* Windows: moving data. */
TORUSMP_FUNCTION(int, Put,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
TORUSMP_FUNCTION(int, Get,
                 (void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
TORUSMP_FUNCTION(int, Accumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
TORUSMP_FUNCTION(int, Get_accumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, int result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
TORUSMP_FUNCTION(int, Fetch_and_op,
                 (const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win))
TORUSMP_FUNCTION(int, Compare_and_swap,
                 (const void* origin_addr, const void* compare_addr, void* result_addr,
                  MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win))
TORUSMP_FUNCTION(int, Rput,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Rget,
                 (void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Raccumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Rget_accumulate,
                 (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, int result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))

/* Windows: epochs, and the completion of what moved data. */
TORUSMP_FUNCTION(int, Win_fence, (int assert, MPI_Win win))
TORUSMP_FUNCTION(int, Win_post, (MPI_Group group, int assert, MPI_Win win))
TORUSMP_FUNCTION(int, Win_start, (MPI_Group group, int assert, MPI_Win win))
TORUSMP_FUNCTION(int, Win_complete, (MPI_Win win))
TORUSMP_FUNCTION(int, Win_wait, (MPI_Win win))
TORUSMP_FUNCTION(int, Win_test, (MPI_Win win, int* flag))
TORUSMP_FUNCTION(int, Win_lock, (int lock_type, int rank, int assert, MPI_Win win))
TORUSMP_FUNCTION(int, Win_unlock, (int rank, MPI_Win win))
TORUSMP_FUNCTION(int, Win_lock_all, (int assert, MPI_Win win))
TORUSMP_FUNCTION(int, Win_unlock_all, (MPI_Win win))
TORUSMP_FUNCTION(int, Win_flush, (int rank, MPI_Win win))
TORUSMP_FUNCTION(int, Win_flush_all, (MPI_Win win))
TORUSMP_FUNCTION(int, Win_flush_local, (int rank, MPI_Win win))
TORUSMP_FUNCTION(int, Win_flush_local_all, (MPI_Win win))
TORUSMP_FUNCTION(int, Win_sync, (MPI_Win win))

/* Windows: attributes and error handlers. */
TORUSMP_FUNCTION(int, Win_create_keyval,
                 (MPI_Win_copy_attr_function* win_copy_attr_fn,
                  MPI_Win_delete_attr_function* win_delete_attr_fn, int* win_keyval,
                  void* extra_state))
TORUSMP_FUNCTION(int, Win_free_keyval, (int* win_keyval))
TORUSMP_FUNCTION(int, Win_set_attr, (MPI_Win win, int win_keyval, void* attribute_val))
TORUSMP_FUNCTION(int, Win_get_attr, (MPI_Win win, int win_keyval, void* attribute_val, int* flag))
TORUSMP_FUNCTION(int, Win_delete_attr, (MPI_Win win, int win_keyval))
TORUSMP_FUNCTION(int, Win_create_errhandler,
                 (MPI_Win_errhandler_function* win_errhandler_fn, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler))
TORUSMP_FUNCTION(int, Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Win_call_errhandler, (MPI_Win win, int errorcode))

/* Handles and statuses between C and Fortran. Predefined handles are the same integer in both. */
TORUSMP_FUNCTION(MPI_Fint, Comm_c2f, (MPI_Comm comm))
TORUSMP_FUNCTION(MPI_Comm, Comm_f2c, (MPI_Fint comm))
TORUSMP_FUNCTION(MPI_Fint, Type_c2f, (MPI_Datatype datatype))
TORUSMP_FUNCTION(MPI_Datatype, Type_f2c, (MPI_Fint datatype))
TORUSMP_FUNCTION(MPI_Fint, Group_c2f, (MPI_Group group))
TORUSMP_FUNCTION(MPI_Group, Group_f2c, (MPI_Fint group))
TORUSMP_FUNCTION(MPI_Fint, Request_c2f, (MPI_Request request))
TORUSMP_FUNCTION(MPI_Request, Request_f2c, (MPI_Fint request))
TORUSMP_FUNCTION(MPI_Fint, Op_c2f, (MPI_Op op))
TORUSMP_FUNCTION(MPI_Op, Op_f2c, (MPI_Fint op))
TORUSMP_FUNCTION(MPI_Fint, Info_c2f, (MPI_Info info))
TORUSMP_FUNCTION(MPI_Info, Info_f2c, (MPI_Fint info))
TORUSMP_FUNCTION(MPI_Fint, Errhandler_c2f, (MPI_Errhandler errhandler))
TORUSMP_FUNCTION(MPI_Errhandler, Errhandler_f2c, (MPI_Fint errhandler))
TORUSMP_FUNCTION(MPI_Fint, File_c2f, (MPI_File file))
TORUSMP_FUNCTION(MPI_File, File_f2c, (MPI_Fint file))
TORUSMP_FUNCTION(MPI_Fint, Win_c2f, (MPI_Win win))
TORUSMP_FUNCTION(MPI_Win, Win_f2c, (MPI_Fint win))
TORUSMP_FUNCTION(MPI_Fint, Message_c2f, (MPI_Message message))
TORUSMP_FUNCTION(MPI_Message, Message_f2c, (MPI_Fint message))
TORUSMP_FUNCTION(int, Status_c2f, (const MPI_Status* c_status, MPI_Fint* f_status))
TORUSMP_FUNCTION(int, Status_f2c, (const MPI_Fint* f_status, MPI_Status* c_status))
TORUSMP_FUNCTION(int, Status_c2f08, (const MPI_Status* c_status, MPI_F08_status* f08_status))
TORUSMP_FUNCTION(int, Status_f082c, (const MPI_F08_status* f08_status, MPI_Status* c_status))
TORUSMP_FUNCTION(int, Status_f2f08, (const MPI_Fint* f_status, MPI_F08_status* f08_status))
TORUSMP_FUNCTION(int, Status_f082f, (const MPI_F08_status* f08_status, MPI_Fint* f_status))
TORUSMP_FUNCTION(int, File_toint, (MPI_File file))
TORUSMP_FUNCTION(MPI_File, File_fromint, (int file))
TORUSMP_FUNCTION(int, Win_toint, (MPI_Win win))
TORUSMP_FUNCTION(MPI_Win, Win_fromint, (int win))
TORUSMP_FUNCTION(int, Comm_toint, (MPI_Comm comm))
TORUSMP_FUNCTION(MPI_Comm, Comm_fromint, (int comm))
TORUSMP_FUNCTION(int, Type_toint, (MPI_Datatype datatype))
TORUSMP_FUNCTION(MPI_Datatype, Type_fromint, (int datatype))
TORUSMP_FUNCTION(int, Group_toint, (MPI_Group group))
TORUSMP_FUNCTION(MPI_Group, Group_fromint, (int group))
TORUSMP_FUNCTION(int, Request_toint, (MPI_Request request))
TORUSMP_FUNCTION(MPI_Request, Request_fromint, (int request))
TORUSMP_FUNCTION(int, Op_toint, (MPI_Op op))
TORUSMP_FUNCTION(MPI_Op, Op_fromint, (int op))
TORUSMP_FUNCTION(int, Info_toint, (MPI_Info info))
TORUSMP_FUNCTION(MPI_Info, Info_fromint, (int info))
TORUSMP_FUNCTION(int, Errhandler_toint, (MPI_Errhandler errhandler))
TORUSMP_FUNCTION(MPI_Errhandler, Errhandler_fromint, (int errhandler))
TORUSMP_FUNCTION(int, Message_toint, (MPI_Message message))
TORUSMP_FUNCTION(MPI_Message, Message_fromint, (int message))

/* The functions above with counts of 64 bits. For C only: in Fortran the standard defines them only
 * in the module mpi_f08. */
TORUSMP_FUNCTION(int, Send_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Bsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Ssend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Rsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Recv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Status* status))
TORUSMP_FUNCTION(int, Sendrecv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                  int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int source, int recvtag, MPI_Comm comm, MPI_Status* status))
TORUSMP_FUNCTION(int, Sendrecv_replace_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                  int source, int recvtag, MPI_Comm comm, MPI_Status* status))
TORUSMP_FUNCTION(int, Buffer_attach_c, (void* buffer, MPI_Count size))
TORUSMP_FUNCTION(int, Buffer_detach_c, (void* buffer_addr, MPI_Count* size))
TORUSMP_FUNCTION(int, Comm_attach_buffer_c, (MPI_Comm comm, void* buffer, MPI_Count size))
TORUSMP_FUNCTION(int, Comm_detach_buffer_c, (MPI_Comm comm, void* buffer_addr, MPI_Count* size))
TORUSMP_FUNCTION(int, Get_count_c,
                 (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count))
TORUSMP_FUNCTION(int, Get_elements_c,
                 (const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count))
TORUSMP_FUNCTION(int, Status_set_elements_c,
                 (MPI_Status* status, MPI_Datatype datatype, MPI_Count count))
TORUSMP_FUNCTION(int, Isend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ibsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Issend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Irsend_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Irecv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Isendrecv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                  int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int source, int recvtag, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Isendrecv_replace_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                  int source, int recvtag, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Send_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Bsend_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ssend_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Rsend_init_c,
                 (const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Recv_init_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Mrecv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Imrecv_c,
                 (void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Type_contiguous_c,
                 (MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_vector_c,
                 (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_hvector_c,
                 (MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_indexed_c,
                 (MPI_Count count, const MPI_Count array_of_blocklengths[],
                  const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_hindexed_c,
                 (MPI_Count count, const MPI_Count array_of_blocklengths[],
                  const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_indexed_block_c,
                 (MPI_Count count, MPI_Count blocklength, const MPI_Count array_of_displacements[],
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_hindexed_block_c,
                 (MPI_Count count, MPI_Count blocklength, const MPI_Count array_of_displacements[],
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_struct_c,
                 (MPI_Count count, const MPI_Count array_of_blocklengths[],
                  const MPI_Count array_of_displacements[], const MPI_Datatype array_of_types[],
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_subarray_c,
                 (int ndims, const MPI_Count array_of_sizes[], const MPI_Count array_of_subsizes[],
                  const MPI_Count array_of_starts[], int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_darray_c,
                 (int size, int rank, int ndims, const MPI_Count array_of_gsizes[],
                  const int array_of_distribs[], const int array_of_dargs[],
                  const int array_of_psizes[], int order, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_create_resized_c,
                 (MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_size_c, (MPI_Datatype datatype, MPI_Count* size))
TORUSMP_FUNCTION(int, Type_get_extent_c, (MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent))
TORUSMP_FUNCTION(int, Type_get_true_extent_c,
                 (MPI_Datatype datatype, MPI_Count* true_lb, MPI_Count* true_extent))
TORUSMP_FUNCTION(int, Type_get_envelope_c,
                 (MPI_Datatype datatype, MPI_Count* num_integers, MPI_Count* num_addresses,
                  MPI_Count* num_large_counts, MPI_Count* num_datatypes, int* combiner))
TORUSMP_FUNCTION(int, Type_get_contents_c,
                 (MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                  MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                  MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                  MPI_Datatype array_of_datatypes[]))
TORUSMP_FUNCTION(int, Pack_c,
                 (const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
                  MPI_Count outsize, MPI_Count* position, MPI_Comm comm))
TORUSMP_FUNCTION(int, Unpack_c,
                 (const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                  MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Pack_size_c,
                 (MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size))
TORUSMP_FUNCTION(int, Pack_external_c,
                 (const char* datarep, const void* inbuf, MPI_Count incount, MPI_Datatype datatype,
                  void* outbuf, MPI_Count outsize, MPI_Count* position))
TORUSMP_FUNCTION(int, Unpack_external_c,
                 (const char* datarep, const void* inbuf, MPI_Count insize, MPI_Count* position,
                  void* outbuf, MPI_Count outcount, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, Pack_external_size_c,
                 (const char* datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Count* size))
TORUSMP_FUNCTION(int, Bcast_c,
                 (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Gather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Gatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Scatter_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Scatterv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Allgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Allgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Alltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Alltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Alltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm))
TORUSMP_FUNCTION(int, Allreduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_scatter_c,
                 (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_scatter_block_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Scan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Exscan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm))
TORUSMP_FUNCTION(int, Reduce_local_c,
                 (const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op))
TORUSMP_FUNCTION(int, Op_create_c, (MPI_User_function_c* user_fn, int commute, MPI_Op* op))
TORUSMP_FUNCTION(int, Ibcast_c,
                 (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Igather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Igatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iscatter_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Iscatterv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iallgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iallgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ialltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ialltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Ialltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Ireduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iallreduce_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ireduce_scatter_c,
                 (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ireduce_scatter_block_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iscan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Iexscan_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Bcast_init_c,
                 (void* buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Gather_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Gatherv_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Scatter_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Scatterv_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],
                  MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Allgather_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Allgatherv_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Alltoall_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Alltoallv_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Alltoallw_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Reduce_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Allreduce_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Reduce_scatter_init_c,
                 (const void* sendbuf, void* recvbuf, const MPI_Count recvcounts[],
                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Reduce_scatter_block_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Scan_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Exscan_init_c,
                 (const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_allgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_allgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_alltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_alltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm))
TORUSMP_FUNCTION(int, Neighbor_alltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm))
TORUSMP_FUNCTION(int, Ineighbor_allgather_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_allgatherv_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_alltoall_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_alltoallv_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Ineighbor_alltoallw_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_allgather_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_allgatherv_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_alltoall_init_c,
                 (const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_alltoallv_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, Neighbor_alltoallw_init_c,
                 (const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                  MPI_Info info, MPI_Request* request))

TORUSMP_FUNCTION(int, File_get_type_extent_c,
                 (MPI_File fh, MPI_Datatype datatype, MPI_Count* extent))
TORUSMP_FUNCTION(int, File_iread_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_all_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_at_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_at_all_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iread_shared_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_all_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_at_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_at_all_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request))
TORUSMP_FUNCTION(int, File_iwrite_shared_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Request* request))
TORUSMP_FUNCTION(int, File_read_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_all_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_all_begin_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_read_at_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_at_all_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_at_all_begin_c,
                 (MPI_File fh, MPI_Offset offset, void* buf, MPI_Count count,
                  MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_read_ordered_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_read_ordered_begin_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_read_shared_c,
                 (MPI_File fh, void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_all_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_all_begin_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_write_at_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_at_all_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_at_all_begin_c,
                 (MPI_File fh, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_write_ordered_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, File_write_ordered_begin_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype))
TORUSMP_FUNCTION(int, File_write_shared_c,
                 (MPI_File fh, const void* buf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Status* status))
TORUSMP_FUNCTION(int, Register_datarep_c,
                 (const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                  MPI_Datarep_conversion_function_c* write_conversion_fn,
                  MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state))

TORUSMP_FUNCTION(int, Accumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
TORUSMP_FUNCTION(int, Get_c,
                 (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
TORUSMP_FUNCTION(int, Get_accumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win))
TORUSMP_FUNCTION(int, Put_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win))
TORUSMP_FUNCTION(int, Raccumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Rget_c,
                 (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Rget_accumulate_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Rput_c,
                 (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request))
TORUSMP_FUNCTION(int, Win_allocate_c,
                 (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
TORUSMP_FUNCTION(int, Win_allocate_shared_c,
                 (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                  MPI_Win* win))
TORUSMP_FUNCTION(int, Win_create_c,
                 (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win))
TORUSMP_FUNCTION(int, Win_shared_query_c,
                 (MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr))

/* Partitioned messages: threads of the sender mark partitions as ready, and they leave. */
TORUSMP_FUNCTION(int, Psend_init,
                 (const void* buf, int partitions, int count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Psend_init_c,
                 (const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Precv_init,
                 (void* buf, int partitions, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Precv_init_c,
                 (void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request))
TORUSMP_FUNCTION(int, Pready, (int partition, MPI_Request request))
TORUSMP_FUNCTION(int, Pready_range,
                 (int partition_low, int partition_high, MPI_Request request))
TORUSMP_FUNCTION(int, Pready_list,
                 (int length, const int array_of_partitions[], MPI_Request request))
TORUSMP_FUNCTION(int, Parrived, (MPI_Request request, int partition, int* flag))

/* Sessions. Process sets: mpi://WORLD, mpi://SELF, torus://HOST, torus://row/D, torus://plane/D. */
TORUSMP_FUNCTION(int, Session_init,
                 (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session))
TORUSMP_FUNCTION(int, Session_finalize, (MPI_Session* session))
TORUSMP_FUNCTION(int, Session_get_info, (MPI_Session session, MPI_Info* info_used))
TORUSMP_FUNCTION(int, Session_get_num_psets,
                 (MPI_Session session, MPI_Info info, int* npset_names))
TORUSMP_FUNCTION(int, Session_get_nth_pset,
                 (MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name))
TORUSMP_FUNCTION(int, Session_get_pset_info,
                 (MPI_Session session, const char* pset_name, MPI_Info* info))
TORUSMP_FUNCTION(int, Group_from_session_pset,
                 (MPI_Session session, const char* pset_name, MPI_Group* newgroup))
TORUSMP_FUNCTION(int, Comm_create_from_group,
                 (MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                  MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Intercomm_create_from_groups,
                 (MPI_Group local_group, int local_leader, MPI_Group remote_group,
                  int remote_leader, const char* stringtag, MPI_Info info,
                  MPI_Errhandler errhandler, MPI_Comm* newintercomm))
TORUSMP_FUNCTION(int, Session_create_errhandler,
                 (MPI_Session_errhandler_function* session_errhandler_fn,
                  MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Session_set_errhandler, (MPI_Session session, MPI_Errhandler errhandler))
TORUSMP_FUNCTION(int, Session_get_errhandler, (MPI_Session session, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Session_call_errhandler, (MPI_Session session, int errorcode))
TORUSMP_FUNCTION(int, Session_attach_buffer, (MPI_Session session, void* buffer, int size))
TORUSMP_FUNCTION(int, Session_detach_buffer, (MPI_Session session, void* buffer_addr, int* size))
TORUSMP_FUNCTION(int, Session_attach_buffer_c,
                 (MPI_Session session, void* buffer, MPI_Count size))
TORUSMP_FUNCTION(int, Session_detach_buffer_c,
                 (MPI_Session session, void* buffer_addr, MPI_Count* size))
TORUSMP_FUNCTION(int, Session_flush_buffer, (MPI_Session session))
TORUSMP_FUNCTION(int, Session_iflush_buffer, (MPI_Session session, MPI_Request* request))
TORUSMP_FUNCTION(MPI_Fint, Session_c2f, (MPI_Session session))
TORUSMP_FUNCTION(MPI_Session, Session_f2c, (MPI_Fint session))
TORUSMP_FUNCTION(int, Session_toint, (MPI_Session session))
TORUSMP_FUNCTION(MPI_Session, Session_fromint, (int session))

/* Processes that join: a job that starts others, and jobs that meet at a port or over a socket. */
TORUSMP_FUNCTION(int, Comm_get_parent, (MPI_Comm* parent))
TORUSMP_FUNCTION(int, Comm_spawn,
                 (const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                  MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]))
TORUSMP_FUNCTION(int, Comm_spawn_multiple,
                 (int count, char* array_of_commands[], char** array_of_argv[],
                  const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                  MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]))
TORUSMP_FUNCTION(int, Comm_accept,
                 (const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                  MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_connect,
                 (const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                  MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_join, (int fd, MPI_Comm* intercomm))
TORUSMP_FUNCTION(int, Open_port, (MPI_Info info, char* port_name))
TORUSMP_FUNCTION(int, Close_port, (const char* port_name))
TORUSMP_FUNCTION(int, Publish_name,
                 (const char* service_name, MPI_Info info, const char* port_name))
TORUSMP_FUNCTION(int, Unpublish_name,
                 (const char* service_name, MPI_Info info, const char* port_name))
TORUSMP_FUNCTION(int, Lookup_name, (const char* service_name, MPI_Info info, char* port_name))

/* The tools interface: settings, counters and events, also before MPI_Init and after MPI_Finalize. */
TORUSMP_FUNCTION(int, T_category_changed, (int* update_number))
TORUSMP_FUNCTION(int, T_category_get_categories, (int cat_index, int len, int indices[]))
TORUSMP_FUNCTION(int, T_category_get_cvars, (int cat_index, int len, int indices[]))
TORUSMP_FUNCTION(int, T_category_get_events, (int cat_index, int len, int indices[]))
TORUSMP_FUNCTION(int, T_category_get_index, (const char* name, int* cat_index))
TORUSMP_FUNCTION(int, T_category_get_info,
                 (int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                  int* num_cvars, int* num_pvars, int* num_categories))
TORUSMP_FUNCTION(int, T_category_get_num, (int* num_cat))
TORUSMP_FUNCTION(int, T_category_get_num_events, (int cat_index, int* num_events))
TORUSMP_FUNCTION(int, T_category_get_pvars, (int cat_index, int len, int indices[]))
TORUSMP_FUNCTION(int, T_cvar_get_index, (const char* name, int* cvar_index))
TORUSMP_FUNCTION(int, T_cvar_get_info,
                 (int cvar_index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                  MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope))
TORUSMP_FUNCTION(int, T_cvar_get_num, (int* num_cvar))
TORUSMP_FUNCTION(int, T_cvar_handle_alloc,
                 (int cvar_index, void* obj_handle, MPI_T_cvar_handle* handle, int* count))
TORUSMP_FUNCTION(int, T_cvar_handle_free, (MPI_T_cvar_handle* handle))
TORUSMP_FUNCTION(int, T_cvar_read, (MPI_T_cvar_handle handle, void* buf))
TORUSMP_FUNCTION(int, T_cvar_write, (MPI_T_cvar_handle handle, const void* buf))
TORUSMP_FUNCTION(int, T_enum_get_info, (MPI_T_enum enumtype, int* num, char* name, int* name_len))
TORUSMP_FUNCTION(int, T_enum_get_item,
                 (MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len))
TORUSMP_FUNCTION(int, T_event_callback_get_info,
                 (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                  MPI_Info* info_used))
TORUSMP_FUNCTION(int, T_event_callback_set_info,
                 (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                  MPI_Info info))
TORUSMP_FUNCTION(int, T_event_copy, (MPI_T_event_instance event_instance, void* buffer))
TORUSMP_FUNCTION(int, T_event_get_index, (const char* name, int* event_index))
TORUSMP_FUNCTION(int, T_event_get_info,
                 (int event_index, char* name, int* name_len, int* verbosity,
                  MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                  int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                  int* desc_len, int* bind))
TORUSMP_FUNCTION(int, T_event_get_num, (int* num_events))
TORUSMP_FUNCTION(int, T_event_get_source, (MPI_T_event_instance event_instance, int* source_index))
TORUSMP_FUNCTION(int, T_event_get_timestamp,
                 (MPI_T_event_instance event_instance, MPI_Count* event_timestamp))
TORUSMP_FUNCTION(int, T_event_handle_alloc,
                 (int event_index, void* obj_handle, MPI_Info info,
                  MPI_T_event_registration* event_registration))
TORUSMP_FUNCTION(int, T_event_handle_free,
                 (MPI_T_event_registration event_registration, void* user_data,
                  MPI_T_event_free_cb_function free_cb_function))
TORUSMP_FUNCTION(int, T_event_handle_get_info,
                 (MPI_T_event_registration event_registration, MPI_Info* info_used))
TORUSMP_FUNCTION(int, T_event_handle_set_info,
                 (MPI_T_event_registration event_registration, MPI_Info info))
TORUSMP_FUNCTION(int, T_event_read,
                 (MPI_T_event_instance event_instance, int element_index, void* buffer))
TORUSMP_FUNCTION(int, T_event_register_callback,
                 (MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                  MPI_Info info, void* user_data, MPI_T_event_cb_function event_cb_function))
TORUSMP_FUNCTION(int, T_event_set_dropped_handler,
                 (MPI_T_event_registration event_registration,
                  MPI_T_event_dropped_cb_function dropped_cb_function))
TORUSMP_FUNCTION(int, T_finalize, (void))
TORUSMP_FUNCTION(int, T_init_thread, (int required, int* provided))
TORUSMP_FUNCTION(int, T_pvar_get_index, (const char* name, int var_class, int* pvar_index))
TORUSMP_FUNCTION(int, T_pvar_get_info,
                 (int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                  MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                  int* bind, int* readonly, int* continuous, int* atomic))
TORUSMP_FUNCTION(int, T_pvar_get_num, (int* num_pvar))
TORUSMP_FUNCTION(int, T_pvar_handle_alloc,
                 (MPI_T_pvar_session session, int pvar_index, void* obj_handle,
                  MPI_T_pvar_handle* handle, int* count))
TORUSMP_FUNCTION(int, T_pvar_handle_free, (MPI_T_pvar_session session, MPI_T_pvar_handle* handle))
TORUSMP_FUNCTION(int, T_pvar_read,
                 (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf))
TORUSMP_FUNCTION(int, T_pvar_readreset,
                 (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf))
TORUSMP_FUNCTION(int, T_pvar_reset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
TORUSMP_FUNCTION(int, T_pvar_session_create, (MPI_T_pvar_session* session))
TORUSMP_FUNCTION(int, T_pvar_session_free, (MPI_T_pvar_session* session))
TORUSMP_FUNCTION(int, T_pvar_start, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
TORUSMP_FUNCTION(int, T_pvar_stop, (MPI_T_pvar_session session, MPI_T_pvar_handle handle))
TORUSMP_FUNCTION(int, T_pvar_write,
                 (MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf))
TORUSMP_FUNCTION(int, T_source_get_info,
                 (int source_index, char* name, int* name_len, char* desc, int* desc_len,
                  MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                  MPI_Info* info))
TORUSMP_FUNCTION(int, T_source_get_num, (int* num_sources))
TORUSMP_FUNCTION(int, T_source_get_timestamp, (int source_index, MPI_Count* timestamp))

/* Jobs that go on when processes die: a proposal for the standard. mpi-ext.h has the names MPIX_. */
TORUSMP_FUNCTION(int, Comm_revoke, (MPI_Comm comm))
TORUSMP_FUNCTION(int, Comm_is_revoked, (MPI_Comm comm, int* flag))
TORUSMP_FUNCTION(int, Comm_get_failed, (MPI_Comm comm, MPI_Group* failedgrp))
TORUSMP_FUNCTION(int, Comm_ack_failed, (MPI_Comm comm, int num_to_ack, int* num_acked))
TORUSMP_FUNCTION(int, Comm_agree, (MPI_Comm comm, int* flags))
TORUSMP_FUNCTION(int, Comm_iagree, (MPI_Comm comm, int* flags, MPI_Request* request))
TORUSMP_FUNCTION(int, Comm_shrink, (MPI_Comm comm, MPI_Comm* newcomm))
TORUSMP_FUNCTION(int, Comm_ishrink, (MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request))
TORUSMP_FUNCTION(int, Win_revoke, (MPI_Win win))
TORUSMP_FUNCTION(int, Win_get_failed, (MPI_Win win, MPI_Group* failedgrp))
TORUSMP_FUNCTION(int, File_revoke, (MPI_File fh))

/* MPI-1 names that later standards replaced and mostly removed; old codes still call them. */
TORUSMP_FUNCTION(int, Address, (void* location, MPI_Aint* address))
TORUSMP_FUNCTION(int, Type_extent, (MPI_Datatype datatype, MPI_Aint* extent))
TORUSMP_FUNCTION(int, Type_lb, (MPI_Datatype datatype, MPI_Aint* displacement))
TORUSMP_FUNCTION(int, Type_ub, (MPI_Datatype datatype, MPI_Aint* displacement))
TORUSMP_FUNCTION(int, Type_hvector,
                 (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                  MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_hindexed,
                 (int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                  MPI_Datatype oldtype, MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Type_struct,
                 (int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[],
                  MPI_Datatype array_of_types[], MPI_Datatype* newtype))
TORUSMP_FUNCTION(int, Errhandler_create,
                 (MPI_Handler_function* function, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Errhandler_set, (MPI_Comm comm, MPI_Errhandler errhandler))
TORUSMP_FUNCTION(int, Errhandler_get, (MPI_Comm comm, MPI_Errhandler* errhandler))
TORUSMP_FUNCTION(int, Keyval_create,
                 (MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval,
                  void* extra_state))
TORUSMP_FUNCTION(int, Keyval_free, (int* keyval))
TORUSMP_FUNCTION(int, Attr_put, (MPI_Comm comm, int keyval, void* attribute_val))
TORUSMP_FUNCTION(int, Attr_get, (MPI_Comm comm, int keyval, void* attribute_val, int* flag))
TORUSMP_FUNCTION(int, Attr_delete, (MPI_Comm comm, int keyval))
/* clang-format on */
#undef TORUSMP_FUNCTION
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
