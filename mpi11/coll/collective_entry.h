// SPDX-License-Identifier: BSD-3-Clause
// A collective of the C API in all its forms: blocking, non-blocking and persistent, each with
// counts of int and of 64 bits (entry.h).
//
//   TORUSMP_COLLECTIVE(Bcast, Ibcast, broadcast, (void* buffer, Count count, ...), buffer, count,
//   ...)
//
// names the blocking and the non-blocking function, the function that prepares the call
// (collective_calls.h), the parameters before the communicator, and the arguments passed on.
#pragma once

#include "mpi11/coll/collective.h"
#include "mpi11/entry.h"

#define TORUSMP_UNWRAPPED(...) __VA_ARGS__

#define TORUSMP_COLLECTIVE(Name, IName, prepare, parameters, ...)                                \
    TORUSMP_ENTRIES(Name, (TORUSMP_UNWRAPPED parameters, MPI_Comm comm),                         \
                    blocking(name, comm, prepare, __VA_ARGS__))                                  \
    TORUSMP_ENTRIES(IName, (TORUSMP_UNWRAPPED parameters, MPI_Comm comm, MPI_Request * request), \
                    started(name, comm, request, prepare, __VA_ARGS__))                          \
    TORUSMP_ENTRIES(                                                                             \
        Name##_init,                                                                             \
        (TORUSMP_UNWRAPPED parameters, MPI_Comm comm, MPI_Info info, MPI_Request * request),     \
        persistent(name, comm, info, request, prepare, __VA_ARGS__))
