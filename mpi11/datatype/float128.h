// SPDX-License-Identifier: BSD-3-Clause
// The compiler's floating-point type of 128 bits, which is gfortran's REAL(16).
#pragma once

namespace torusmp::mpi {

#if __LDBL_MANT_DIG__ == 113  // as on arm64, where long double is its only name
using Float128 = long double;
#else
__extension__ typedef __float128 Float128;
#endif

}  // namespace torusmp::mpi
