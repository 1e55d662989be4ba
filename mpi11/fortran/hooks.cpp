// Calls into functions that were written in Fortran.
#include "mpi11/fortran_hooks.h"

namespace torusmp::mpi {

void call_fortran_error_handler(MPI_Comm_errhandler_function* handler, MPI_Comm comm, int& code) {
    MPI_Fint number = PMPI_Comm_c2f(comm);
    reinterpret_cast<void (*)(MPI_Fint*, MPI_Fint*)>(handler)(&number, &code);
}

void call_fortran_operation(MPI_User_function* operation, void* in, void* inout, int& count,
                            MPI_Datatype type) {
    MPI_Fint number = PMPI_Type_c2f(type);
    reinterpret_cast<void (*)(void*, void*, MPI_Fint*, MPI_Fint*)>(operation)(in, inout, &count,
                                                                              &number);
}

}  // namespace torusmp::mpi
