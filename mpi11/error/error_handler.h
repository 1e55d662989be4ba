// SPDX-License-Identifier: BSD-3-Clause
// The error handler of a communicator: one of the predefined ones, or a function of the program.
//
// Any thread may use one; the function is called by the thread whose call failed.
#pragma once

#include "mpi11/object.h"

namespace torusmp::mpi {

class ErrorHandler : public Object {
  public:
    using Handle = MPI_Errhandler;
    static constexpr Kind kind_of_class = Kind::error_handler;
    static constexpr int error_class = MPI_ERR_ARG;
    static inline const Handle null_handle = MPI_ERRHANDLER_NULL;
    static constexpr const char* null_name = "MPI_ERRHANDLER_NULL";
    static constexpr const char* noun = "error handler";
    static constexpr bool at_any_time = true;

    enum class Way { fatal, abort, back, function, fortran };
    explicit ErrorHandler(Way chosen, MPI_Comm_errhandler_function* called = nullptr)
        : Object(kind_of_class), way(chosen), function(called) {}

    const Way way;
    // Way::function: as in C. Way::fortran: a subroutine of (INTEGER comm, INTEGER code).
    MPI_Comm_errhandler_function* const function;
};

// The common part of the calls for communicators, files, sessions and windows. They throw Failure
// for null arguments and for numbers that are not error codes.
//
// Makes a handler of the program's function. `argument` is its name in the standard.
void create_error_handler(const char* argument, MPI_Comm_errhandler_function* function,
                          MPI_Errhandler* errhandler);
template <class Function>
void create_error_handler(const char* argument, Function* function, MPI_Errhandler* errhandler) {
    create_error_handler(argument, reinterpret_cast<MPI_Comm_errhandler_function*>(function),
                         errhandler);
}
void get_error_handler(ErrorHandler& handler, MPI_Errhandler* errhandler);
void check_error_code(int code);

}  // namespace torusmp::mpi
