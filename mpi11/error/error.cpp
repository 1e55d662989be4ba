// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/error/error.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "mpi11/comm/communicator.h"
#include "mpi11/environment/instance.h"
#include "mpi11/error/error_codes.h"
#include "mpi11/fortran/fortran_hooks.h"
#include "mpi11/fortran/handles.h"

namespace torusmp::mpi {
namespace {

// The last error of this thread.
struct LastError {
    int code = MPI_SUCCESS;
    int cause = MPI_SUCCESS;
    std::string text;
};
thread_local LastError last_error;

int code_of(const std::exception& error) {
    if (const auto* const failure = dynamic_cast<const Failure*>(&error)) return failure->code();
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return MPI_ERR_NO_MEM;
    return MPI_ERR_INTERN;
}

std::string name_of(int code) {
    const std::string_view name = name_of_class(class_of(code));
    return name.empty() ? fmt::format("error code {}", code) : std::string(name);
}

// Rank, call, object, class and what was wrong, in one line; then the end of the job.
[[noreturn]] void end_job(const char* call, int rank, const std::string& place, int code,
                          const char* words) {
    library().process->abort(code & 0xff, fmt::format("{}: {}: {} (rank {} of {})", call,
                                                      name_of(code), words, rank, place));
}

// Gives the error to a handler. place(): how messages name the object.
template <class Place>
void hand_over(const char* call, ErrorHandler& called, void* handle, int rank, Place&& place,
               int code, const char* words) {
    const Reference<ErrorHandler> handler(called);  // the program's function may set another
    int passed = code;
    switch (handler->way) {
        case ErrorHandler::Way::back:
            break;
        case ErrorHandler::Way::fatal:
        case ErrorHandler::Way::abort:
            end_job(call, rank, place(), code, words);
        case ErrorHandler::Way::function: {
            // Handlers of all objects differ only in the type of the handle.
            auto object = static_cast<MPI_Comm>(handle);
            handler->function(&object, &passed);
            break;
        }
        case ErrorHandler::Way::fortran: {
            const auto value = reinterpret_cast<std::uintptr_t>(handle);
            call_fortran_error_handler(
                handler->function,
                value < constants ? int(value) : fortran_number(*reinterpret_cast<Object*>(value)),
                passed);
            break;
        }
    }
}

// Gives the error to the handler of the communicator, or of the object that it belongs to.
void hand_over_to(const char* call, Communicator& where, int code, const char* words) {
    void* const handle = where.error_object != nullptr ? static_cast<void*>(where.error_object)
                                                       : static_cast<void*>(handle_of(where));
    hand_over(
        call, *where.error_handler, handle, where.rank(), [&] { return where.describe(); }, code,
        words);
}

// Ends the process if MPI is not running; otherwise keeps the error for MPI_Error_string. Returns
// its code.
int note(const char* call, const std::exception& error) {
    const int code = code_of(error);
    if (!in_effect())
        job::end_process(code & 0xff, fmt::format("{}: {}: {}", call, name_of(code), error.what()));
    return keep_error(call, error);
}

}  // namespace

int keep_error(const char* call, const std::exception& error) noexcept {
    const int code = code_of(error);
    const auto* const failure = dynamic_cast<const Failure*>(&error);
    last_error = {code, failure != nullptr ? failure->cause() : code,
                  fmt::format("{}: {}", call, error.what())};
    return code;
}

int raise(const char* call, Communicator* comm, const std::exception& error) noexcept {
    const int code = note(call, error);
    const auto* const failure = dynamic_cast<const Failure*>(&error);
    if (comm == nullptr && failure != nullptr) comm = failure->where();
    // A known death fails a call before it has moved anything. Programs repeat the call until the
    // communicator is revoked.
    if (comm != nullptr && code_of(error) == MPI_ERR_PROC_FAILED)
        comm->runtime().progress_repeatedly();
    hand_over_to(call, comm != nullptr ? *comm : *hot.world, code, error.what());
    return code;
}

int raise(const char* call, const Reference<ErrorHandler>& handler, void* handle, const char* place,
          const std::exception& error) noexcept {
    const int code = note(call, error);
    hand_over(
        call, *handler, handle, hot.world->rank(), [&] { return std::string(place); }, code,
        error.what());
    return code;
}

void raise_for_program(const char* call, Communicator& comm, int code) {
    hand_over_to(call, comm, code, describe(code).c_str());
}

void raise_for_program(const char* call, const Reference<ErrorHandler>& handler, void* handle,
                       const char* place, int code) {
    hand_over(
        call, *handler, handle, hot.world->rank(), [&] { return std::string(place); }, code,
        describe(code).c_str());
}

std::string describe(int code) {
    const std::string text = text_of(code);
    const bool known = code == last_error.code || code == last_error.cause;
    if (!known || code == MPI_SUCCESS || code > MPI_ERR_LASTCODE) return text;
    return fmt::format("{}: {}", text, last_error.text);
}

void not_running(const char* call) {
    if (give_attention()) return;
    const bool over = library().finalized;
    const std::string text =
        fmt::format("{}: called {}", call,
                    had_sessions() ? "while neither MPI_Init nor a session is in effect"
                    : over         ? "after MPI_Finalize"
                                   : "before MPI_Init");
    if (library().process && !over) library().process->abort(1, text);
    job::end_process(1, text);
}

}  // namespace torusmp::mpi
