// SPDX-License-Identifier: BSD-3-Clause
// The operations of accumulates: which elements they work on, and the numbers by which packets name
// them.
#pragma once

#include <memory>

#include "core/rma/control.h"
#include "mpi11/coll/operation.h"
#include "mpi11/datatype/datatype.h"

namespace torusmp::mpi {

struct ArithmeticOf {
    Basic element = Basic::none;
    std::uint16_t number = 0;
    core::rma::Arithmetic arithmetic;
};

// Throws Failure if the operation, or this operation on the type's elements, is not possible.
ArithmeticOf arithmetic_of(MPI_Op op, MPI_Datatype type);
// Throws Failure unless the type consists of the same elements.
void check_element(const ArithmeticOf& chosen, MPI_Datatype type, const char* which);
// Throws Failure unless MPI_Compare_and_swap takes the type.
void check_swappable(MPI_Datatype type);
// core::rma::Window::Find
bool find_arithmetic(std::uint16_t number, core::rma::Arithmetic& found);

// Pairs whose extent is larger than their data: they are moved as their C structures, because the
// operations expect these.
inline bool has_gap(Basic element) {
    return facts(element).extent != facts(element).size;
}
// Memory of elements with a gap, as blocks of their extent.
core::Buffer padded(const void* address, std::size_t count, const Datatype& type, Basic element,
                    std::shared_ptr<const core::Layout>& hold);

}  // namespace torusmp::mpi
