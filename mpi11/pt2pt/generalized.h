// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests: the program does the work and declares when it is complete; the library
// calls functions of the program for everything else (MPI-4.0, section 13.2).
#pragma once

#include <cstdint>

#include "mpi11/mpi.h"

namespace torusmp::mpi {

// The functions that a program passes to MPI_Grequest_start, in C or in Fortran.
struct GeneralizedFunctions {
    enum class Language : std::uint8_t { c, fortran };

    Language language;
    void (*query)();
    void (*free)();
    void (*cancel)();
    // The variable of a Fortran program itself, because its functions may change it, as with other
    // MPIs.
    void* extra_state;
};

// Throws Failure if a function is missing.
MPI_Request start_generalized(const GeneralizedFunctions& functions);

}  // namespace torusmp::mpi
