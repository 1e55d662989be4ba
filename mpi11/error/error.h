// SPDX-License-Identifier: BSD-3-Clause
// Failures of MPI calls: the exception and its path to the error handler.
//
// A function of the C API is a body under api(). The body throws Failure; api() passes it to the
// error handler of the communicator, or of MPI_COMM_WORLD if there is none, and returns the code
// (MPI-1.1, section 7.2). The path without an error neither allocates nor throws, and costs a few
// predictable branches: api() is always inlined, so that arguments stay in registers.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "mpi11/comm/communicator.h"
#include "mpi11/error/error_codes.h"

namespace torusmp::mpi {

// An error class or code, with a text of what was found, what was expected and where. `cause` is
// the actual error, if the code only means that a status has one.
class Failure : public std::exception {
  public:
    Failure(int code, std::string text) : Failure(code, std::move(text), code) {}
    Failure(int code, std::string text, int cause)
        : code_(code), cause_(cause), text_(std::move(text)) {}
    // The handler of the communicator `where` gets it, if the call does not know the communicator.
    Failure(int code, std::string text, Communicator& where) : Failure(code, std::move(text)) {
        where_ = &where;
    }
    int code() const { return code_; }
    Communicator* where() const { return where_; }
    int cause() const { return cause_; }
    const std::string& text() const { return text_; }
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    int code_;
    int cause_;
    std::string text_;
    Communicator* where_ = nullptr;
};

template <class... Arguments>
[[noreturn]] void fail(int code, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    throw Failure(code, fmt::format(text, std::forward<Arguments>(arguments)...));
}

// For a handle that refers to no object of class T.
template <class T>
[[noreturn]] void dead_handle(typename T::Handle handle) {
    if (handle == T::null_handle) fail(T::error_class, "found {}", T::null_name);
    fail(T::error_class, "found {}, which is not a live {} handle (freed, or never made)",
         reinterpret_cast<const void*>(handle), T::noun);
}

// Communicators, and what has one of its own: members may revoke it.
template <class T>
concept Revocable = requires {
    T::kind_when_revoked;
};

// The object of a handle if it is revoked; otherwise null.
template <Revocable T>
T* find_revoked(typename T::Handle handle) {
    Object* const object = object_at(reinterpret_cast<std::uintptr_t>(handle));
    const bool revoked = object != nullptr && object->kind == T::kind_when_revoked;
    return revoked ? static_cast<T*>(object) : nullptr;
}
// The object of a handle, which may be revoked.
template <Revocable T>
T* find_even_revoked(typename T::Handle handle) {
    T* const object = find<T>(handle);
    return object != nullptr ? object : find_revoked<T>(handle);
}

Failure revoked_failure(Communicator& comm);

template <class T>
[[noreturn, gnu::noinline]] void wrong_handle(typename T::Handle handle) {
    if constexpr (Revocable<T>)
        if (T* const revoked = find_revoked<T>(handle))
            throw revoked_failure(communicator_of(*revoked));
    dead_handle<T>(handle);
}

// The object of a handle; throws Failure with the error class of T if the handle is invalid.
template <class T>
[[gnu::always_inline]] inline T& checked(typename T::Handle handle) {
    T* const object = find<T>(handle);
    if (object == nullptr) [[unlikely]]
        wrong_handle<T>(handle);
    return *object;
}

// The object of a handle, which may be revoked; throws Failure like checked().
template <Revocable T>
T& checked_even_revoked(typename T::Handle handle) {
    T* const object = find_even_revoked<T>(handle);
    if (object != nullptr) [[likely]]
        return *object;
    wrong_handle<T>(handle);
}

// Handles an error; returns the code that the call returns. A null `comm` stands for
// MPI_COMM_WORLD. Does not return if the handler ends the job, or if MPI is not running.
int raise(const char* call, Communicator* comm, const std::exception& error) noexcept;
// Passes an error code reported by the program to the handler; describe() keeps its text.
void raise_for_program(const char* call, Communicator& comm, int code);
// The text of a class or code, as MPI_Error_string returns it; for the last error of the calling
// thread, followed by the call that failed and the cause. Codes that the program added have its
// text.
std::string describe(int code);

// The same for an object with a handler of its own, which belongs to no communicator. Messages call
// the object `place`.
int raise(const char* call, const Reference<ErrorHandler>& handler, void* handle, const char* place,
          const std::exception& error) noexcept;

// Keeps the text of an error that has no handler yet for MPI_Error_string; returns its code.
int keep_error(const char* call, const std::exception& error) noexcept;
void raise_for_program(const char* call, const Reference<ErrorHandler>& handler, void* handle,
                       const char* place, int code);

// Ends the process because `call` came before MPI_Init or after MPI_Finalize. Returns if MPI is
// running after all, and only events waited, which are delivered.
[[gnu::cold]] void not_running(const char* call);

// The body of a function that may be called at any time, also before MPI_Init and after
// MPI_Finalize, from any thread (MPI-4.0, section 11.4.1).
template <class Body>
[[gnu::always_inline]] inline int api_at_any_time(const char* call, Body&& body) noexcept {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return MPI_SUCCESS;
        } else {
            return body();
        }
    } catch (const std::exception& error) {
        return raise(call, nullptr, error);
    }
}

// The body of a function that does not belong to a communicator.
template <class Body>
[[gnu::always_inline]] inline int api(const char* call, Body&& body) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    return api_at_any_time(call, std::forward<Body>(body));
}

// Which communicators, windows or files a call accepts.
enum class Accepts { live, revoked };

template <Accepts accepts, Revocable T>
[[gnu::always_inline]] inline T& accepted(typename T::Handle handle) {
    if constexpr (accepts == Accepts::live)
        return checked<T>(handle);
    else
        return checked_even_revoked<T>(handle);
}

// The body of a function on a communicator: body(Communicator&).
template <Accepts accepts, class Body>
[[gnu::always_inline]] inline int api_accepting(const char* call, MPI_Comm handle,
                                                Body&& body) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    Communicator* comm = nullptr;
    try {
        comm = &accepted<accepts, Communicator>(handle);
        if constexpr (std::is_void_v<decltype(body(*comm))>) {
            body(*comm);
            return MPI_SUCCESS;
        } else {
            return body(*comm);
        }
    } catch (const std::exception& error) {
        return raise(call, comm, error);
    }
}

// A function that does not communicate also accepts a revoked communicator.
template <class Body>
[[gnu::always_inline]] inline int api(const char* call, MPI_Comm handle, Body&& body) noexcept {
    return api_accepting<Accepts::revoked>(call, handle, std::forward<Body>(body));
}
// A function that communicates.
template <class Body>
[[gnu::always_inline]] inline int api_with_others(const char* call, MPI_Comm handle,
                                                  Body&& body) noexcept {
    return api_accepting<Accepts::live>(call, handle, std::forward<Body>(body));
}

// A function on a window or a file, which has a communicator of its own: body(T&). report(T*,
// error) hands an error over and returns its code.
template <Accepts accepts, class T, class Body, class Report>
int api_on_object(const char* call, typename T::Handle handle, Body&& body,
                  Report&& report) noexcept {
    if (!hot.running) [[unlikely]]
        not_running(call);
    T* object = nullptr;
    try {
        object = &accepted<accepts, T>(handle);
        body(*object);
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        // What failed after a revocation failed because of it.
        if (accepts == Accepts::live && object != nullptr && object->revoked())
            return report(object, revoked_failure(communicator_of(*object)));
        return report(object, error);
    }
}

}  // namespace torusmp::mpi
