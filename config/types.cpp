// SPDX-License-Identifier: BSD-3-Clause
#include "config/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "base/units.h"

namespace torusmp::config {

namespace {

int read_integer(const Raw& found, int low, int high) {
    std::int64_t value = found.integer;
    if (found.is_words()) {
        const auto parsed = base::parse_integer(found.text);
        if (!parsed) throw Mismatch({}, found.line);
        value = *parsed;
    } else if (found.form != Raw::Form::integer) {
        throw Mismatch({}, found.line);
    }
    if (value < low || value > high) throw Mismatch({}, found.line);
    return int(value);
}

std::size_t read_size(const Raw& found, std::uint64_t low, std::uint64_t high) {
    std::optional<std::uint64_t> bytes;
    if (found.form == Raw::Form::integer && found.integer >= 0)
        bytes = std::uint64_t(found.integer);
    if (found.is_text()) bytes = base::parse_size(found.text);
    if (!bytes || *bytes < low || *bytes > high) throw Mismatch({}, found.line);
    return std::size_t(*bytes);
}

Duration read_time(const Raw& found, Duration low, Duration high) {
    std::optional<Duration> time;
    if (found.form == Raw::Form::integer && found.integer == 0) time = Duration(0);
    if (found.form == Raw::Form::integer && found.integer != 0)
        throw Mismatch("a number needs a unit", found.line);
    if (found.is_text()) time = base::parse_time(found.text);
    if (!time || *time < low || *time > high) throw Mismatch({}, found.line);
    return *time;
}

bool read_boolean(const Raw& found) {
    if (found.form == Raw::Form::boolean) return found.boolean;
    if (found.is_words() && found.text == "true") return true;
    if (found.is_words() && found.text == "false") return false;
    throw Mismatch({}, found.line);
}

std::string read_command(const Raw& found) {
    const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (!found.is_text() || found.text.find_first_not_of(' ') == std::string::npos ||
        !std::all_of(found.text.begin(), found.text.end(), printable))
        throw Mismatch({}, found.line);
    return found.text;
}

// Limits as written by people: 0 without a unit, whole hours in hours.
std::string limit_text(int value) {
    return std::to_string(value);
}
std::string limit_text(std::size_t bytes) {
    return bytes == 0 ? "0" : base::format_size(bytes);
}
std::string limit_text(Duration time) {
    const auto hours = std::chrono::duration_cast<std::chrono::hours>(time);
    return hours.count() > 0 && hours == time ? fmt::format("{}h", hours.count())
                                              : base::format_time(time);
}

// "a size from 0 (none) to 1TiB"
template <class T>
std::function<std::string()> between(const char* what, const Limit<T>& low, const Limit<T>& high) {
    const auto text = [](const Limit<T>& limit) {
        return limit_text(limit.value) +
               (limit.meaning.empty() ? "" : fmt::format(" ({})", limit.meaning));
    };
    return always(fmt::format("{} from {} to {}", what, text(low), text(high)));
}

}  // namespace

std::function<std::string()> always(std::string text) {
    return [text = std::move(text)] { return text; };
}

Type<int> integer_between(Limit<int> low, Limit<int> high) {
    return {"integer", between("a whole number", low, high),
            [low, high](const Raw& found) { return read_integer(found, low.value, high.value); },
            [](int value) { return std::to_string(value); }};
}

Type<int> integer_or_auto(Limit<int> low, Limit<int> high) {
    const Type<int> number = integer_between(low, high);
    return {"integer", always("auto, or " + number.accepts()),
            [number](const Raw& found) {
                return found.is_text() && found.text == "auto" ? auto_number : number.read(found);
            },
            [number](int value) { return value == auto_number ? "auto" : number.format(value); }};
}

Type<std::size_t> size_between(Limit<std::size_t> low, Limit<std::size_t> high) {
    return {"size",
            between("a size", low, high),
            [low, high](const Raw& found) { return read_size(found, low.value, high.value); },
            [](std::size_t bytes) { return base::format_size(bytes); },
            {},
            true};
}

Type<Duration> time_between(Limit<Duration> low, Limit<Duration> high) {
    return {"time",
            between("a time", low, high),
            [low, high](const Raw& found) { return read_time(found, low.value, high.value); },
            [](Duration time) { return base::format_time(time); },
            {},
            true};
}

Type<bool> boolean() {
    return {"boolean", always("true or false"), read_boolean,
            [](bool value) { return std::string(value ? "true" : "false"); },
            [](bool initial) { return std::string(initial ? "false" : "true"); }};
}

Type<std::string> command() {
    return {"command", always("a command line like \"ssh -p 2222\""), read_command,
            [](const std::string& line) { return line; }};
}

Type<std::string> one_of(std::function<std::vector<std::string>()> names) {
    return {"choice", [names] { return alternatives(names()); },
            [names](const Raw& found) {
                const std::vector<std::string> all = names();
                return all[read_choice(found, all)];
            },
            [](const std::string& name) { return name; },
            [names](const std::string& initial) {
                for (const std::string& name : names())
                    if (name != initial) return name;
                return initial;
            }};
}

Choices::Choices() = default;
Choices::~Choices() = default;

void Choices::add(std::string_view name, int value) {
    all_.emplace_back(name, value);
}

const AnyType& Choices::type() {
    std::vector<std::string> names;
    for (const auto& [name, value] : all_) names.push_back(name);
    return Type<int>(
               "choice", [names] { return alternatives(names); },
               [all = all_, names](const Raw& found) {
                   return all[read_choice(found, names)].second;
               },
               [all = all_](int value) {
                   for (const auto& [name, known] : all)
                       if (known == value) return name;
                   return std::string();
               },
               [all = all_](int initial) {
                   for (const auto& [name, value] : all)
                       if (value != initial) return name;
                   return all.front().first;
               })
        .any();
}

std::size_t read_choice(const Raw& found, const std::vector<std::string>& names) {
    if (!found.is_text()) throw Mismatch({}, found.line);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == found.text) return i;
    const std::string_view meant = base::nearest(found.text, {names.begin(), names.end()});
    throw Mismatch(meant.empty() ? std::string() : fmt::format("did you mean \"{}\"?", meant),
                   found.line);
}

std::string alternatives(const std::vector<std::string>& names) {
    if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
    return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace torusmp::config
