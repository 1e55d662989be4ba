// SPDX-License-Identifier: BSD-3-Clause
#include "config/raw.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace torusmp::config {

namespace {

std::string quoted_list(const std::vector<Raw>& items) {
    std::string out = "[";
    for (const Raw& item : items) {
        if (out.size() > 1) out += ", ";
        if (out.size() > 60) return out + "...]";
        out += item.quoted();
    }
    return out + "]";
}

}  // namespace

Raw Raw::words(std::string_view text) {
    Raw raw;
    raw.text = text;
    return raw;
}

std::vector<Raw> Raw::split(char separator) const {
    std::vector<Raw> parts;
    std::size_t start = 0;
    while (!text.empty() && start <= text.size()) {
        const std::size_t end = std::min(text.find(separator, start), text.size());
        parts.push_back(words(std::string_view(text).substr(start, end - start)));
        start = end + 1;
    }
    return parts;
}

std::string Raw::quoted() const {
    switch (form) {
        case Form::text:
        case Form::string:
            return '"' + base::printable(text) + '"';
        case Form::integer:
            return std::to_string(integer);
        case Form::real:
            return base::printable(text);
        case Form::boolean:
            return boolean ? "true" : "false";
        case Form::list:
            return quoted_list(items);
        case Form::table:
            return "a table";
        case Form::moment:
            return "a date or time";
    }
    return {};
}

}  // namespace torusmp::config
