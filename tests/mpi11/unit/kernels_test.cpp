// SPDX-License-Identifier: BSD-3-Clause
// The loops of the predefined operations against the simplest loops, on values of all signs, at
// addresses that are not aligned.
#include "mpi11/coll/kernels.h"
#include "mpi11/datatype/float128.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

using namespace torusmp::mpi;

namespace {

template <class T>
using Plain = std::function<T(T, T)>;

enum class Result { in_a, in_b, apart };

// Applies the kernel to vectors of several lengths, one byte off any alignment, and compares.
template <class T>
void check(OpCode op, Values values, const std::vector<T>& a, const std::vector<T>& b,
           const Plain<T>& plain) {
    const auto combine = kernel(op, values);
    INFO(describe(values) << ", operation " << int(op) << ", " << sizeof(T) << " bytes each");
    REQUIRE(combine != nullptr);
    REQUIRE(element_size(values) == sizeof(T));
    const std::size_t bytes = a.size() * sizeof(T);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, a.size() / 2, a.size()}) {
        for (const auto where : {Result::in_a, Result::in_b, Result::apart}) {
            std::vector<std::byte> left(1 + bytes), right(1 + bytes), apart(1 + bytes);
            std::memcpy(left.data() + 1, a.data(), bytes);
            std::memcpy(right.data() + 1, b.data(), bytes);
            auto& result = where == Result::in_a ? left : where == Result::in_b ? right : apart;
            const std::vector<std::byte> before = result;
            combine(result.data() + 1, left.data() + 1, right.data() + 1, count, nullptr);
            for (std::size_t i = 0; i < count; ++i) {
                T found{};
                std::memcpy(&found, result.data() + 1 + i * sizeof(T), sizeof(T));
                INFO("element " << i << " of " << count << ", result " << int(where));
                REQUIRE(found == plain(a[i], b[i]));
            }
            const auto rest = std::ptrdiff_t(1 + count * sizeof(T));
            REQUIRE(std::equal(result.begin() + rest, result.end(), before.begin() + rest));
        }
    }
}

template <class T>
std::vector<T> integers_of_all_kinds(unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values{0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    while (values.size() < 259) values.push_back(T(random() >> random() % 64));
    return values;
}

template <class T>
void check_integers(Values values) {
    auto a = integers_of_all_kinds<T>(1);
    auto b = integers_of_all_kinds<T>(2);
    std::rotate(b.begin(), b.begin() + 1, b.end());
    const auto run = [&](OpCode op, const Plain<T>& plain) { check<T>(op, values, a, b, plain); };
    run(OpCode::max, [](T x, T y) { return x > y ? x : y; });
    run(OpCode::min, [](T x, T y) { return x < y ? x : y; });
    run(OpCode::sum, [](T x, T y) { return T(std::uint64_t(x) + std::uint64_t(y)); });
    run(OpCode::prod, [](T x, T y) { return T(std::uint64_t(x) * std::uint64_t(y)); });
    run(OpCode::land, [](T x, T y) { return T(x && y); });
    run(OpCode::lor, [](T x, T y) { return T(x || y); });
    run(OpCode::lxor, [](T x, T y) { return T(!x != !y); });
    run(OpCode::band, [](T x, T y) { return T(x & y); });
    run(OpCode::bor, [](T x, T y) { return T(x | y); });
    run(OpCode::bxor, [](T x, T y) { return T(x ^ y); });
    CHECK(kernel(OpCode::minloc, values) == nullptr);
    CHECK(kernel(OpCode::maxloc, values) == nullptr);
}

template <class T>
std::vector<T> reals(unsigned seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> any(-100.0, 100.0);
    std::vector<T> values{T(0), T(-1)};
    while (values.size() < 259) values.push_back(T(any(random)));
    return values;
}

template <class T>
void check_reals(Values values) {
    const auto a = reals<T>(3);
    const auto b = reals<T>(4);
    check<T>(OpCode::max, values, a, b, [](T x, T y) { return x > y ? x : y; });
    check<T>(OpCode::min, values, a, b, [](T x, T y) { return x < y ? x : y; });
    check<T>(OpCode::sum, values, a, b, [](T x, T y) { return x + y; });
    check<T>(OpCode::prod, values, a, b, [](T x, T y) { return x * y; });
    for (const OpCode op : {OpCode::land, OpCode::lor, OpCode::lxor, OpCode::band, OpCode::bor,
                            OpCode::bxor, OpCode::minloc, OpCode::maxloc})
        CHECK(kernel(op, values) == nullptr);
}

template <class T>
void check_complex(Values values) {
    using C = std::complex<T>;
    // Whole numbers: products are exact in whatever order they are worked out.
    std::vector<C> a, b;
    for (int i = 0; i < 259; ++i) {
        a.emplace_back(T(i % 17 - 8), T(i % 5 - 2));
        b.emplace_back(T(i % 13 - 6), T(i % 7 - 3));
    }
    check<C>(OpCode::sum, values, a, b, [](C x, C y) { return x + y; });
    check<C>(OpCode::prod, values, a, b, [](C x, C y) {
        return C(x.real() * y.real() - x.imag() * y.imag(),
                 x.real() * y.imag() + x.imag() * y.real());
    });
    CHECK(kernel(OpCode::max, values) == nullptr);
    CHECK(kernel(OpCode::land, values) == nullptr);
}

template <class T>
void check_logicals(Values values) {
    std::vector<T> a, b;
    for (int i = 0; i < 259; ++i) {
        a.push_back(T(i % 3 == 0));
        b.push_back(T(i % 2 == 0));
    }
    check<T>(OpCode::land, values, a, b, [](T x, T y) { return T(x && y); });
    check<T>(OpCode::lor, values, a, b, [](T x, T y) { return T(x || y); });
    check<T>(OpCode::lxor, values, a, b, [](T x, T y) { return T(!x != !y); });
    CHECK(kernel(OpCode::sum, values) == nullptr);
    CHECK(kernel(OpCode::band, values) == nullptr);
}

template <class V, class I>
struct Pair {
    V value;
    I index;
    friend bool operator==(const Pair& a, const Pair& b) {
        return a.value == b.value && a.index == b.index;
    }
};

template <class V, class I>
void check_pairs(Values values) {
    using P = Pair<V, I>;
    std::vector<P> a, b;
    for (int i = 0; i < 259; ++i) {
        a.push_back({V(i % 5 - 2), I(i % 11)});
        b.push_back({V(i % 7 - 3), I(i % 4)});
    }
    const auto either = [](bool second, P x, P y) { return second ? y : x; };
    check<P>(OpCode::minloc, values, a, b, [&](P x, P y) {
        if (x.value == y.value) return either(y.index < x.index, x, y);
        return either(y.value < x.value, x, y);
    });
    check<P>(OpCode::maxloc, values, a, b, [&](P x, P y) {
        if (x.value == y.value) return either(y.index < x.index, x, y);
        return either(y.value > x.value, x, y);
    });
    CHECK(kernel(OpCode::sum, values) == nullptr);
    CHECK(kernel(OpCode::max, values) == nullptr);
}

}  // namespace

