// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/coll/operation.h"

#include <type_traits>

#include "mpi11/coll/reduction.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/entry.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

Values integer_of(std::size_t size, bool is_signed) {
    switch (size) {
        case 1:
            return is_signed ? Values::int8 : Values::uint8;
        case 2:
            return is_signed ? Values::int16 : Values::uint16;
        case 4:
            return is_signed ? Values::int32 : Values::uint32;
        case 8:
            return is_signed ? Values::int64 : Values::uint64;
        default:
            return is_signed ? Values::int128 : Values::none;
    }
}

bool is_signed(Basic basic) {
    switch (basic) {
        case Basic::char_:
            return std::is_signed_v<char>;
        case Basic::unsigned_char:
        case Basic::unsigned_short:
        case Basic::unsigned_int:
        case Basic::unsigned_long:
        case Basic::unsigned_long_long:
        case Basic::uint8:
        case Basic::uint16:
        case Basic::uint32:
        case Basic::uint64:
            return false;
        default:
            return true;
    }
}

Values logical_of(std::size_t size) {
    switch (size) {
        case 1:
            return Values::logical8;
        case 2:
            return Values::logical16;
        case 4:
            return Values::logical32;
        case 8:
            return Values::logical64;
        default:
            return Values::logical128;
    }
}

Values floating_of(Basic basic, std::size_t size) {
    if (basic == Basic::long_double) return Values::long_double;
    if (size == 4) return Values::float32;
    if (size == 8) return Values::float64;
    return basic == Basic::real16 ? Values::float128 : Values::none;
}

Values complex_of(Basic basic, std::size_t size) {
    if (basic == Basic::c_long_double_complex || basic == Basic::cxx_long_double_complex)
        return Values::complex_long_double;
    if (size == 8) return Values::complex64;
    if (size == 16) return Values::complex128;
    return basic == Basic::complex32 ? Values::complex256 : Values::none;
}

Values pair_of(Basic basic) {
    switch (basic) {
        case Basic::float_int:
            return Values::float32_int32;
        case Basic::double_int:
            return Values::float64_int32;
        case Basic::long_int:
            return Values::int64_int32;
        case Basic::two_int:
        case Basic::two_integer:
            return Values::int32_int32;
        case Basic::short_int:
            return Values::int16_int32;
        case Basic::long_double_int:
            return Values::long_double_int32;
        case Basic::two_real:
            return Values::float32_float32;
        case Basic::two_double_precision:
            return Values::float64_float64;
        default:
            return Values::none;
    }
}

Values values_of(Basic basic) {
    if (basic == Basic::none) return Values::none;
    const BasicFacts& type = facts(basic);
    switch (type.family) {
        case Family::integer:
        case Family::multi_language:
            return integer_of(type.size, is_signed(basic));
        case Family::floating:
            return floating_of(basic, type.size);
        case Family::complex:
            return complex_of(basic, type.size);
        case Family::logical:
            return logical_of(type.size);
        case Family::byte:
            return Values::byte;
        case Family::pair:
            return pair_of(basic);
        case Family::character:
            // Programs add up flags in chars, and other libraries allow it.
            return basic == Basic::char_ ? integer_of(1, is_signed(basic)) : Values::none;
        default:
            return Values::none;
    }
}

struct Loops {
    std::array<std::array<collectives::Combine, op_codes>, std::size_t(Basic::last) + 1> by_type{};
    std::array<std::string_view, std::size_t(Basic::last) + 1> elements{};
    Loops() {
        for (std::size_t basic = 1; basic < by_type.size(); ++basic) {
            const Values values = values_of(Basic(basic));
            for (int op = 0; op < op_codes; ++op)
                by_type[basic][std::size_t(op)] = kernel(OpCode(op), values);
            if (values != Values::none) elements[basic] = describe(values);
        }
    }
};

const Loops& loops() {
    static const Loops all;
    return all;
}

// The types that an operation is defined for, as text.
const char* domain_of(OpCode code) {
    switch (code) {
        case OpCode::max:
        case OpCode::min:
            return "integers or floating-point numbers";
        case OpCode::sum:
        case OpCode::prod:
            return "integers, floating-point or complex numbers";
        case OpCode::land:
        case OpCode::lor:
        case OpCode::lxor:
            return "integers or logical values";
        case OpCode::band:
        case OpCode::bor:
        case OpCode::bxor:
            return "integers or bytes";
        default:
            return "pairs of a value and an index such as MPI_DOUBLE_INT";
    }
}

template <class Function>
void check_arguments(Function* function, const MPI_Op* op) {
    if (function == nullptr) fail(MPI_ERR_ARG, "found a null function");
    check_output("op", op);
}

