// SPDX-License-Identifier: BSD-3-Clause
// Argument conversion between Fortran and C: Fortran passes everything by reference, handles as
// INTEGERs, and special addresses as members of common blocks.
//
// Argument<T> stands for one parameter of C's type T: it is constructed from Fortran's argument,
// gives C its value, and writes handles back when the call is over.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "mpi11/fortran/handles.h"

namespace torusmp::mpi {

// The last argument of a routine, which mpi_f08 may leave out.
struct Ierror {
    MPI_Fint* at;
    void operator=(int code) const {
        if (at != nullptr) *at = code;
    }
};
static_assert(std::is_trivially_copyable_v<Ierror>, "it is passed as the pointer that it holds");

}  // namespace torusmp::mpi

// The common blocks of mpif.h. The linker gives a program and the library one copy of each, so
// their addresses identify them.
extern "C" {
extern MPI_Fint torusmp_fbottom_;
extern MPI_Fint torusmp_finplace_;
extern MPI_Fint torusmp_fbufferautomatic_;
extern MPI_Fint torusmp_fstatus_[MPI_F_STATUS_SIZE];
extern MPI_Fint torusmp_fstatuses_[MPI_F_STATUS_SIZE];
extern MPI_Fint torusmp_ferrcodes_;
extern char torusmp_fargv_;
extern char torusmp_fargvs_;
extern MPI_Fint torusmp_funweighted_;
extern MPI_Fint torusmp_fweightsempty_;
}

namespace torusmp::mpi {

inline void* c_buffer(void* buffer) {
    if (buffer == &torusmp_fbottom_) return MPI_BOTTOM;
    if (buffer == &torusmp_finplace_) return MPI_IN_PLACE;
    if (buffer == &torusmp_fbufferautomatic_) return MPI_BUFFER_AUTOMATIC;
    return buffer;
}

// A Fortran status has the layout of a C one.
static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint) &&
              offsetof(MPI_Status, MPI_SOURCE) == MPI_F_SOURCE * sizeof(MPI_Fint) &&
              offsetof(MPI_Status, MPI_TAG) == MPI_F_TAG * sizeof(MPI_Fint) &&
              offsetof(MPI_Status, MPI_ERROR) == MPI_F_ERROR * sizeof(MPI_Fint));
inline MPI_Status* c_status(MPI_Fint* status) {
    if (status == torusmp_fstatus_ || status == torusmp_fstatuses_) return MPI_STATUS_IGNORE;
    return reinterpret_cast<MPI_Status*>(status);
}

// Values, and arguments written in place: the types have the same size in both languages, and a
// LOGICAL of gfortran is 0 or 1.
template <class T>
struct Argument {
    using Passed = const T*;
    explicit Argument(Passed passed) : value(*passed) {}
    T in_c() { return value; }
    const T value;
};
template <class T>
requires(!IsHandle<T*> && !IsHandle<T>) struct Argument<T*> {
    using Passed = T*;
    explicit Argument(Passed passed) : value(passed) {}
    T* in_c() { return value; }
    T* const value;
};

template <>
struct Argument<void*> {
    using Passed = void*;
    explicit Argument(Passed passed) : value(c_buffer(passed)) {}
    void* in_c() { return value; }
    void* const value;
};
template <>
struct Argument<const void*> : Argument<void*> {
    using Argument<void*>::Argument;
};

template <>
struct Argument<MPI_Status*> {
    using Passed = MPI_Fint*;
    explicit Argument(Passed passed) : value(c_status(passed)) {}
    MPI_Status* in_c() { return value; }
    MPI_Status* const value;
};
template <>
struct Argument<const MPI_Status*> : Argument<MPI_Status*> {
    using Argument<MPI_Status*>::Argument;
};

template <IsHandle Handle>
struct Argument<Handle> {
    using Passed = const MPI_Fint*;
    explicit Argument(Passed passed) : value(from_fortran<Handle>(*passed)) {}
    Handle in_c() { return value; }
    const Handle value;
};

// One handle that the call creates, changes or ends. It is written back only if the call changed
// it.
template <IsHandle Handle>
struct Argument<Handle*> {
    using Passed = MPI_Fint*;
    explicit Argument(Passed passed) : number(passed), before(from_fortran<Handle>(*passed)) {}
    Argument(const Argument&) = delete;
    Argument& operator=(const Argument&) = delete;
    ~Argument() {
        if (value != before) *number = to_fortran(value);
    }
    Handle* in_c() { return &value; }
    MPI_Fint* const number;
    const Handle before;
    Handle value = before;
};

// Calls the C function with the arguments that Fortran passed.
template <auto function>
struct CallInC;
template <class Result, class... Parameters, Result (*function)(Parameters...)>
struct CallInC<function> {
    static constexpr std::size_t arity = sizeof...(Parameters);
    static Result run(typename Argument<Parameters>::Passed... passed) {
        return function(Argument<Parameters>(passed).in_c()...);
    }
    template <std::size_t place>
    using Passed =
        typename Argument<std::tuple_element_t<place, std::tuple<Parameters...>>>::Passed;
};
template <auto function, std::size_t place>
using Passed = typename CallInC<function>::template Passed<place>;

}  // namespace torusmp::mpi

// The names that programs call are weak, so that a profiler can define them itself: with mpif.h and
// the module mpi, and with mpi_f08 if it has the routine.
#define FORTRAN_ALIAS(alias_name, name) \
    extern "C" decltype(name) alias_name __attribute__((weak, alias(#name)));
#define FORTRAN_NAME(name) FORTRAN_ALIAS(mpi_##name##_, pmpi_##name##_)
#define FORTRAN_NAME_F08(name) \
    FORTRAN_NAME(name)         \
    FORTRAN_ALIAS(mpi_##name##_f08_, pmpi_##name##_)
#define FORTRAN_NAME_EXTENSION(name)               \
    FORTRAN_ALIAS(mpix_##name##_, pmpix_##name##_) \
    FORTRAN_ALIAS(mpix_##name##_f08_, pmpix_##name##_)
