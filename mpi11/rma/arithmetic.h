// SPDX-License-Identifier: BSD-3-Clause
// The operations of accumulates, their element types, and the numbers that identify them in
// packets.
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

// Finds the operation for elements of the type. Throws Failure if accumulates do not allow it.
ArithmeticOf arithmetic_of(MPI_Op op, MPI_Datatype type);
// Throws Failure unless the type consists of the same elements.
void check_element(const ArithmeticOf& chosen, MPI_Datatype type, const char* which);
// Throws Failure unless MPI_Compare_and_swap accepts the type.
void check_swappable(MPI_Datatype type);
// The implementation of core::rma::Window::Find.
bool find_arithmetic(std::uint16_t number, core::rma::Arithmetic& found);

// Whether an element has padding, as some pairs have. Such elements are moved with their padding,
// because the operations work on the C structure.
inline bool has_gap(Basic element) {
    return facts(element).extent != facts(element).size;
}
// The memory of `count` elements with padding. `hold` keeps the layout alive.
core::Buffer padded(const void* address, std::size_t count, const Datatype& type, Basic element,
                    std::shared_ptr<const core::Layout>& hold);

}  // namespace torusmp::mpi