TEST_CASE("operations on integers equal the operations of C, and wrap around") {
    check_integers<std::int8_t>(Values::int8);
    check_integers<std::int16_t>(Values::int16);
    check_integers<std::int32_t>(Values::int32);
    check_integers<std::int64_t>(Values::int64);
    check_integers<std::uint8_t>(Values::uint8);
    check_integers<std::uint16_t>(Values::uint16);
    check_integers<std::uint32_t>(Values::uint32);
    check_integers<std::uint64_t>(Values::uint64);
}

TEST_CASE("operations on integers of 16 bytes carry over all of them") {
    __extension__ typedef __int128 Wide;
    const Wide large = Wide(1) << 100;
    check<Wide>(OpCode::sum, Values::int128, {large, -large}, {large, 1},
                [](Wide x, Wide y) { return x + y; });
    check<Wide>(OpCode::prod, Values::int128, {large, -large}, {3, -5},
                [](Wide x, Wide y) { return x * y; });
    check<Wide>(OpCode::max, Values::int128, {large, -large}, {0, 0},
                [](Wide x, Wide y) { return x > y ? x : y; });
}

TEST_CASE("operations on floating-point numbers equal the operations of C") {
    check_reals<float>(Values::float32);
    check_reals<double>(Values::float64);
    check_reals<long double>(Values::long_double);
    check_reals<Float128>(Values::float128);
}

TEST_CASE("complex numbers are added and multiplied, and have no order") {
    check_complex<float>(Values::complex64);
    check_complex<double>(Values::complex128);
    check_complex<long double>(Values::complex_long_double);
}

TEST_CASE("logical values have logical operations only") {
    check_logicals<std::uint8_t>(Values::logical8);
    check_logicals<std::uint16_t>(Values::logical16);
    check_logicals<std::uint32_t>(Values::logical32);
    check_logicals<std::uint64_t>(Values::logical64);
}

TEST_CASE("bytes have operations on bits only") {
    std::vector<std::uint8_t> a, b;
    for (int i = 0; i < 256; ++i) {
        a.push_back(std::uint8_t(i));
        b.push_back(std::uint8_t(i * 37));
    }
    using T = std::uint8_t;
    check<T>(OpCode::band, Values::byte, a, b, [](T x, T y) { return T(x & y); });
    check<T>(OpCode::bor, Values::byte, a, b, [](T x, T y) { return T(x | y); });
    check<T>(OpCode::bxor, Values::byte, a, b, [](T x, T y) { return T(x ^ y); });
    CHECK(kernel(OpCode::sum, Values::byte) == nullptr);
    CHECK(kernel(OpCode::land, Values::byte) == nullptr);
}

TEST_CASE("MINLOC and MAXLOC keep the lower index of equal values") {
    check_pairs<float, std::int32_t>(Values::float32_int32);
    check_pairs<double, std::int32_t>(Values::float64_int32);
    check_pairs<std::int64_t, std::int32_t>(Values::int64_int32);
    check_pairs<std::int32_t, std::int32_t>(Values::int32_int32);
    check_pairs<std::int16_t, std::int32_t>(Values::int16_int32);
    check_pairs<long double, std::int32_t>(Values::long_double_int32);
    check_pairs<float, float>(Values::float32_float32);
    check_pairs<double, double>(Values::float64_float64);
}

TEST_CASE("types that are not numbers have no operation") {
    for (int op = 0; op < op_codes; ++op) CHECK(kernel(OpCode(op), Values::none) == nullptr);
    CHECK(element_size(Values::none) == 0);
}
