// SPDX-License-Identifier: BSD-3-Clause
// The loops of the predefined operations: one for each operation on each kind of values.
//
// They do not depend on handles and MPI types: many predefined types hold the same values (MPI_INT,
// MPI_INTEGER and MPI_INT32_T are all int32). Pure functions; any thread may call.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/group/operation.h"

namespace torusmp::mpi {

enum class OpCode : std::uint8_t {
    max,
    min,
    sum,
    prod,
    land,
    band,
    lor,
    bor,
    lxor,
    bxor,
    minloc,
    maxloc
};
inline constexpr int op_codes = 12;

// The kind of values in the elements of a predefined type.
enum class Values : std::uint8_t {
    none,  // not usable in operations
    int8,
    int16,
    int32,
    int64,
    int128,
    uint8,
    uint16,
    uint32,
    uint64,
    float32,
    float64,
    long_double,
    float128,  // REAL*16 of gfortran
    complex64,
    complex128,
    complex_long_double,
    complex256,
    logical8,
    logical16,
    logical32,
    logical64,
    logical128,
    byte,
    // Pairs of a value and an index, laid out as in C.
    float32_int32,
    float64_int32,
    int64_int32,
    int32_int32,
    int16_int32,
    long_double_int32,
    float32_float32,
    float64_float64
};
inline constexpr int value_kinds = int(Values::float64_float64) + 1;

// result[i] = a[i] op b[i], as collectives::Combine; all may be unaligned. Null if the standard has
// no such operation. Integers wrap around; logical results are 0 or 1; of equal values MINLOC and
// MAXLOC keep the lower index.
collectives::Combine kernel(OpCode op, Values values);

// Bytes from one element to the next; 0 for none.
std::size_t element_size(Values values);
// The name in messages, for example "integers", "pairs of a value and an index".
std::string_view describe(Values values);

}  // namespace torusmp::mpi
