// SPDX-License-Identifier: BSD-3-Clause
// The vector of a reduction: how the elements of a type are combined, and how they are sent.
//
// Elements of a type without gaps are sent as laid out in memory. Others are sent one after the
// other with their full extent, so that functions of the program find the layout that the standard
// defines. Held by its collective; one thread at a time.
#pragma once

#include "collectives/schedule/schedule.h"
#include "mpi11/coll/operation.h"
#include "mpi11/datatype/datatype.h"

namespace torusmp::mpi {

class Reduction {
  public:
    Reduction() = default;
    Reduction(const Reduction&) = delete;
    Reduction& operator=(const Reduction&) = delete;

    // Throws Failure (MPI_ERR_OP) if the operation is not defined for the type. Holds both.
    void prepare(Op& op, Datatype& given);
    // Releases what prepare() held.
    void forget();

    const collectives::Operation& operation() const { return operation_; }
    // Elements are sent as laid out in memory.
    bool direct() const { return given_->dense(); }
    std::size_t bytes(std::size_t count) const { return count * operation_.element; }

    // The start of a vector of a direct type.
    std::byte* memory(const void* address) const {
        return core::displaced(address, type_->true_lb());
    }
    // load() copies a vector of the program into the form in which it is sent; store() copies it
    // back.
    void load(std::byte* vector, const void* address, std::size_t count);
    void store(void* address, const std::byte* vector, std::size_t count);
    // Calls the function of the program: inout = in op inout, for vectors in the form in which they
    // are sent.
    void apply(std::byte* in, std::byte* inout, std::size_t count) const;

  private:
    static void call_commuting(void* result, const void* a, const void* b, std::size_t count,
                               const void* self);
    static void call_ordered(void* result, const void* a, const void* b, std::size_t count,
                             const void* self);
    template <class Use>
    void each_run(std::size_t count, Use&& use) const;

    Datatype* given_ = nullptr;  // with the sections of the call, if any
    Datatype* type_ = nullptr;   // of the elements
    Op* op_ = nullptr;
    collectives::Operation operation_{};
    // For functions of the program, which are called later than the call that named them.
    Reference<Datatype> held_type_;
    Reference<Op> held_op_;
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
    std::ptrdiff_t origin_ = 0;  // offset of an element's address from the start of its sent data
    bool one_by_one_ = false;  // one call per element, as elements overlap or are in reverse order
    collectives::Scratch packed_;
    mutable collectives::Scratch spare_;
};

// MPI_Reduce_local.
void reduce_locally(const void* in, void* inout, MPI_Count count, Datatype& type, Op& op);

}  // namespace torusmp::mpi
