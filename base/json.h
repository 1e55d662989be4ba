// SPDX-License-Identifier: BSD-3-Clause
// Reads JSON written by torusmp's programs, and small files written by people.
//
// Plain values; any thread may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torusmp::base {

struct Json {
    struct Member;
    enum class Kind { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::string text;
    std::vector<Json> items;      // list
    std::vector<Member> members;  // object, in the order of the text

    bool is(Kind wanted) const { return kind == wanted; }
    // Null if the member is missing, or this is not an object.
    const Json* find(std::string_view name) const;
};

struct Json::Member {
    std::string name;
    Json value;
};

// Throws std::runtime_error with the line, what was found and what was expected.
Json parse_json(std::string_view text);

}  // namespace torusmp::base
