// SPDX-License-Identifier: BSD-3-Clause
// Assertions: conditions that hold whatever peers and users do, and that only a defect of torusmp
// breaks. Anything that another process or the user can cause is an error, not an assertion.
//
// TORUSMP_ASSERT(condition, values...) prints the condition, its place, the values by name and the
// last lines of the trace to standard error, and aborts. It is on where the build sets
// TORUSMP_ASSERTIONS (see cmake/assertions.cmake); elsewhere it compiles to nothing, and neither
// the condition nor the values are evaluated. Any thread may call.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/assert.h"

namespace torusmp::base {

#ifdef TORUSMP_ASSERTIONS
inline constexpr bool assertions = true;
#else
inline constexpr bool assertions = false;
#endif

// A value that an assertion prints: a number, an enumerator, text or a pointer.
class AssertedValue {
  public:
    AssertedValue(bool value) : value_(value) {}
    AssertedValue(std::string_view value) : value_(value) {}
    template <class T>
    requires(std::integral<T> || std::floating_point<T> || std::is_enum_v<T> ||
             std::is_pointer_v<T>) AssertedValue(T value) {
        if constexpr (std::is_enum_v<T>)
            *this = AssertedValue(std::underlying_type_t<T>(value));
        else if constexpr (std::is_pointer_v<T>)
            value_ = static_cast<const void*>(value);
        else if constexpr (std::floating_point<T>)
            value_ = double(value);
        else if constexpr (std::signed_integral<T>)
            value_ = std::int64_t(value);
        else
            value_ = std::uint64_t(value);
    }

    using Value =
        std::variant<std::int64_t, std::uint64_t, bool, double, const void*, std::string_view>;
    const Value& value() const { return value_; }

  private:
    Value value_;
};

// `names` contains the expressions of the values, separated by commas, as in the source.
[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(
    const char* condition, const char* names, std::initializer_list<AssertedValue> values,
    std::source_location place = std::source_location::current());

}  // namespace torusmp::base

#define TORUSMP_ASSERT(condition, ...)                                                     \
    do {                                                                                   \
        if constexpr (::torusmp::base::assertions) {                                       \
            if (!(condition)) [[unlikely]]                                                 \
                ::torusmp::base::assertion_failed(#condition, "" __VA_OPT__(#__VA_ARGS__), \
                                                  {__VA_ARGS__});                          \
        }                                                                                  \
    } while (false)
