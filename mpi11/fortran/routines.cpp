// SPDX-License-Identifier: BSD-3-Clause
// The routines whose arguments need only the conversions of arguments.h: most of them. The list is
// generated from mpi.h when the library is built (generate.cpp); the others are in the files beside
// this one.
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/routine.h"

using torusmp::mpi::CallInC;
using torusmp::mpi::Ierror;
using torusmp::mpi::Passed;

#define ROUTINE(parameters, lower, Name, names)                                           \
    static_assert(CallInC<PMPI_##Name>::arity == parameters);                             \
    extern "C" void pmpi_##lower##_(PARAMETERS_##parameters(PMPI_##Name) Ierror ierror) { \
        ierror = CallInC<PMPI_##Name>::run(NAMES_##parameters);                           \
    }                                                                                     \
    names(lower)

#include "fortran_routines.inc"
