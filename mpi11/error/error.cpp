// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/error/error.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "mpi11/comm/communicator.h"
#include "mpi11/error/error_codes.h"
#include "mpi11/fortran/fortran_hooks.h"

namespace torusmp::mpi {
namespace {

int code_of(const std::exception& error) {
    if (const auto* const failure = dynamic_cast<const Failure*>(&error)) return failure->code();
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return MPI_ERR_NO_MEM;
    return MPI_ERR_INTERN;
}

std::string name_of(int code) {
    const std::string_view name = name_of_class(class_of(code));
    return name.empty() ? fmt::format("error code {}", code) : std::string(name);
}

// Rank, call, communicator, class and what was wrong, in one line; then the end of the job.
[[noreturn]] void end_job(const char* call, const Communicator& comm, int code, const char* words) {
    const std::string text = fmt::format("{}: {}: {} (rank {} of {})", call, name_of(code), words,
                                         comm.rank(), comm.describe());
    library().process->abort(code & 0xff, text);
}

}  // namespace

int raise(const char* call, Communicator* comm, const std::exception& error) noexcept {
    const int code = code_of(error);
    if (!hot.running)
        job::end_process(code & 0xff, fmt::format("{}: {}: {}", call, name_of(code), error.what()));
    Communicator& where = comm != nullptr ? *comm : *hot.world;
    // The program's function may set another handler.
    const Reference<ErrorHandler> handler = where.error_handler;
    MPI_Comm handle = handle_of(where);
    int passed = code;
    switch (handler->way) {
        case ErrorHandler::Way::back:
            break;
        case ErrorHandler::Way::fatal:
        case ErrorHandler::Way::abort:
            end_job(call, where, code, error.what());
        case ErrorHandler::Way::function:
            handler->function(&handle, &passed);
            break;
        case ErrorHandler::Way::fortran:
            call_fortran_error_handler(handler->function, handle, passed);
            break;
    }
    return code;
}

void not_running(const char* call) {
    const bool over = library().finalized;
    const std::string text =
        fmt::format("{}: called {}", call, over ? "after MPI_Finalize" : "before MPI_Init");
    if (library().process && !over) library().process->abort(1, text);
    job::end_process(1, text);
}

}  // namespace torusmp::mpi
