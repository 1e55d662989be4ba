// SPDX-License-Identifier: BSD-3-Clause
#include "config/setting.h"

#include <fmt/format.h>

namespace torusmp::config {

const AnyType& keep(std::unique_ptr<const AnyType> type) {
    // Never destroyed: settings may be read while the process ends.
    static auto& all = *new std::vector<std::unique_ptr<const AnyType>>;
    all.push_back(std::move(type));
    return *all.back();
}

std::string AnySetting::variable() const {
    std::string out = "TORUSMP_";
    for (char c : key_) out += c == '.' ? '_' : c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    return out;
}

std::string AnySetting::in_file() const {
    return notes_.in_file.empty() ? fmt::format("{} in the table [{}]", name(), section())
                                  : std::string(notes_.in_file);
}

std::string AnySetting::expected() const {
    return type_.like() ? fmt::format("{}, like {}", type_.accepts(), example()) : type_.accepts();
}

std::string AnySetting::example() const {
    return notes_.example.empty() ? type_.example(initial_) : std::string(notes_.example);
}

}  // namespace torusmp::config
