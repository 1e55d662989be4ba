// SPDX-License-Identifier: BSD-3-Clause
// Handles as held by Fortran: INTEGERs. A predefined handle is the value of its constant, the same
// as in C; every other object gets a number from a table when Fortran first sees it, and releases
// it when it ends.
//
// Any thread may convert; numbers are looked up without a lock.
#pragma once

#include "mpi11/object.h"

namespace torusmp::mpi {

// The object's number; enters it in the table if it has none.
int fortran_number(Object& object);
// The object of a number from the table; null if there is none, or it has ended.
Object* fortran_object(int number);

template <class Handle>
inline constexpr Kind kind_of = Kind::dead;
template <>
inline constexpr Kind kind_of<MPI_Comm> = Kind::communicator;
template <>
inline constexpr Kind kind_of<MPI_Group> = Kind::group;
template <>
inline constexpr Kind kind_of<MPI_Datatype> = Kind::datatype;
template <>
inline constexpr Kind kind_of<MPI_Op> = Kind::operation;
template <>
inline constexpr Kind kind_of<MPI_Request> = Kind::request;
template <>
inline constexpr Kind kind_of<MPI_Errhandler> = Kind::error_handler;
template <>
inline constexpr Kind kind_of<MPI_Info> = Kind::info;
template <>
inline constexpr Kind kind_of<MPI_Message> = Kind::message;
template <>
inline constexpr Kind kind_of<MPI_File> = Kind::file;
template <>
inline constexpr Kind kind_of<MPI_Win> = Kind::window;

template <>
inline constexpr Kind kind_of<MPI_Session> = Kind::session;

template <class Handle>
concept IsHandle = kind_of<Handle>
!= Kind::dead;

template <IsHandle Handle>
bool is_kind_of(Kind kind) {
    return kind == kind_of<Handle> ||
           (kind == Kind::revoked_communicator && kind_of<Handle> == Kind::communicator) ||
           (kind == Kind::revoked_window && kind_of<Handle> == Kind::window) ||
           (kind == Kind::revoked_file && kind_of<Handle> == Kind::file);
}

// A value that is not a handle is passed through, or becomes 0 or an unused constant: the call that
// gets it reports the error.
template <IsHandle Handle>
MPI_Fint to_fortran(Handle handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value < constants) return MPI_Fint(value);
    if (value % alignof(Object) != 0) return 0;
    auto* const object = reinterpret_cast<Object*>(value);
    if (!is_kind_of<Handle>(object->kind)) return 0;
    // Two threads may convert it for the first time.
    const int number = std::atomic_ref(object->fortran).load(std::memory_order_relaxed);
    return number != 0 ? number : fortran_number(*object);
}

template <IsHandle Handle>
Handle from_fortran(MPI_Fint number) {
    if (number >= 0 && std::uintptr_t(number) < constants)
        return reinterpret_cast<Handle>(std::uintptr_t(number));
    Object* const object = fortran_object(number);
    if (object == nullptr || !is_kind_of<Handle>(object->kind))
        return reinterpret_cast<Handle>(constants - 1);
    return reinterpret_cast<Handle>(object);
}

}  // namespace torusmp::mpi