int reduce_local(const char* call, const void* in, void* inout, MPI_Count count,
                 MPI_Datatype datatype, MPI_Op op) {
    return api(call, [&] {
        check_count(count);
        reduce_locally(in, inout, count, committed(datatype), checked<Op>(op));
    });
}

void predefine(MPI_Op handle, std::string_view name, OpCode code) {
    make_predefined(make<Op>(Op::What::built_in, name, code), handle);
}

}  // namespace

void make_operations() {
    predefine(MPI_MAX, "MPI_MAX", OpCode::max);
    predefine(MPI_MIN, "MPI_MIN", OpCode::min);
    predefine(MPI_SUM, "MPI_SUM", OpCode::sum);
    predefine(MPI_PROD, "MPI_PROD", OpCode::prod);
    predefine(MPI_LAND, "MPI_LAND", OpCode::land);
    predefine(MPI_BAND, "MPI_BAND", OpCode::band);
    predefine(MPI_LOR, "MPI_LOR", OpCode::lor);
    predefine(MPI_BOR, "MPI_BOR", OpCode::bor);
    predefine(MPI_LXOR, "MPI_LXOR", OpCode::lxor);
    predefine(MPI_BXOR, "MPI_BXOR", OpCode::bxor);
    predefine(MPI_MINLOC, "MPI_MINLOC", OpCode::minloc);
    predefine(MPI_MAXLOC, "MPI_MAXLOC", OpCode::maxloc);
    make_predefined(make<Op>(Op::What::one_sided, "MPI_REPLACE"), MPI_REPLACE);
    make_predefined(make<Op>(Op::What::one_sided, "MPI_NO_OP"), MPI_NO_OP);
}

Op& make_operation(MPI_User_function* function, bool commutes, bool fortran) {
    return make<Op>(fortran ? Op::What::fortran : Op::What::function, function, commutes);
}

collectives::Combine kernel_of(const Op& op, const Datatype& type) {
    if (op.what == Op::What::one_sided)
        fail(MPI_ERR_OP, "found {}, which is only for one-sided communication", op.name);
    const auto loop = loops().by_type[std::size_t(type.basic())][std::size_t(op.code)];
    if (loop == nullptr)
        fail(MPI_ERR_OP, "found {} on {}, which is of {}; expected {}", op.name, type.describe(),
             type.basic() == Basic::none ? "the program's making"
                                         : describe(values_of(type.basic())),
             domain_of(op.code));
    return loop;
}

collectives::Combine loop_of(OpCode op, Basic basic) {
    return loops().by_type[std::size_t(basic)][std::size_t(op)];
}

std::string_view elements_of(const Datatype& type) {
    return loops().elements[std::size_t(type.basic())];
}

collectives::Label label_of(const Op& op, const Datatype& type) {
    return {op.name, op.built_in() ? elements_of(type) : std::string_view()};
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Op_create = PMPI_Op_create
int PMPI_Op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
    return api("MPI_Op_create", [&] {
        check_arguments(user_fn, op);
        *op = handle_of(make_operation(user_fn, commute != 0, false));
    });
}

#pragma weak MPI_Op_create_c = PMPI_Op_create_c
int PMPI_Op_create_c(MPI_User_function_c* user_fn, int commute, MPI_Op* op) {
    return api("MPI_Op_create_c", [&] {
        check_arguments(user_fn, op);
        *op = handle_of(make<Op>(Op::What::wide_function, user_fn, commute != 0));
    });
}

#pragma weak MPI_Op_free = PMPI_Op_free
int PMPI_Op_free(MPI_Op* op) {
    return api("MPI_Op_free", [&] {
        check_output("op", op);
        Op& found = checked<Op>(*op);
        if (found.built_in())
            fail(MPI_ERR_OP, "found {}, expected an operation made by MPI_Op_create", found.name);
        release(found);
        *op = MPI_OP_NULL;
    });
}

#pragma weak MPI_Op_commutative = PMPI_Op_commutative
int PMPI_Op_commutative(MPI_Op op, int* commute) {
    return api("MPI_Op_commutative", [&] {
        check_output("commute", commute);
        const Op& found = checked<Op>(op);
        *commute = found.commutative && found.what != Op::What::one_sided ? 1 : 0;
    });
}
}

TORUSMP_ENTRIES(Reduce_local,
                (const void* inbuf, void* inoutbuf, Count count, MPI_Datatype datatype, MPI_Op op),
                reduce_local(name, inbuf, inoutbuf, count, datatype, op))
