// SPDX-License-Identifier: BSD-3-Clause
#include "config/fact_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "config/settings.h"

namespace torusmp::config {
namespace {

constexpr std::size_t longest_word = 255;

}  // namespace

void refuse_facts(std::string_view line, const std::string& why) {
    throw ConfigError(fmt::format("cannot parse the facts that a host sent, at \"{}\": {}",
                                  base::printable(line, 120), why));
}

FactLine::FactLine(std::string_view line) : line_(line) {
    for (std::size_t start = 0; start <= line.size();) {
        const std::size_t end = std::min(line.find(' ', start), line.size());
        if (end == start || end - start > longest_word) fail("expected words and single blanks");
        words_.push_back(line.substr(start, end - start));
        start = end + 1;
    }
    for (const char c : line)
        if (c < ' ' || c >= 0x7f) fail("expected plain letters");
}

void FactLine::fail(const std::string& why) const {
    refuse_facts(line_, why);
}

void FactLine::expect(std::size_t words) const {
    if (words_.size() != words) fail(fmt::format("expected {} words", words));
}

int FactLine::number(std::size_t i) const {
    const auto value = base::parse_integer(words_[i]);
    if (!value || *value < 0 || *value > 0x7fffffff)
        fail(
            fmt::format("\"{}\" is not a number (expected 0 or more)", base::printable(words_[i])));
    return int(*value);
}

std::uint64_t FactLine::bytes(std::size_t i) const {
    const auto value = base::parse_integer(words_[i]);
    if (!value || *value < 0)
        fail(
            fmt::format("\"{}\" is not a number (expected 0 or more)", base::printable(words_[i])));
    return std::uint64_t(*value);
}

bool FactLine::either(std::size_t i, std::string_view yes, std::string_view no) const {
    if (words_[i] != yes && words_[i] != no)
        fail(fmt::format("\"{}\": expected {} or {}", base::printable(words_[i]), yes, no));
    return words_[i] == yes;
}

base::Address FactLine::address(std::size_t i) const {
    const auto found = base::parse_address(words_[i]);
    if (!found) fail(fmt::format("\"{}\" is not an address", base::printable(words_[i])));
    return *found;
}

std::string FactLine::text(std::size_t i) const {
    return words_[i] == "-" ? std::string() : std::string(words_[i]);
}

std::string FactLine::rest(std::size_t from) const {
    return fmt::format("{}", fmt::join(words_.begin() + std::ptrdiff_t(from), words_.end(), " "));
}

std::string fact_word(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, longest_word)) out += c > ' ' && c < 0x7f ? c : '?';
    return out.empty() ? "-" : out;
}

std::string fact_words(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) out += (out.empty() ? "" : " ") + fact_word(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

}  // namespace torusmp::config
