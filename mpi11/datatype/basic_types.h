// SPDX-License-Identifier: BSD-3-Clause
// The predefined datatypes and their properties, independent of their handles.
//
// Facts only, of C and of gfortran on this machine; the handles are those of the MPI 5.0 ABI. Any
// thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi11/mpi.h"

namespace torusmp::mpi {

enum class Basic : std::uint8_t {
    none,  // not a predefined type, or several different ones
    // C
    char_,
    signed_char,
    unsigned_char,
    wchar,
    short_,
    unsigned_short,
    int_,
    unsigned_int,
    long_,
    unsigned_long,
    long_long,
    unsigned_long_long,
    float_,
    double_,
    long_double,
    c_bool,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    c_float_complex,
    c_double_complex,
    c_long_double_complex,
    // C++
    cxx_bool,
    cxx_float_complex,
    cxx_double_complex,
    cxx_long_double_complex,
    // independent of a language
    byte,
    packed,
    aint,
    offset,
    count,
    // pairs for MINLOC and MAXLOC
    float_int,
    double_int,
    long_int,
    two_int,
    short_int,
    long_double_int,
    two_real,
    two_double_precision,
    two_integer,
    // Fortran
    logical,
    integer,
    real,
    double_precision,
    complex,
    double_complex,
    character,
    logical1,
    logical2,
    logical4,
    logical8,
    logical16,
    integer1,
    integer2,
    integer4,
    integer8,
    integer16,
    real2,
    real4,
    real8,
    real16,
    complex4,
    complex8,
    complex16,
    complex32,
    // markers of MPI-1
    lower_bound,
    upper_bound,
    last = upper_bound
};

// The operations that may be used on it (MPI-1.1, section 4.9.2), and its components.
enum class Family : std::uint8_t {
    none,
    integer,         // C's integers and Fortran's
    multi_language,  // MPI_AINT, MPI_OFFSET and MPI_COUNT, used like integers
    floating,        // float, double, long double, REAL, DOUBLE PRECISION
    logical,         // bool, LOGICAL
    complex,
    byte,
    character,  // for text, which is moved, but not used in operations
    packed,
    pair,
    marker
};

struct BasicFacts {
    Basic basic;
    MPI_Datatype handle;
    const char* name;  // as returned by MPI_Type_get_name
    Family family;
    std::uint8_t size;       // bytes of data
    std::uint8_t alignment;  // bytes
    std::uint8_t extent;     // bytes; more than the data in some pairs
    // The type of the value of a pair, and the offset and type of its index.
    Basic value = Basic::none;
    Basic index = Basic::none;
    std::uint8_t index_at = 0;
};

// Every predefined type but Basic::none, in the order of the enumeration.
std::span<const BasicFacts> basic_types();
const BasicFacts& facts(Basic basic);  // Precondition: basic is not none.

}  // namespace torusmp::mpi
