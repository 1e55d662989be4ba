// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/datatype/external32.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cstdint>
#include <cstring>

#include "mpi11/error/error.h"

namespace torusmp::mpi::external32 {
namespace {

// The IEEE format of 16 bytes. It is C's long double on some machines; x86 has a different format.
#if LDBL_MANT_DIG == 113
using Binary128 = long double;
#else
__extension__ using Binary128 = __float128;
#endif
static_assert(sizeof(Binary128) == 16);

enum class Way : std::uint8_t {
    same,              // bytes and characters
    truth,             // nonzero is true
    number,            // of the same size on both sides
    signed_integer,    // larger here than in the external form
    unsigned_integer,  // larger here than in the external form
    long_double
};

struct Form {
    Way way;
    std::size_t native;  // bytes of one part
    std::size_t external;
    std::size_t parts;  // two in complex numbers
};

Form form_of(Basic basic) {
    const BasicFacts& is = facts(basic);
    const std::size_t size = is.size;
    switch (basic) {
        case Basic::wchar:
            return {Way::unsigned_integer, size, 2, 1};
        case Basic::long_:
            return {Way::signed_integer, size, 4, 1};
        case Basic::unsigned_long:
            return {Way::unsigned_integer, size, 4, 1};
        case Basic::long_double:
            return {Way::long_double, size, 16, 1};
        case Basic::c_long_double_complex:
        case Basic::cxx_long_double_complex:
            return {Way::long_double, size / 2, 16, 2};
        default:
            break;
    }
    switch (is.family) {
        case Family::integer:
        case Family::multi_language:
        case Family::floating:
            return {Way::number, size, size, 1};
        case Family::complex:
            return {Way::number, size / 2, size / 2, 2};
        case Family::logical:
            return {Way::truth, size, size, 1};
        default:
            return {Way::same, size, size, 1};
    }
}

// From this machine's byte order to big-endian, or back.
void turn(const std::byte* from, std::size_t bytes, std::byte* to) {
    if constexpr (std::endian::native == std::endian::big)
        std::copy_n(from, bytes, to);
    else
        std::reverse_copy(from, from + bytes, to);
}

constexpr std::byte zero{0}, ones{0xff}, sign_bit{0x80};
using Widest = std::array<std::byte, 16>;

// The padding bytes of a number that becomes longer.
std::byte filling(Way way, std::byte most_significant) {
    return way == Way::signed_integer && (most_significant & sign_bit) != zero ? ones : zero;
}

void encode_part(Basic basic, const Form& form, const std::byte* native, std::byte* external) {
    switch (form.way) {
        case Way::same:
            std::copy_n(native, form.native, external);
            return;
        case Way::number:
            return turn(native, form.native, external);
        case Way::truth: {
            const bool holds = std::any_of(native, native + form.native,
                                           [](std::byte byte) { return byte != zero; });
            std::fill_n(external, form.external - 1, zero);
            external[form.external - 1] = std::byte(holds ? 1 : 0);
            return;
        }
        case Way::signed_integer:
        case Way::unsigned_integer: {
            Widest whole;
            turn(native, form.native, whole.data());
            const std::size_t longer = form.native - form.external;
            const std::byte* const kept = whole.data() + longer;
            const std::byte filled = filling(form.way, *kept);
            if (std::any_of(whole.cbegin(), whole.cbegin() + std::ptrdiff_t(longer),
                            [&](std::byte byte) { return byte != filled; }))
                fail(MPI_ERR_VALUE_TOO_LARGE,
                     "found a value of {} that the {} bytes of \"external32\" cannot hold",
                     facts(basic).name, form.external);
            std::copy_n(kept, form.external, external);
            return;
        }
        case Way::long_double: {
            long double value = 0;
            std::memcpy(&value, native, sizeof value);
            const auto portable = static_cast<Binary128>(value);
            return turn(reinterpret_cast<const std::byte*>(&portable), sizeof portable, external);
        }
    }
}

void decode_part(const Form& form, const std::byte* external, std::byte* native) {
    switch (form.way) {
        case Way::same:
            std::copy_n(external, form.native, native);
            return;
        case Way::number:
            return turn(external, form.native, native);
        case Way::truth: {
            Widest whole{};
            whole[form.native - 1] =
                std::byte(std::any_of(external, external + form.external,
                                      [](std::byte byte) { return byte != zero; })
                              ? 1
                              : 0);
            return turn(whole.data(), form.native, native);
        }
        case Way::signed_integer:
        case Way::unsigned_integer: {
            Widest whole;
            const std::size_t longer = form.native - form.external;
            std::fill_n(whole.data(), longer, filling(form.way, *external));
            std::copy_n(external, form.external, whole.data() + longer);
            return turn(whole.data(), form.native, native);
        }
        case Way::long_double: {
            Binary128 portable = 0;
            turn(external, sizeof portable, reinterpret_cast<std::byte*>(&portable));
            const auto value = static_cast<long double>(portable);
            std::memcpy(native, &value, sizeof value);
            return;
        }
    }
}

}  // namespace

std::size_t size_of(Basic basic) {
    const Form form = form_of(basic);
    return form.external * form.parts;
}

std::size_t size_of(const Signature& signature) {
    std::size_t bytes = 0;
    signature.for_each([&](Basic basic, std::size_t count) { bytes += size_of(basic) * count; });
    return bytes;
}

void encode(Basic basic, const std::byte* native, std::size_t count, std::byte* external) {
    const Form form = form_of(basic);
    for (std::size_t i = 0; i < count * form.parts; ++i)
        encode_part(basic, form, native + i * form.native, external + i * form.external);
}

void decode(Basic basic, const std::byte* external, std::size_t count, std::byte* native) {
    const Form form = form_of(basic);
    for (std::size_t i = 0; i < count * form.parts; ++i)
        decode_part(form, external + i * form.external, native + i * form.native);
}

}  // namespace torusmp::mpi::external32
