// SPDX-License-Identifier: BSD-3-Clause
// The routines of mpi_f08 whose arguments differ from those of mpif.h: buffers by descriptor, large
// counts. The list is generated from mpi.h when the library is built (generate_f08.cpp);
// by_hand.cpp has those that it leaves out.
#include "mpi11/fortran/f08/call.h"
#include "mpi11/fortran/routine.h"

namespace torusmp::mpi::described {

constexpr bool address = true;
constexpr bool block = false;

template <auto function, std::size_t place>
using Passed = typename Described<decltype(function)>::template Passed<place>;

#define WITH_DESCRIPTORS(parameters, lower, Name, untyped)                                      \
    static_assert(Described<decltype(&PMPI_##Name)>::arity == parameters);                      \
    extern "C" void pmpi_##lower##_f08ts_(PARAMETERS_##parameters(PMPI_##Name) Ierror ierror) { \
        ierror = DescribedCall<PMPI_##Name, untyped>::run("MPI_" #Name, NAMES_##parameters);    \
    }                                                                                           \
    F08TS_NAME(lower)
#define PLAIN(parameters, lower, Name)
#include "f08_routines.inc"
#undef WITH_DESCRIPTORS
#undef PLAIN

}  // namespace torusmp::mpi::described

namespace torusmp::mpi::plain {

#define PLAIN(parameters, lower, Name)                                                          \
    static_assert(CallInC<PMPI_##Name>::arity == parameters);                                   \
    extern "C" void pmpi_##lower##_f08ts_(PARAMETERS_##parameters(PMPI_##Name) Ierror ierror) { \
        ierror = CallInC<PMPI_##Name>::run(NAMES_##parameters);                                 \
    }                                                                                           \
    F08TS_NAME(lower)
#define WITH_DESCRIPTORS(parameters, lower, Name, untyped)
#include "f08_routines.inc"

}  // namespace torusmp::mpi::plain
