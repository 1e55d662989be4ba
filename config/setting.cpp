#include "config/setting.h"

#include <fmt/format.h>

namespace torusmp::config {

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
    return like_example() ? fmt::format("{}, like {}", accepts(), example()) : accepts();
}

std::string AnySetting::example() const {
    return notes_.example.empty() ? own_example() : std::string(notes_.example);
}

}  // namespace torusmp::config
