// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/coll/reduction.h"

#include <algorithm>
#include <cstring>

#include "mpi11/fortran/fortran_hooks.h"

namespace torusmp::mpi {
namespace {

// Applies the function to a vector whose elements are `stride` bytes apart, in as few calls as its
// int argument allows.
void call_function(const Op& op, void* in, void* inout, std::size_t count, std::ptrdiff_t stride,
                   MPI_Datatype handle) {
    if (op.what == Op::What::wide_function) {
        auto length = MPI_Count(count);
        return op.wide_function(in, inout, &length, &handle);
    }
    if (op.what == Op::What::wide_fortran) {
        auto length = MPI_Count(count);
        return call_fortran_operation(op.wide_function, in, inout, length, handle);
    }
    constexpr std::size_t most = std::size_t{1} << 30;
    for (std::size_t done = 0; done < count;) {
        int length = int(std::min(most, count - done));
        const auto offset = std::ptrdiff_t(done) * stride;
        void* const a = core::displaced(in, offset);
        void* const b = core::displaced(inout, offset);
        done += std::size_t(length);
        if (op.what == Op::What::fortran)
            call_fortran_operation(op.function, a, b, length, handle);
        else
            op.function(a, b, &length, &handle);
    }
}

}  // namespace

void Reduction::prepare(Op& op, Datatype& given) {
    Datatype& type = given.element();
    given_ = &given;
    type_ = &type;
    op_ = &op;
    const bool function = !op.built_in();
    operation_.combine = !function        ? kernel_of(op, type)
                         : op.commutative ? call_commuting
                                          : call_ordered;
    operation_.closure = this;
    operation_.commutative = op.commutative;
    operation_.label = label_of(op, type);
    if (type.dense()) {
        operation_.element = std::max<std::size_t>(type.size(), 1);  // types may be empty
        origin_ = type.true_lb();
        one_by_one_ = false;
    } else {
        const bool apart =
            type.extent() > 0 && type.lb() <= type.true_lb() && type.true_ub() <= type.ub();
        one_by_one_ = !apart;
        origin_ = apart ? type.lb() : type.true_lb();
        operation_.element = apart ? std::size_t(type.extent())
                                   : collectives::Scratch::rounded(std::size_t(type.true_extent()));
    }
    if (!function && direct()) return;
    held_type_ = Reference<Datatype>(given);
    held_op_ = Reference<Op>(op);
    handle_ = handle_of(type);
}

void Reduction::forget() {
    held_type_.reset();
    held_op_.reset();
}

// Calls use(first element, how many) for elements that are copied together.
template <class Use>
void Reduction::each_run(std::size_t count, Use&& use) const {
    if (!one_by_one_) return use(std::size_t{0}, count);
    for (std::size_t i = 0; i < count; ++i) use(i, std::size_t{1});
}

void Reduction::load(std::byte* vector, const void* address, std::size_t count) {
    if (count == 0 || operation_.element == 0) return;
    std::memset(vector, 0, bytes(count));  // gaps are sent too
    LayoutHold from, to;
    each_run(count, [&](std::size_t first, std::size_t run) {
        const auto offset = std::ptrdiff_t(first) * type_->extent();
        const auto source = buffer_of(core::displaced(address, offset), run, *given_, from);
        const auto target =
            buffer_of(core::displaced(vector + bytes(first), -origin_), run, *type_, to);
        std::byte* packed = packed_.reserve(source.bytes);
        source.pack(0, packed, source.bytes);
        target.unpack(0, packed, source.bytes);
    });
}

void Reduction::store(void* address, const std::byte* vector, std::size_t count) {
    if (count == 0 || operation_.element == 0) return;
    LayoutHold from, to;
    each_run(count, [&](std::size_t first, std::size_t run) {
        const auto offset = std::ptrdiff_t(first) * type_->extent();
        const auto source =
            buffer_of(core::displaced(vector + bytes(first), -origin_), run, *type_, from);
        const auto target = buffer_of(core::displaced(address, offset), run, *given_, to);
        std::byte* packed = packed_.reserve(source.bytes);
        source.pack(0, packed, source.bytes);
        target.unpack(0, packed, source.bytes);
    });
}

// The program's function computes inout = in op inout.
void Reduction::apply(std::byte* in, std::byte* inout, std::size_t count) const {
    const std::size_t at_once = one_by_one_ ? 1 : count;
    for (std::size_t done = 0; done < count; done += at_once)
        call_function(*op_, core::displaced(in + bytes(done), -origin_),
                      core::displaced(inout + bytes(done), -origin_), at_once,
                      std::ptrdiff_t(operation_.element), handle_);
}

// The schedule wants result = a op b, where a stands for the lower ranks.
void Reduction::call_commuting(void* result, const void* a, const void* b, std::size_t count,
                               const void* self) {
    const auto& reduction = *static_cast<const Reduction*>(self);
    const std::size_t bytes = reduction.bytes(count);
    if (bytes == 0) return;
    // Operands are not exchanged, though they might be: results have the same bits on all ranks.
    if (result == b) b = std::memcpy(reduction.spare_.reserve(bytes), b, bytes);
    if (result != a) std::memcpy(result, a, bytes);
    reduction.apply(static_cast<std::byte*>(const_cast<void*>(b)), static_cast<std::byte*>(result),
                    count);
}

void Reduction::call_ordered(void* result, const void* a, const void* b, std::size_t count,
                             const void* self) {
    const auto& reduction = *static_cast<const Reduction*>(self);
    const std::size_t bytes = reduction.bytes(count);
    if (bytes == 0) return;
    auto* const to =
        static_cast<std::byte*>(result == a ? reduction.spare_.reserve(bytes) : result);
    if (to != b) std::memcpy(to, b, bytes);
    reduction.apply(static_cast<std::byte*>(const_cast<void*>(a)), to, count);
    if (to != result) std::memcpy(result, to, bytes);
}

void reduce_locally(const void* in, void* inout, MPI_Count count, Datatype& type, Op& op) {
    Reduction reduction;
    reduction.prepare(op, type);
    if (count == 0 || type.size() == 0) return;
    check_buffer(in, count, type);
    check_buffer(inout, count, type);
    if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE || in == inout)
        fail(MPI_ERR_BUFFER, "found {} for both vectors, expected two that do not overlap",
             in == inout ? "the same memory" : "MPI_IN_PLACE");
    if (!op.built_in() && type.sections().empty()) {
        // In the program's own memory: nothing is sent.
        return call_function(op, const_cast<void*>(in), inout, std::size_t(count), type.extent(),
                             handle_of(type));
    }
    const auto elements = std::size_t(count);
    if (reduction.direct())
        return reduction.operation().combine(reduction.memory(inout), reduction.memory(inout),
                                             reduction.memory(in), elements, nullptr);
    collectives::Scratch a, b;
    std::byte* const result = a.reserve(reduction.bytes(elements));
    std::byte* const other = b.reserve(reduction.bytes(elements));
    reduction.load(result, inout, elements);
    reduction.load(other, in, elements);
    if (op.built_in())
        reduction.operation().combine(result, result, other, elements, nullptr);
    else
        reduction.apply(other, result, elements);
    reduction.store(inout, result, elements);
}

}  // namespace torusmp::mpi
