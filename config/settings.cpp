#include "config/settings.h"

#include <fmt/format.h>

namespace torusmp::config {

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
    return true;
}

}  // namespace torusmp::config
