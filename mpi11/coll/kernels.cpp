// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/coll/kernels.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "mpi11/datatype/float128.h"

namespace torusmp::mpi {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// Users' buffers may be unaligned, and a buffer of one element may begin anywhere in a message.
template <class T>
T load(const std::byte* memory, std::size_t i) {
    T value;
    std::memcpy(&value, memory + i * sizeof(T), sizeof(T));
    return value;
}
template <class T>
void store(std::byte* memory, std::size_t i, T value) {
    std::memcpy(memory + i * sizeof(T), &value, sizeof(T));
}

template <class T, class F>
void each(void* result, const void* a, const void* b, std::size_t count, F&& f) {
    auto* const to = static_cast<std::byte*>(result);
    const auto* const left = static_cast<const std::byte*>(a);
    const auto* const right = static_cast<const std::byte*>(b);
    // Each element depends on the two at its index only, so the loop may be vectorized without a
    // check that the memory of the result is separate.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (std::size_t i = 0; i < count; ++i) store<T>(to, i, f(load<T>(left, i), load<T>(right, i)));
}

// Unsigned and at least as wide as int, so that intermediate results do not overflow.
template <class T>
struct Wrapping {
    using type = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
};
template <>
struct Wrapping<Int128> {
    using type = UInt128;
};

template <class T>
struct Complex {
    T real;
    T imaginary;
};

template <class V, class I>
struct Pair {
    V value;
    I index;
};

// ---- one operation each ----

struct Max {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};
struct Min {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};

struct SumIntegers {
    template <class T>
    T operator()(T a, T b) const {
        using Wide = typename Wrapping<T>::type;
        return T(Wide(a) + Wide(b));
    }
};
struct SumReals {
    template <class T>
    T operator()(T a, T b) const {
        return a + b;
    }
    template <class T>
    Complex<T> operator()(Complex<T> a, Complex<T> b) const {
        return {a.real + b.real, a.imaginary + b.imaginary};
    }
};

struct ProductOfIntegers {
    template <class T>
    T operator()(T a, T b) const {
        using Wide = typename Wrapping<T>::type;
        return T(Wide(a) * Wide(b));
    }
};
struct ProductOfReals {
    template <class T>
    T operator()(T a, T b) const {
        return a * b;
    }
    template <class T>
    Complex<T> operator()(Complex<T> a, Complex<T> b) const {
        return {a.real * b.real - a.imaginary * b.imaginary,
                a.real * b.imaginary + a.imaginary * b.real};
    }
};

struct LogicalAnd {
    template <class T>
    T operator()(T a, T b) const {
        return T((a != 0) & (b != 0));
    }
};
struct LogicalOr {
    template <class T>
    T operator()(T a, T b) const {
        return T((a != 0) | (b != 0));
    }
};
struct LogicalXor {
    template <class T>
    T operator()(T a, T b) const {
        return T((a != 0) ^ (b != 0));
    }
};

struct BitAnd {
    template <class T>
    T operator()(T a, T b) const {
        return T(a & b);
    }
};
struct BitOr {
    template <class T>
    T operator()(T a, T b) const {
        return T(a | b);
    }
};
struct BitXor {
    template <class T>
    T operator()(T a, T b) const {
        return T(a ^ b);
    }
};

struct MinLocation {
    template <class V, class I>
    Pair<V, I> operator()(Pair<V, I> a, Pair<V, I> b) const {
        if (b.value < a.value || (b.value == a.value && b.index < a.index)) return b;
        return a;
    }
};
struct MaxLocation {
    template <class V, class I>
    Pair<V, I> operator()(Pair<V, I> a, Pair<V, I> b) const {
        if (a.value < b.value || (b.value == a.value && b.index < a.index)) return b;
        return a;
    }
};

template <class T, class F>
void combine(void* result, const void* a, const void* b, std::size_t count, const void*) {
    each<T>(result, a, b, count, F{});
}

// ---- the operations defined for each kind of values ----

using Row = std::array<collectives::Combine, op_codes>;
using KernelTable = std::array<Row, value_kinds>;

template <class T, class F>
constexpr void put(Row& row, OpCode op) {
    row[std::size_t(op)] = combine<T, F>;
}

template <class T>
constexpr void put_order(Row& row) {
    put<T, Max>(row, OpCode::max);
    put<T, Min>(row, OpCode::min);
}
template <class T>
constexpr void put_logic(Row& row) {
    put<T, LogicalAnd>(row, OpCode::land);
    put<T, LogicalOr>(row, OpCode::lor);
    put<T, LogicalXor>(row, OpCode::lxor);
}
template <class T>
constexpr void put_bits(Row& row) {
    put<T, BitAnd>(row, OpCode::band);
    put<T, BitOr>(row, OpCode::bor);
    put<T, BitXor>(row, OpCode::bxor);
}

template <class T>
constexpr Row integers() {
    Row row{};
    put_order<T>(row);
    put_logic<T>(row);
    put_bits<T>(row);
    put<T, SumIntegers>(row, OpCode::sum);
    put<T, ProductOfIntegers>(row, OpCode::prod);
    return row;
}
template <class T>
constexpr Row sums() {
    Row row{};
    put<T, SumReals>(row, OpCode::sum);
    put<T, ProductOfReals>(row, OpCode::prod);
    return row;
}
template <class T>
constexpr Row reals() {
    Row row = sums<T>();
    put_order<T>(row);
    return row;
}
template <class T>
constexpr Row logicals() {
    Row row{};
    put_logic<T>(row);
    return row;
}
constexpr Row bytes() {
    Row row{};
    put_bits<std::uint8_t>(row);
    return row;
}
template <class V, class I>
constexpr Row pairs() {
    Row row{};
    put<Pair<V, I>, MinLocation>(row, OpCode::minloc);
    put<Pair<V, I>, MaxLocation>(row, OpCode::maxloc);
    return row;
}

constexpr KernelTable make_table() {
    KernelTable table{};
    const auto at = [&](Values values) -> Row& { return table[std::size_t(values)]; };
    at(Values::int8) = integers<std::int8_t>();
    at(Values::int16) = integers<std::int16_t>();
    at(Values::int32) = integers<std::int32_t>();
    at(Values::int64) = integers<std::int64_t>();
    at(Values::int128) = integers<Int128>();
    at(Values::uint8) = integers<std::uint8_t>();
    at(Values::uint16) = integers<std::uint16_t>();
    at(Values::uint32) = integers<std::uint32_t>();
    at(Values::uint64) = integers<std::uint64_t>();
    at(Values::float32) = reals<float>();
    at(Values::float64) = reals<double>();
    at(Values::long_double) = reals<long double>();
    at(Values::float128) = reals<Float128>();
    at(Values::complex64) = sums<Complex<float>>();
    at(Values::complex128) = sums<Complex<double>>();
    at(Values::complex_long_double) = sums<Complex<long double>>();
    at(Values::complex256) = sums<Complex<Float128>>();
    at(Values::logical8) = logicals<std::uint8_t>();
    at(Values::logical16) = logicals<std::uint16_t>();
    at(Values::logical32) = logicals<std::uint32_t>();
    at(Values::logical64) = logicals<std::uint64_t>();
    at(Values::logical128) = logicals<UInt128>();
    at(Values::byte) = bytes();
    at(Values::float32_int32) = pairs<float, std::int32_t>();
    at(Values::float64_int32) = pairs<double, std::int32_t>();
    at(Values::int64_int32) = pairs<std::int64_t, std::int32_t>();
    at(Values::int32_int32) = pairs<std::int32_t, std::int32_t>();
    at(Values::int16_int32) = pairs<std::int16_t, std::int32_t>();
    at(Values::long_double_int32) = pairs<long double, std::int32_t>();
    at(Values::float32_float32) = pairs<float, float>();
    at(Values::float64_float64) = pairs<double, double>();
    return table;
}

}  // namespace

