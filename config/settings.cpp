// SPDX-License-Identifier: BSD-3-Clause
#include "config/settings.h"

#include <fmt/format.h>

#include <array>

namespace torusmp::config {

namespace {

constexpr std::array<std::pair<Origin::Kind, std::string_view>, 5> kinds{
    {{Origin::Kind::default_value, "default"},
     {Origin::Kind::file, "file"},
     {Origin::Kind::environment, "environment"},
     {Origin::Kind::flag, "flag"},
     {Origin::Kind::derived, "derived"}}};

}  // namespace

std::string_view name_of(Origin::Kind kind) {
    for (const auto& [known, name] : kinds)
        if (known == kind) return name;
    return {};
}

std::optional<Origin::Kind> parse_kind(std::string_view name) {
    for (const auto& [kind, known] : kinds)
        if (known == name) return kind;
    return std::nullopt;
}

Settings::Settings(const Schema& schema) : schema_(&schema) {
    for (const AnySetting* setting : schema.settings())
        values_.push_back({setting->initial_value(), {}});
}

std::string Settings::text(const AnySetting& setting) const {
    return setting.format(held(setting).value);
}

void Settings::assign(const AnySetting& setting, const Raw& found, const Origin& origin) {
    Held& target = held(setting);
    try {
        target.value = setting.read(found);
        target.origin = origin;
    } catch (const Mismatch& mismatch) {
        std::string where = origin.where;
        const std::size_t colon = where.rfind(':');
        if (origin.kind == Origin::Kind::file && mismatch.line() > 0 && colon != std::string::npos)
            where = where.substr(0, colon + 1) + std::to_string(mismatch.line());
        const std::string why = mismatch.what();
        throw ConfigError(fmt::format("{}: {} is {}{}: expected {}", where, setting.key(),
                                      found.quoted(), why.empty() ? "" : " (" + why + ")",
                                      setting.expected()));
    }
}

bool operator==(const Settings& a, const Settings& b) {
    if (a.schema_ != b.schema_ || a.file_ != b.file_) return false;
    const auto& all = a.schema_->settings();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (a.values_[i].origin != b.values_[i].origin ||
            !all[i]->equal(a.values_[i].value, b.values_[i].value))
            return false;
    if (!a.whole_ || !b.whole_) return a.whole_ == b.whole_;
    return *a.whole_ == *b.whole_;
}

}  // namespace torusmp::config
