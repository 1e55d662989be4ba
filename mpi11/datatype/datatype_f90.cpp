// SPDX-License-Identifier: BSD-3-Clause
// Datatypes of Fortran's kinds by precision and range, as selected_real_kind and selected_int_kind
// choose them (MPI-2.2, section 16.2.5). They count as predefined, though they have no name: a
// program gets the same handle each time it requests the same type, and does not free it.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "mpi11/datatype/datatype.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

// A kind of REAL: decimal digits and decimal exponents, as precision() and range() return them.
struct RealKind {
    int digits, range;
    Basic real, complex;
};

template <class Float>
constexpr RealKind real_kind(Basic real, Basic complex) {
    using Limits = std::numeric_limits<Float>;
    return {Limits::digits10, std::min(Limits::max_exponent10, -Limits::min_exponent10), real,
            complex};
}

// The smallest first. long double depends on the machine, but it is gfortran's next kind.
constexpr std::array real_kinds{
    real_kind<float>(Basic::real4, Basic::complex8),
    real_kind<double>(Basic::real8, Basic::complex16),
    real_kind<long double>(Basic::long_double, Basic::c_long_double_complex),
    RealKind{33, 4931, Basic::real16, Basic::complex32},  // IEEE format of 128 bits
};

struct IntegerKind {
    int range;
    Basic integer;
};
constexpr std::array integer_kinds{
    IntegerKind{2, Basic::integer1},   IntegerKind{4, Basic::integer2},
    IntegerKind{9, Basic::integer4},   IntegerKind{18, Basic::integer8},
    IntegerKind{38, Basic::integer16},
};

const RealKind& real_kind(int digits, int range) {
    if (digits == MPI_UNDEFINED && range == MPI_UNDEFINED)
        fail(MPI_ERR_ARG,
             "found MPI_UNDEFINED for both p and r, expected a value for at least one");
    for (const RealKind& kind : real_kinds)
        if ((digits == MPI_UNDEFINED || digits <= kind.digits) &&
            (range == MPI_UNDEFINED || range <= kind.range))
            return kind;
    fail(MPI_ERR_ARG,
         "found precision p = {} and range r = {}, which no kind has; expected at most {} and {}",
         digits, range, real_kinds.back().digits, real_kinds.back().range);
}

const IntegerKind& integer_kind(int range) {
    for (const IntegerKind& kind : integer_kinds)
        if (range <= kind.range) return kind;
    fail(MPI_ERR_ARG, "found range r = {}, which no kind has; expected at most {}", range,
         integer_kinds.back().range);
}

// Types that were already requested, by combiner and arguments.
MPI_Datatype parametrised(Basic basic, int combiner, int first, int second) {
    static std::mutex mutex;
    static auto& made =
        *std::make_unique<std::map<std::tuple<int, int, int>, MPI_Datatype>>().release();
    const SharedLock lock(mutex);
    MPI_Datatype& handle = made[{combiner, first, second}];
    if (handle == MPI_Datatype{}) {
        Recipe recipe(combiner, Form::narrow);
        recipe.number(first);
        if (combiner != MPI_COMBINER_F90_INTEGER) recipe.number(second);
        handle = handle_of(make<Datatype>(facts(basic), std::move(recipe)));
    }
    return handle;
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Type_create_f90_real = PMPI_Type_create_f90_real
int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype* newtype) {
    return api("MPI_Type_create_f90_real", [&] {
        check_output("newtype", newtype);
        *newtype = parametrised(real_kind(p, r).real, MPI_COMBINER_F90_REAL, p, r);
    });
}

#pragma weak MPI_Type_create_f90_complex = PMPI_Type_create_f90_complex
int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype* newtype) {
    return api("MPI_Type_create_f90_complex", [&] {
        check_output("newtype", newtype);
        *newtype = parametrised(real_kind(p, r).complex, MPI_COMBINER_F90_COMPLEX, p, r);
    });
}

#pragma weak MPI_Type_create_f90_integer = PMPI_Type_create_f90_integer
int PMPI_Type_create_f90_integer(int r, MPI_Datatype* newtype) {
    return api("MPI_Type_create_f90_integer", [&] {
        check_output("newtype", newtype);
        *newtype = parametrised(integer_kind(r).integer, MPI_COMBINER_F90_INTEGER, r, 0);
    });
}
}
