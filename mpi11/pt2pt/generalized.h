// Generalized requests: the program does the work and says when it is complete; the library calls
// functions of the program for the rest (MPI-4.0, section 13.2).
#pragma once

#include <cstdint>

#include "mpi11/mpi.h"

namespace torusmp::mpi {

// The functions that a program gives MPI_Grequest_start, in C or in Fortran.
struct GeneralizedFunctions {
    enum class Language : std::uint8_t { c, fortran };

    Language language;
    void (*query)();
    void (*free)();
    void (*cancel)();
    // In Fortran the program's variable itself: its functions may change it, as other MPIs allow.
    void* extra_state;
};

// Throws Failure where a function is missing.
MPI_Request start_generalized(const GeneralizedFunctions& functions);

}  // namespace torusmp::mpi
