// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are made while the program goes on: their INTEGER is written when the request
// is complete, long after a handle of C on the stack of the wrapper would be gone.
#include "mpi11/comm/duplicate.h"
#include "mpi11/fortran/arguments.h"
#include "mpi11/ft/shrink.h"

namespace torusmp::mpi {
namespace {

GiveComm give_to(MPI_Fint* newcomm) {
    *newcomm = to_fortran(MPI_COMM_NULL);
    return [newcomm](MPI_Comm copy) { *newcomm = to_fortran(copy); };
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

void pmpi_comm_idup_(const MPI_Fint* comm, MPI_Fint* newcomm, MPI_Fint* request, Ierror ierror) {
    const MPI_Comm from = from_fortran<MPI_Comm>(*comm);  // may be the same variable as newcomm
    ierror = duplicate_later("MPI_Comm_idup", from, nullptr, give_to(newcomm),
                             Argument<MPI_Request*>(request).in_c());
}

void pmpi_comm_idup_with_info_(const MPI_Fint* comm, const MPI_Fint* info, MPI_Fint* newcomm,
                               MPI_Fint* request, Ierror ierror) {
    const MPI_Comm from = from_fortran<MPI_Comm>(*comm);
    const MPI_Info hints = from_fortran<MPI_Info>(*info);
    ierror = duplicate_later("MPI_Comm_idup_with_info", from, &hints, give_to(newcomm),
                             Argument<MPI_Request*>(request).in_c());
}
}

extern "C" void pmpi_comm_ishrink_(const MPI_Fint* comm, MPI_Fint* newcomm, MPI_Fint* request,
                                   Ierror ierror) {
    const MPI_Comm from = from_fortran<MPI_Comm>(*comm);
    ierror = shrink_later("MPI_Comm_ishrink", from, give_to(newcomm),
                          Argument<MPI_Request*>(request).in_c());
}

extern "C" void pmpix_comm_ishrink_(const MPI_Fint* comm, MPI_Fint* newcomm, MPI_Fint* request,
                                    Ierror ierror) {
    pmpi_comm_ishrink_(comm, newcomm, request, ierror);
}

FORTRAN_NAME_F08(comm_idup)
FORTRAN_NAME_F08(comm_ishrink)
FORTRAN_NAME_EXTENSION(comm_ishrink)
FORTRAN_NAME_F08(comm_idup_with_info)
