// SPDX-License-Identifier: BSD-3-Clause
// An array of handles passed by Fortran, in the form that C takes. Short ones live on the stack.
#pragma once

#include <array>
#include <memory>

#include "mpi11/fortran/handles.h"

namespace torusmp::mpi {

template <IsHandle Handle>
class HandleArray {
  public:
    // The call refuses a negative count.
    HandleArray(const MPI_Fint* numbers, int count) : count_(count > 0 ? count : 0) {
        if (std::size_t(count_) > few_.size()) {
            many_ = std::make_unique<Handle[]>(std::size_t(count_));
            handles_ = many_.get();
        }
        for (int i = 0; i < count_; ++i) handles_[i] = from_fortran<Handle>(numbers[i]);
    }
    HandleArray(const HandleArray&) = delete;
    HandleArray& operator=(const HandleArray&) = delete;

    Handle* in_c() { return handles_; }
    Handle operator[](int i) const { return handles_[i]; }

  private:
    const int count_;
    std::array<Handle, 64> few_;
    std::unique_ptr<Handle[]> many_;
    Handle* handles_ = few_.data();
};

}  // namespace torusmp::mpi
