// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program in Fortran: operations, error handlers, and those of generalized
// requests. attributes.cpp has those of attribute keys.
#include "mpi11/coll/operation.h"
#include "mpi11/error/error.h"
#include "mpi11/fortran/arguments.h"
#include "mpi11/pt2pt/generalized.h"

using namespace torusmp::mpi;

extern "C" {

// The handler gets a Fortran communicator, so C's function of the same name cannot be used.
void pmpi_comm_create_errhandler_(MPI_Comm_errhandler_function* function, MPI_Fint* errhandler,
                                  Ierror ierror) {
    ierror = api("MPI_Comm_create_errhandler", [&] {
        *errhandler =
            to_fortran(handle_of(make<ErrorHandler>(ErrorHandler::Way::fortran, function)));
    });
}

void pmpi_win_create_errhandler_(MPI_Win_errhandler_function* function, MPI_Fint* errhandler,
                                 Ierror ierror) {
    pmpi_comm_create_errhandler_(reinterpret_cast<MPI_Comm_errhandler_function*>(function),
                                 errhandler, ierror);
}

void pmpi_errhandler_create_(MPI_Handler_function* function, MPI_Fint* errhandler, Ierror ierror) {
    pmpi_comm_create_errhandler_(function, errhandler, ierror);
}

void pmpi_op_create_(MPI_User_function* function, const MPI_Fint* commute, MPI_Fint* op,
                     Ierror ierror) {
    ierror = api("MPI_Op_create", [&] {
        *op = to_fortran(handle_of(make_operation(function, *commute != 0, true)));
    });
}

void pmpi_op_create_c_(MPI_User_function_c* function, const MPI_Fint* commute, MPI_Fint* op,
                       Ierror ierror) {
    ierror = api("MPI_Op_create_c", [&] {
        *op = to_fortran(handle_of(make<Op>(Op::What::wide_fortran, function, *commute != 0)));
    });
}

void pmpi_grequest_start_(void (*query)(), void (*free)(), void (*cancel)(), MPI_Aint* extra_state,
                          MPI_Fint* request, Ierror ierror) {
    ierror = api("MPI_Grequest_start", [&] {
        *request = to_fortran(start_generalized(
            {GeneralizedFunctions::Language::fortran, query, free, cancel, extra_state}));
    });
}
}

FORTRAN_NAME_F08(comm_create_errhandler)
FORTRAN_NAME_F08(win_create_errhandler)
FORTRAN_NAME(errhandler_create)
FORTRAN_NAME_F08(op_create)
FORTRAN_NAME_F08(op_create_c)
FORTRAN_NAME_F08(grequest_start)
