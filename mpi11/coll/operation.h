// SPDX-License-Identifier: BSD-3-Clause
// Operations of reductions: the object behind an MPI_Op (MPI-1.1, section 4.9).
//
// Predefined ones choose a loop by the type (kernels.h); others call a function of the program. A
// collective in progress holds its operation, so the program may free it earlier. Any thread may
// use one.
#pragma once

#include "mpi11/coll/kernels.h"
#include "mpi11/datatype/basic_types.h"
#include "mpi11/error/error.h"
#include "mpi11/object.h"

namespace torusmp::mpi {

class Datatype;

class Op : public Object {
  public:
    using Handle = MPI_Op;
    static constexpr Kind kind_of_class = Kind::operation;
    static constexpr int error_class = MPI_ERR_OP;
    static inline const Handle null_handle = MPI_OP_NULL;
    static constexpr const char* null_name = "MPI_OP_NULL";
    static constexpr const char* noun = "operation";

    enum class What : std::uint8_t {
        built_in,
        one_sided,      // MPI_REPLACE and MPI_NO_OP, only for windows
        function,       // of the program, in C
        wide_function,  // of the program, in C with a length of 64 bits
        fortran,        // of the program, in Fortran
        wide_fortran    // of the program, in Fortran with a length of 64 bits
    };
    Op(What is, std::string_view named, OpCode computes = OpCode::max)
        : Object(kind_of_class), what(is), code(computes), name(named) {}
    Op(What is, MPI_User_function* called, bool commutes)
        : Object(kind_of_class),
          what(is),
          commutative(commutes),
          name(name_of(commutes)),
          function(called) {}
    Op(What is, MPI_User_function_c* called, bool commutes)
        : Object(kind_of_class),
          what(is),
          commutative(commutes),
          name(name_of(commutes)),
          wide_function(called) {}

    bool built_in() const { return what == What::built_in || what == What::one_sided; }

    const What what;
    const OpCode code = OpCode::max;  // of predefined ones
    const bool commutative = true;
    const std::string_view name;  // a literal
    MPI_User_function* const function = nullptr;
    MPI_User_function_c* const wide_function = nullptr;

  private:
    static std::string_view name_of(bool commutes) {
        return commutes ? "an operation of the program" : "an ordered one of the program";
    }
};

// Creates the predefined operations, once.
void make_operations();

// Creates an operation of the program. `fortran` means that the function is a subroutine of (invec,
// inoutvec, len, type).
Op& make_operation(MPI_User_function* function, bool commutes, bool fortran);

// The loop of a predefined operation on a type. Throws Failure (MPI_ERR_OP), with an explanation,
// if the standard has none.
collectives::Combine kernel_of(const Op& op, const Datatype& type);
// The same for a basic type; null if the standard has none.
collectives::Combine loop_of(OpCode op, Basic basic);
// The properties that members have to agree on, as text.
collectives::Label label_of(const Op& op, const Datatype& type);
// The values that a predefined type holds; empty if not usable in operations.
std::string_view elements_of(const Datatype& type);

}  // namespace torusmp::mpi
