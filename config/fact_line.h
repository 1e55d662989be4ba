// SPDX-License-Identifier: BSD-3-Clause
// One line of the facts that a host reports about itself (config/network.h): words separated by
// single blanks. Lines are also read with this class, which validates everything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace torusmp::config {

class FactLine {
  public:
    // Throws ConfigError, which quotes the line, if the line is malformed; all functions below
    // throw it for a word of the wrong form.
    explicit FactLine(std::string_view line);

    const std::vector<std::string_view>& words() const { return words_; }
    std::string_view operator[](std::size_t i) const { return words_[i]; }
    void expect(std::size_t words) const;
    int number(std::size_t i) const;           // from 0
    std::uint64_t bytes(std::size_t i) const;  // from 0
    bool either(std::size_t i, std::string_view yes, std::string_view no) const;
    base::Address address(std::size_t i) const;
    std::string text(std::size_t i) const;     // empty for "-"
    std::string rest(std::size_t from) const;  // with the blanks
    [[noreturn]] void fail(const std::string& why) const;

  private:
    std::string_view line_;
    std::vector<std::string_view> words_;
};

// Any text as one word of a line: without blanks and control characters, and never empty.
std::string fact_word(std::string_view text);
// Any text as any number of words of a line.
std::string fact_words(std::string_view text);

[[noreturn]] void refuse_facts(std::string_view line, const std::string& why);

}  // namespace torusmp::config
