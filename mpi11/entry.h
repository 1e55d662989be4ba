// SPDX-License-Identifier: BSD-3-Clause
// Functions of the C API that exist twice: with counts of int, and under a name that ends in _c
// with counts of 64 bits (MPI-4.0, section 2.5.8). Each pair is written once:
//
//   TORUSMP_ENTRIES(Send, (const void* buf, Count count, MPI_Datatype datatype, ...),
//                   send(name, buf, count, datatype, ...))
//
// defines PMPI_Send and PMPI_Send_c and their weak names, at global scope. In the parameters and in
// the expression that is returned, Count, Displacement and Stride are the types of the form, `form`
// states which it is, and `name` is the function's own.
#pragma once

#include "mpi11/numbers.h"

// A C function is the same function in every namespace that declares it; but its first declaration
// in a namespace decides whether it is exported.
#define TORUSMP_ENTRY(Name, counts, parameters, ...)                               \
    namespace torusmp::mpi::counts {                                               \
    extern "C" __attribute__((visibility("default"))) int PMPI_##Name parameters { \
        [[maybe_unused]] constexpr const char* name = "MPI_" #Name;                \
        return __VA_ARGS__;                                                        \
    }                                                                              \
    extern "C" decltype(PMPI_##Name) MPI_##Name                                    \
        __attribute__((weak, visibility("default"), alias("PMPI_" #Name)));        \
    }

#define TORUSMP_ENTRIES(Name, parameters, ...)           \
    TORUSMP_ENTRY(Name, narrow, parameters, __VA_ARGS__) \
    TORUSMP_ENTRY(Name##_c, wide, parameters, __VA_ARGS__)
