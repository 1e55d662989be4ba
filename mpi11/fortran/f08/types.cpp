// SPDX-License-Identifier: BSD-3-Clause
// The types that the modules mpi and mpi_f08 share: comparisons of handles, each a structure of one
// INTEGER, and the conversions between TYPE(MPI_Status) and the array of mpif.h, whose layouts are
// the same.
#include <cstring>

#include "mpi11/fortran/arguments.h"

#define COMPARISONS(handle)                                                                \
    extern "C" MPI_Fint torusmp_fsame_##handle##_(const MPI_Fint* a, const MPI_Fint* b) {  \
        return *a == *b ? 1 : 0;                                                           \
    }                                                                                      \
    extern "C" MPI_Fint torusmp_fother_##handle##_(const MPI_Fint* a, const MPI_Fint* b) { \
        return *a != *b ? 1 : 0;                                                           \
    }

COMPARISONS(comm)
COMPARISONS(datatype)
COMPARISONS(errhandler)
COMPARISONS(file)
COMPARISONS(group)
COMPARISONS(info)
COMPARISONS(message)
COMPARISONS(op)
COMPARISONS(request)
COMPARISONS(session)
COMPARISONS(win)

extern "C" {

void pmpi_status_f2f08_(const MPI_Fint* f_status, MPI_Fint* f08_status,
                        torusmp::mpi::Ierror ierror) {
    std::memcpy(f08_status, f_status, MPI_F_STATUS_SIZE * sizeof(MPI_Fint));
    ierror = MPI_SUCCESS;
}

void pmpi_status_f082f_(const MPI_Fint* f08_status, MPI_Fint* f_status,
                        torusmp::mpi::Ierror ierror) {
    pmpi_status_f2f08_(f08_status, f_status, ierror);
}
}

FORTRAN_NAME(status_f2f08)
FORTRAN_NAME(status_f082f)
