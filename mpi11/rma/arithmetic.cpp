// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/rma/arithmetic.h"

#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

// The codes after those of the operations of reductions.
constexpr int replace_code = op_codes;
constexpr int no_op_code = op_codes + 1;
constexpr int codes = 16;
static_assert(no_op_code < codes);

// The one predefined type of which a type consists; none if there are several.
Basic element_of(const Datatype& type) {
    if (type.predefined()) return type.basic();
    Basic element = Basic::none;
    for (const Reference<Datatype>& part : type.recipe().types) {
        const Basic found = element_of(*part);
        if (found == Basic::lower_bound || found == Basic::upper_bound) continue;
        if (found == Basic::none || (element != Basic::none && found != element))
            return Basic::none;
        element = found;
    }
    return element;
}

}  // namespace

bool find_arithmetic(std::uint16_t number, core::rma::Arithmetic& found) {
    const auto basic = Basic(number / codes);
    const int code = number % codes;
    if (basic == Basic::none || basic > Basic::last || code > no_op_code) return false;
    found.element = facts(basic).extent;
    found.keeps = code == no_op_code;
    found.combine = code < op_codes ? loop_of(OpCode(code), basic) : nullptr;
    return found.element != 0 && (code >= op_codes || found.combine != nullptr);
}

ArithmeticOf arithmetic_of(MPI_Op handle, MPI_Datatype datatype) {
    const Op& op = checked<Op>(handle);
    const Datatype& type = committed(datatype);
    if (!op.built_in()) fail(MPI_ERR_OP, "found {}, expected a predefined operation", op.name);
    ArithmeticOf chosen;
    chosen.element = element_of(type);
    int code = int(op.code);
    if (handle == MPI_REPLACE) code = replace_code;
    if (handle == MPI_NO_OP) code = no_op_code;
    if (chosen.element == Basic::none) {
        if (code < op_codes)
            fail(MPI_ERR_TYPE,
                 "found {}, expected a predefined type, or a type made of only one of them",
                 type.describe());
        chosen.element = Basic::byte;
    }
    if (code < op_codes) kernel_of(op, datatype_of(chosen.element));  // throws if there is none
    chosen.number = std::uint16_t(int(chosen.element) * codes + code);
    if (!find_arithmetic(chosen.number, chosen.arithmetic))
        fail(MPI_ERR_TYPE, "found {}, which has no elements", type.describe());
    return chosen;
}

void check_element(const ArithmeticOf& chosen, MPI_Datatype datatype, const char* which) {
    const Datatype& type = committed(datatype);
    const Basic found = element_of(type);
    if (found == chosen.element || chosen.element == Basic::byte || found == Basic::none) return;
    if (facts(found).size == facts(chosen.element).size &&
        facts(found).family == facts(chosen.element).family)
        return;
    fail(MPI_ERR_TYPE, "found elements of {} at the {} and {} at the target", facts(found).name,
         which, facts(chosen.element).name);
}

void check_swappable(MPI_Datatype datatype) {
    const Datatype& type = committed(datatype);
    const Family family = type.predefined() ? facts(type.basic()).family : Family::none;
    if (family != Family::integer && family != Family::multi_language &&
        family != Family::logical && family != Family::byte && family != Family::character)
        fail(MPI_ERR_TYPE, "found {}, expected a predefined integer, logical or byte type",
             type.describe());
}

core::Buffer padded(const void* address, std::size_t count, const Datatype& type, Basic element,
                    std::shared_ptr<const core::Layout>& hold) {
    const std::size_t size = facts(element).size, extent = facts(element).extent;
    if (type.predefined()) return {address, count * extent};
    std::vector<core::Layout::Run> runs;
    const core::Buffer all(const_cast<void*>(address), *type.layout(), count);
    const core::Layout& layout = *type.layout();
    for (std::size_t at = 0; at < all.bytes; at += size) {
        core::Layout::Piece piece{};
        const std::size_t whole = layout.size();
        layout.pieces(at % whole, 1, {&piece, 1});
        runs.push_back({piece.offset + std::ptrdiff_t(at / whole) * type.extent(), extent, 1, 0});
    }
    auto made = std::make_shared<const core::Layout>(runs);
    const core::Buffer buffer(const_cast<void*>(address), *made, 1);
    if (buffer.layout != nullptr) hold = std::move(made);
    return buffer;
}

}  // namespace torusmp::mpi
