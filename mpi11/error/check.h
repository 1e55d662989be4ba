// SPDX-License-Identifier: BSD-3-Clause
// The argument checks that calls share. Each throws Failure with the class required by the
// standard; without an error each costs at most a few predictable branches.
#pragma once

#include "mpi11/comm/communicator.h"
#include "mpi11/error/error.h"

namespace torusmp::mpi {

namespace wrong {
[[noreturn]] void count(MPI_Count found);
[[noreturn]] void total();
[[noreturn]] void dest(const Communicator& comm, int found);
[[noreturn]] void source(const Communicator& comm, int found);
[[noreturn]] void send_tag(int found);
[[noreturn]] void receive_tag(int found);
[[noreturn]] void root(const Communicator& comm, int found);
[[noreturn]] void output(const char* name);
}  // namespace wrong

inline void check_count(int count) {
    if (count < 0) [[unlikely]]
        wrong::count(count);
}
inline void check_count(MPI_Count count) {
    if (count < 0) [[unlikely]]
        wrong::count(count);
}
// Adds one of several counts of a call; the total must not overflow.
inline void add_count(MPI_Count& total, MPI_Count count) {
    if (__builtin_add_overflow(total, count, &total)) [[unlikely]]
        wrong::total();
}
// MPI_PROC_NULL is allowed.
inline void check_dest(const Communicator& comm, int dest) {
    if (unsigned(dest) >= unsigned(comm.remote_size()) && dest != MPI_PROC_NULL) [[unlikely]]
        wrong::dest(comm, dest);
}
// MPI_PROC_NULL and MPI_ANY_SOURCE are allowed.
inline void check_source(const Communicator& comm, int source) {
    if (unsigned(source) >= unsigned(comm.remote_size()) && source != MPI_PROC_NULL &&
        source != MPI_ANY_SOURCE) [[unlikely]]
        wrong::source(comm, source);
}
inline void check_send_tag(int tag) {
    if (tag < 0) [[unlikely]]
        wrong::send_tag(tag);
}
inline void check_receive_tag(int tag) {
    if (tag < 0 && tag != MPI_ANY_TAG) [[unlikely]]
        wrong::receive_tag(tag);
}
// The root of an intra-communicator's collective.
inline void check_root(const Communicator& comm, int root) {
    if (unsigned(root) >= unsigned(comm.size())) [[unlikely]]
        wrong::root(comm, root);
}
// An argument that the call writes to.
inline void check_output(const char* name, const void* pointer) {
    if (pointer == nullptr) [[unlikely]]
        wrong::output(name);
}
// A function that communicates and makes a request: body(Communicator&) sets *request. If the call
// fails, *request is MPI_REQUEST_NULL, so a program that still waits for it does not wait for an
// old value.
template <class Body>
[[gnu::always_inline]] inline int api_with_request(const char* call, MPI_Comm comm,
                                                   MPI_Request* request, Body&& body) noexcept {
    const int code = api_with_others(
        call, comm, [&](Communicator & c) __attribute__((always_inline)) {
            check_output("request", request);
            body(c);
        });
    if (code != MPI_SUCCESS && request != nullptr) [[unlikely]]
        *request = MPI_REQUEST_NULL;
    return code;
}

// Returns the name of an object to the program. `parameter` is the name of the call's parameter.
void copy_name(std::string_view found, const char* parameter, char* name, int* resultlen);

}  // namespace torusmp::mpi