collectives::Combine kernel(OpCode op, Values values) {
    static constexpr KernelTable table = make_table();
    return table[std::size_t(values)][std::size_t(op)];
}

std::size_t element_size(Values values) {
    switch (values) {
        case Values::none:
            return 0;
        case Values::int8:
        case Values::uint8:
        case Values::logical8:
        case Values::byte:
            return 1;
        case Values::int16:
        case Values::uint16:
        case Values::logical16:
            return 2;
        case Values::int32:
        case Values::uint32:
        case Values::float32:
        case Values::logical32:
            return 4;
        case Values::int64:
        case Values::uint64:
        case Values::float64:
        case Values::logical64:
        case Values::complex64:
        case Values::float32_int32:
        case Values::int32_int32:
        case Values::int16_int32:
        case Values::float32_float32:
            return 8;
        case Values::int128:
        case Values::float128:
        case Values::logical128:
        case Values::complex128:
        case Values::float64_int32:
        case Values::int64_int32:
        case Values::float64_float64:
            return 16;
        case Values::long_double:
            return sizeof(long double);
        case Values::complex_long_double:
            return sizeof(Complex<long double>);
        case Values::complex256:
            return sizeof(Complex<Float128>);
        case Values::long_double_int32:
            return sizeof(Pair<long double, std::int32_t>);
    }
    return 0;
}

std::string_view describe(Values values) {
    if (values == Values::none) return "values that no operation is defined for";
    if (values <= Values::uint64) return "integers";
    if (values <= Values::float128) return "floating-point numbers";
    if (values <= Values::complex256) return "complex numbers";
    if (values <= Values::logical128) return "logical values";
    return values == Values::byte ? "bytes" : "pairs of a value and an index";
}

}  // namespace torusmp::mpi
