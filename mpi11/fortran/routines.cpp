// SPDX-License-Identifier: BSD-3-Clause
// The routines whose arguments need only the conversions of arguments.h: most of them. The lists
// are generated from mpi.h and mpi-ext.h when the library is built (generate.cpp); the others are
// in the files beside this one.
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/routine.h"
#include "mpi11/mpi-ext.h"

using torusmp::mpi::CallInC;
using torusmp::mpi::Ierror;
using torusmp::mpi::Passed;

#define WRAPPER(parameters, wrapper, function)                                 \
    static_assert(CallInC<function>::arity == parameters);                     \
    extern "C" void wrapper(PARAMETERS_##parameters(function) Ierror ierror) { \
        ierror = CallInC<function>::run(NAMES_##parameters);                   \
    }
#define ROUTINE(parameters, lower, Name, names)       \
    WRAPPER(parameters, pmpi_##lower##_, PMPI_##Name) \
    names(lower)
#define EXTENSION(parameters, lower, Name)              \
    WRAPPER(parameters, pmpix_##lower##_, PMPIX_##Name) \
    FORTRAN_NAME_EXTENSION(lower)

#include "fortran_extensions.inc"
#include "fortran_routines.inc"
