// SPDX-License-Identifier: BSD-3-Clause
// Counts and displacements as a program passes them: int in the old functions, 64 bits in those
// whose names end in _c. Internally they are 64 bits wide; arrays are read in place.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

#include "mpi11/mpi.h"

namespace torusmp::mpi {

enum class Form : bool { narrow, wide };

// The types of the parameters in either form (see entry.h).
namespace narrow {
using Count = int;
using Displacement = int;  // of blocks in a buffer
using Stride = MPI_Aint;   // in bytes
inline constexpr Form form = Form::narrow;
}  // namespace narrow
namespace wide {
using Count = MPI_Count;
using Displacement = MPI_Aint;
using Stride = MPI_Count;
inline constexpr Form form = Form::wide;
}  // namespace wide
static_assert(std::is_same_v<MPI_Aint, MPI_Count>, "an address is as wide as a count");

// An array of the program, of either width.
class Numbers {
  public:
    Numbers() = default;  // none
    Numbers(const int numbers[]) : array_(numbers), form_(Form::narrow) {}
    Numbers(const MPI_Count numbers[]) : array_(numbers), form_(Form::wide) {}

    const void* array() const { return array_; }
    bool given() const { return array_ != nullptr; }
    MPI_Count operator[](MPI_Count i) const {
        return form_ == Form::wide ? static_cast<const MPI_Count*>(array_)[i]
                                   : MPI_Count{static_cast<const int*>(array_)[i]};
    }

  private:
    const void* array_ = nullptr;
    Form form_ = Form::narrow;
};

// A number as returned to the program; MPI_UNDEFINED if its type is too narrow (MPI-3.1, section
// 4.1.5).
template <class Count>
Count fitting(std::size_t figure) {
    return figure > std::size_t(std::numeric_limits<Count>::max()) ? Count{MPI_UNDEFINED}
                                                                   : Count(figure);
}

}  // namespace torusmp::mpi
