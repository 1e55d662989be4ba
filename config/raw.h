// SPDX-License-Identifier: BSD-3-Clause
// A value as found in the geometry file, the environment or on the command line, before any check.
// It separates the file reader from the settings: only geometry_file.cpp uses TOML. Plain values,
// owned by their holder.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torusmp::config {

struct Raw {
    enum class Form {
        text,  // untyped text from the environment or the command line
        string,
        integer,
        real,
        boolean,
        list,
        table,
        moment  // a TOML date or time
    };
    struct Member;
    Form form = Form::text;
    std::string text;             // text, string; real: as printed
    std::int64_t integer = 0;     // integer
    bool boolean = false;         // boolean
    std::vector<Raw> items;       // list
    std::vector<Member> members;  // table, in the order of the file
    int line = 0;                 // in the file; 0 if not from a file

    static Raw words(std::string_view text);

    bool is_words() const { return form == Form::text; }
    bool is_text() const { return is_words() || form == Form::string; }
    // The parts of the text "a,b,c", as text; an empty text has none, "a," has an empty second one.
    std::vector<Raw> split(char separator) const;

    // The value as quoted in an error message: one short line, no control characters.
    std::string quoted() const;
};

struct Raw::Member {
    std::string name;
    Raw value;
};

// Thrown for a Raw that a setting does not accept; Settings::assign() adds its origin, the key and
// the expected value.
class Mismatch : public std::runtime_error {
  public:
    explicit Mismatch(std::string why = {}, int line = 0)
        : std::runtime_error(std::move(why)), line_(line) {}
    int line() const { return line_; }  // of the wrong part; 0 if the whole value is wrong

  private:
    int line_;
};

}  // namespace torusmp::config
