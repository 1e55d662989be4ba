// SPDX-License-Identifier: BSD-3-Clause
// Calls from the library into functions written in Fortran: their arguments are integers for
// handles, and everything is passed by reference. Defined with the Fortran binding in fortran/.
#pragma once

#include "mpi11/mpi.h"

namespace torusmp::mpi {

// Calls subroutine handler(object, code), whose object is a communicator or a file.
void call_fortran_error_handler(MPI_Comm_errhandler_function* handler, MPI_Fint object, int& code);
// subroutine operation(in, inout, len, type)
void call_fortran_operation(MPI_User_function* operation, void* in, void* inout, int& count,
                            MPI_Datatype type);
void call_fortran_operation(MPI_User_function_c* operation, void* in, void* inout, MPI_Count& count,
                            MPI_Datatype type);
// Calls subroutine copy(old, keyval, extra, in, out, flag, ierror). If `wide`, values and the extra
// state are INTEGER(KIND=MPI_ADDRESS_KIND), otherwise INTEGER. Returns ierror.
int call_fortran_copy(void (*function)(), bool wide, MPI_Fint old, int keyval, MPI_Aint extra,
                      MPI_Aint in, MPI_Aint& out, bool& flag);
// subroutine delete(object, keyval, value, extra, ierror)
int call_fortran_delete(void (*function)(), bool wide, MPI_Fint object, int keyval, MPI_Aint value,
                        MPI_Aint extra);
// Call the functions of a generalized request: subroutine query(extra, status, ierror), free(extra,
// ierror) and cancel(extra, complete, ierror). Return ierror.
int call_fortran_query(void (*function)(), void* extra, MPI_Status& status);
int call_fortran_free(void (*function)(), void* extra);
int call_fortran_cancel(void (*function)(), void* extra, bool complete);
// Call the functions of a data representation: extent(type, extent, extra, ierror), and
// convert(user, type, count, file, position, extra, ierror), whose count is large if `wide`. Return
// ierror.
int call_fortran_extent(void (*function)(), MPI_Datatype type, MPI_Aint& extent, void* extra);
int call_fortran_conversion(void (*function)(), bool wide, void* user, MPI_Datatype type,
                            MPI_Count count, void* file, void* extra);

}  // namespace torusmp::mpi
