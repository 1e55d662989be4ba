// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/datatype/basic_types.h"

#include <array>
#include <cstddef>
#include <cwchar>

#include "mpi11/datatype/float128.h"

namespace torusmp::mpi {
namespace {

template <class T>
BasicFacts plain(Basic basic, MPI_Datatype handle, const char* name, Family family) {
    return {basic, handle, name, family, sizeof(T), alignof(T), sizeof(T)};
}

// The layout of `struct { Value value; Index index; }` for a C compiler.
template <class Value, class Index>
BasicFacts pair(Basic basic, MPI_Datatype handle, const char* name, Basic value, Basic index) {
    struct Pair {
        Value value;
        Index index;
    };
    return {basic,         handle,       name,  Family::pair, sizeof(Value) + sizeof(Index),
            alignof(Pair), sizeof(Pair), value, index,        offsetof(Pair, index)};
}

// Complex numbers have the layout of two of their parts.
template <class Part>
BasicFacts twice(Basic basic, MPI_Datatype handle, const char* name) {
    return {basic,         handle,          name, Family::complex, 2 * sizeof(Part),
            alignof(Part), 2 * sizeof(Part)};
}

// gfortran's types, by kind. It has no REAL of two bytes; its bits can still be moved.
__extension__ using Integer16 = __int128;
using Real16 = Float128;
using Real2 = std::uint16_t;

#define TORUSMP_PLAIN(basic, type, NAME, family) \
    plain<type>(Basic::basic, MPI_##NAME, "MPI_" #NAME, Family::family)
#define TORUSMP_PAIR(basic, value_type, index_type, NAME, value, index) \
    pair<value_type, index_type>(Basic::basic, MPI_##NAME, "MPI_" #NAME, Basic::value, Basic::index)
#define TORUSMP_TWICE(basic, part, NAME) twice<part>(Basic::basic, MPI_##NAME, "MPI_" #NAME)

constexpr std::size_t kinds = std::size_t(Basic::last);

const std::array<BasicFacts, kinds> table{{
    // char is for text; the signed and unsigned ones are integers of one byte.
    TORUSMP_PLAIN(char_, char, CHAR, character),
    TORUSMP_PLAIN(signed_char, signed char, SIGNED_CHAR, integer),
    TORUSMP_PLAIN(unsigned_char, unsigned char, UNSIGNED_CHAR, integer),
    TORUSMP_PLAIN(wchar, wchar_t, WCHAR, character),
    TORUSMP_PLAIN(short_, short, SHORT, integer),
    TORUSMP_PLAIN(unsigned_short, unsigned short, UNSIGNED_SHORT, integer),
    TORUSMP_PLAIN(int_, int, INT, integer),
    TORUSMP_PLAIN(unsigned_int, unsigned, UNSIGNED, integer),
    TORUSMP_PLAIN(long_, long, LONG, integer),
    TORUSMP_PLAIN(unsigned_long, unsigned long, UNSIGNED_LONG, integer),
    TORUSMP_PLAIN(long_long, long long, LONG_LONG_INT, integer),
    TORUSMP_PLAIN(unsigned_long_long, unsigned long long, UNSIGNED_LONG_LONG, integer),
    TORUSMP_PLAIN(float_, float, FLOAT, floating),
    TORUSMP_PLAIN(double_, double, DOUBLE, floating),
    TORUSMP_PLAIN(long_double, long double, LONG_DOUBLE, floating),
    TORUSMP_PLAIN(c_bool, bool, C_BOOL, logical),
    TORUSMP_PLAIN(int8, std::int8_t, INT8_T, integer),
    TORUSMP_PLAIN(uint8, std::uint8_t, UINT8_T, integer),
    TORUSMP_PLAIN(int16, std::int16_t, INT16_T, integer),
    TORUSMP_PLAIN(uint16, std::uint16_t, UINT16_T, integer),
    TORUSMP_PLAIN(int32, std::int32_t, INT32_T, integer),
    TORUSMP_PLAIN(uint32, std::uint32_t, UINT32_T, integer),
    TORUSMP_PLAIN(int64, std::int64_t, INT64_T, integer),
    TORUSMP_PLAIN(uint64, std::uint64_t, UINT64_T, integer),
    TORUSMP_TWICE(c_float_complex, float, C_COMPLEX),
    TORUSMP_TWICE(c_double_complex, double, C_DOUBLE_COMPLEX),
    TORUSMP_TWICE(c_long_double_complex, long double, C_LONG_DOUBLE_COMPLEX),
    TORUSMP_PLAIN(cxx_bool, bool, CXX_BOOL, logical),
    TORUSMP_TWICE(cxx_float_complex, float, CXX_FLOAT_COMPLEX),
    TORUSMP_TWICE(cxx_double_complex, double, CXX_DOUBLE_COMPLEX),
    TORUSMP_TWICE(cxx_long_double_complex, long double, CXX_LONG_DOUBLE_COMPLEX),
    TORUSMP_PLAIN(byte, std::byte, BYTE, byte),
    TORUSMP_PLAIN(packed, std::byte, PACKED, packed),
    TORUSMP_PLAIN(aint, MPI_Aint, AINT, multi_language),
    TORUSMP_PLAIN(offset, MPI_Offset, OFFSET, multi_language),
    TORUSMP_PLAIN(count, MPI_Count, COUNT, multi_language),
    TORUSMP_PAIR(float_int, float, int, FLOAT_INT, float_, int_),
    TORUSMP_PAIR(double_int, double, int, DOUBLE_INT, double_, int_),
    TORUSMP_PAIR(long_int, long, int, LONG_INT, long_, int_),
    TORUSMP_PAIR(two_int, int, int, 2INT, int_, int_),
    TORUSMP_PAIR(short_int, short, int, SHORT_INT, short_, int_),
    TORUSMP_PAIR(long_double_int, long double, int, LONG_DOUBLE_INT, long_double, int_),
    TORUSMP_PAIR(two_real, float, float, 2REAL, real, real),
    TORUSMP_PAIR(two_double_precision, double, double, 2DOUBLE_PRECISION, double_precision,
                 double_precision),
    TORUSMP_PAIR(two_integer, int, int, 2INTEGER, integer, integer),
    TORUSMP_PLAIN(logical, std::int32_t, LOGICAL, logical),
    TORUSMP_PLAIN(integer, std::int32_t, INTEGER, integer),
    TORUSMP_PLAIN(real, float, REAL, floating),
    TORUSMP_PLAIN(double_precision, double, DOUBLE_PRECISION, floating),
    TORUSMP_TWICE(complex, float, COMPLEX),
    TORUSMP_TWICE(double_complex, double, DOUBLE_COMPLEX),
    TORUSMP_PLAIN(character, char, CHARACTER, character),
    TORUSMP_PLAIN(logical1, std::int8_t, LOGICAL1, logical),
    TORUSMP_PLAIN(logical2, std::int16_t, LOGICAL2, logical),
    TORUSMP_PLAIN(logical4, std::int32_t, LOGICAL4, logical),
    TORUSMP_PLAIN(logical8, std::int64_t, LOGICAL8, logical),
    TORUSMP_PLAIN(logical16, Integer16, LOGICAL16, logical),
    TORUSMP_PLAIN(integer1, std::int8_t, INTEGER1, integer),
    TORUSMP_PLAIN(integer2, std::int16_t, INTEGER2, integer),
    TORUSMP_PLAIN(integer4, std::int32_t, INTEGER4, integer),
    TORUSMP_PLAIN(integer8, std::int64_t, INTEGER8, integer),
    TORUSMP_PLAIN(integer16, Integer16, INTEGER16, integer),
    TORUSMP_PLAIN(real2, Real2, REAL2, floating),
    TORUSMP_PLAIN(real4, float, REAL4, floating),
    TORUSMP_PLAIN(real8, double, REAL8, floating),
    TORUSMP_PLAIN(real16, Real16, REAL16, floating),
    TORUSMP_TWICE(complex4, Real2, COMPLEX4),
    TORUSMP_TWICE(complex8, float, COMPLEX8),
    TORUSMP_TWICE(complex16, double, COMPLEX16),
    TORUSMP_TWICE(complex32, Real16, COMPLEX32),
    {Basic::lower_bound, MPI_LB, "MPI_LB", Family::marker, 0, 1, 0},
    {Basic::upper_bound, MPI_UB, "MPI_UB", Family::marker, 0, 1, 0},
}};

#undef TORUSMP_PLAIN
#undef TORUSMP_PAIR
#undef TORUSMP_TWICE

}  // namespace

std::span<const BasicFacts> basic_types() {
    return table;
}

const BasicFacts& facts(Basic basic) {
    return table[std::size_t(basic) - 1];
}

}  // namespace torusmp::mpi
