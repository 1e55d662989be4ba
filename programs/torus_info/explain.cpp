// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/printing.h"
#include "base/text.h"
#include "config/geometry.h"

namespace torusmp::torus_info {

using namespace config;

namespace {

constexpr std::size_t widest_value = 48;

// Wraps text into lines of up to `width` characters, each indented by `indent`.
std::string wrap(std::string_view text, std::size_t width, std::string_view indent) {
    std::string out;
    while (!text.empty()) {
        std::size_t end = text.size() <= width ? text.size() : text.rfind(' ', width);
        if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), text.size());
        out += fmt::format("{}{}\n", indent, text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

// The default as it is written, or its meaning if it is empty.
std::string default_text(const AnySetting& setting, std::string_view quote) {
    const std::string initial = setting.format(setting.initial_value());
    return initial.empty() ? std::string(setting.unset())
                           : fmt::format("{}{}{}", quote, initial, quote);
}

// Quotes a text as one argument for a shell.
std::string shell_word(const std::string& text) {
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) ||
               std::string_view("=._,+-/:").find(c) != std::string_view::npos;
    });
    return plain ? text : fmt::format("'{}'", text);
}

std::string reference_entry(const AnySetting& setting) {
    constexpr std::size_t width = 100;
    const auto item = [](const std::string& text) {
        return "- " + wrap(text, width - 2, "  ").substr(2);
    };
    return fmt::format("\n### {}\n", setting.key()) + wrap(setting.help(), width, "") + "\n" +
           item("accepts: " + setting.expected()) + item("default: " + default_text(setting, "`")) +
           item("example: `--set " +
                shell_word(fmt::format("{}={}", setting.key(), setting.example())) + "`");
}

constexpr std::string_view reference_head =
    R"(# Settings
What `torus-info --reference` prints, made from the settings themselves.

Each setting has a default. The geometry file (`--config FILE`, or the variable `TORUSMP_CONFIG`)
overrides the default, the environment overrides the file, and the command line overrides all of
them. In the file, which is TOML, the name before the dot is a table and the rest is a key in it;
the environment and the command line use the whole name:

    [transport]
    tokens = 8                             # in the file
    TORUSMP_TRANSPORT_TOKENS=8             # in the environment
    --set transport.tokens=8               # on the command line

`torus-info` prints the effective values and the origin of each; `torus-info --explain
transport.tokens` describes one. A size has a unit of `B`, `KiB`, `MiB`, `GiB` or `TiB`, a time one
of `ns`, `us`, `ms`, `s`, `min` or `h`.
)";

}  // namespace

std::string shown_value(const AnySetting& setting, const Settings& settings) {
    const std::string value = settings.text(setting);
    if (value.empty()) return fmt::format("({})", setting.unset());
    if (&setting == &setting::hosts && settings[setting::hosts].pattern.empty() &&
        value.size() > widest_value)
        return fmt::format("{} hosts, {} to {}", host_names(settings).size(),
                           host_names(settings).front(), host_names(settings).back());
    return base::printable(value, widest_value);
}

std::string describe_origin(const Origin& origin) {
    return origin.where.empty() ? std::string(name_of(origin.kind)) : origin.where;
}

std::string explain_setting(const AnySetting& setting, const Settings& settings) {
    return fmt::format("{} ({})\n", setting.key(), setting.type_name()) +
           wrap(setting.help(), 76, "  ") + "\n" +
           base::format_table(
               {{"accepts", setting.expected()},
                {"default", default_text(setting, "")},
                {"in the file", setting.in_file()},
                {"environment", fmt::format("{}={}", setting.variable(), setting.example())},
                {"flag", fmt::format("--set {}={}", setting.key(), setting.example())},
                {"now", fmt::format("{}, from {}", shown_value(setting, settings),
                                    describe_origin(settings.origin(setting)))}});
}

std::string reference_page(const Schema& schema) {
    std::string page(reference_head);
    std::string_view section;
    for (const AnySetting* setting : schema.all_by_key()) {
        if (setting->section() != section) page += fmt::format("\n## {}\n", setting->section());
        section = setting->section();
        page += reference_entry(*setting);
    }
    return page;
}

}  // namespace torusmp::torus_info
