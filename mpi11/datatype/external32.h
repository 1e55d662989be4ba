// SPDX-License-Identifier: BSD-3-Clause
// "external32": the machine-independent representation of data (MPI-4.0, section 14.5.2).
// Big-endian, IEEE, with sizes of its own, without padding.
//
// Pure functions; any thread may call. A pair has no representation of its own: a signature shows
// its parts.
#pragma once

#include <cstddef>

#include "mpi11/datatype/signature.h"

namespace torusmp::mpi::external32 {

// Bytes of one element.
std::size_t size_of(Basic basic);
std::size_t size_of(const Signature& signature);

// Converts `count` elements, contiguous on both sides. encode() throws Failure with
// MPI_ERR_VALUE_TOO_LARGE for a value that the external form cannot hold.
void encode(Basic basic, const std::byte* native, std::size_t count, std::byte* external);
void decode(Basic basic, const std::byte* external, std::size_t count, std::byte* native);

}  // namespace torusmp::mpi::external32
