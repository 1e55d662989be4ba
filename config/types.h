// SPDX-License-Identifier: BSD-3-Clause
// The types of values that settings share.
//
// Limits are inclusive and may have a word for their meaning: {0, "none"}. Pure functions; any
// thread may call.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/type.h"

namespace torusmp::config {

// For a Type whose description is a constant text.
std::function<std::string()> always(std::string text);

template <class T>
struct Limit {
    T value;
    std::string_view meaning;

    template <class From>
    requires std::convertible_to<From, T> Limit(From limit, std::string_view word = {})
        : value(T(limit)), meaning(word) {}
};

Type<int> integer_between(Limit<int> low, Limit<int> high);
// An integer or "auto", which is stored as `auto_number`. Precondition: low is not negative.
inline constexpr int auto_number = -1;
Type<int> integer_or_auto(Limit<int> low, Limit<int> high);

Type<std::size_t> size_between(Limit<std::size_t> low, Limit<std::size_t> high);

using Duration = std::chrono::nanoseconds;
Type<Duration> time_between(Limit<Duration> low, Limit<Duration> high);

Type<bool> boolean();

// A command line, which is printable and not empty.
Type<std::string> command();

// One of some names that are known only at run time: `names` is called each time.
Type<std::string> one_of(std::function<std::vector<std::string>()> names);

// The index of the given name in `names`; throws Mismatch, with the nearest name if one is similar.
std::size_t read_choice(const Raw& found, const std::vector<std::string>& names);
// "auto, shm or tcp"
std::string alternatives(const std::vector<std::string>& names);

// One of a few values by name. The example is the first that is not the default.
class Choices {
  public:
    Choices();
    ~Choices();
    void add(std::string_view name, int value);
    const AnyType& type();

  private:
    std::vector<std::pair<std::string, int>> all_;
};
template <class T>
Type<T> choice(std::initializer_list<std::pair<std::string_view, T>> all) {
    Choices choices;
    for (const auto& [name, value] : all) choices.add(name, int(value));
    return Type<T>(choices.type());
}

namespace literals {

constexpr std::size_t operator""_KiB(unsigned long long count) {
    return std::size_t(count) << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long count) {
    return std::size_t(count) << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long count) {
    return std::size_t(count) << 30;
}
constexpr std::size_t operator""_TiB(unsigned long long count) {
    return std::size_t(count) << 40;
}
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

}  // namespace literals

}  // namespace torusmp::config
