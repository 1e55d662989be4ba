// SPDX-License-Identifier: BSD-3-Clause
// MPI_SIZEOF: generic in the modules mpi and mpi_f08, one routine for each kind here. Its ierror
// may be absent in mpi_f08.
#include "mpi11/fortran/arguments.h"

#define SIZEOF(kind, bytes)                                              \
    extern "C" void pmpi_sizeof_##kind##_(const void*, MPI_Fint* size,   \
                                          torusmp::mpi::Ierror ierror) { \
        *size = bytes;                                                   \
        ierror = MPI_SUCCESS;                                            \
    }                                                                    \
    FORTRAN_NAME(sizeof_##kind)

SIZEOF(integer1, 1)
SIZEOF(integer2, 2)
SIZEOF(integer4, 4)
SIZEOF(integer8, 8)
SIZEOF(integer16, 16)
SIZEOF(logical1, 1)
SIZEOF(logical2, 2)
SIZEOF(logical4, 4)
SIZEOF(logical8, 8)
SIZEOF(logical16, 16)
SIZEOF(real4, 4)
SIZEOF(real8, 8)
SIZEOF(real10, 16)  // 80 bits in 16 bytes
SIZEOF(real16, 16)
SIZEOF(complex4, 8)
SIZEOF(complex8, 16)
SIZEOF(complex10, 32)
SIZEOF(complex16, 32)
SIZEOF(character, 1)  // of one character, whatever the length
