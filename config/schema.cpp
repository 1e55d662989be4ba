// SPDX-License-Identifier: BSD-3-Clause
#include "config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/text.h"

namespace torusmp::config {

Schema::Schema(const std::vector<Table>& tables, std::vector<AbsentTable> absent)
    : absent_(std::move(absent)) {
    std::set<std::string> variables;
    for (const Table& table : tables)
        for (const AnySetting* setting : table) {
            // "a.b_c" and "a_b.c" are different keys, but the environment cannot distinguish them.
            if (!variables.insert(setting->variable()).second)
                throw std::logic_error(
                    fmt::format("two settings have the key '{}' or the variable {}: expected "
                                "different names",
                                setting->key(), setting->variable()));
            const auto of_section = [&](const AnySetting* other) {
                return other->section() == setting->section();
            };
            const auto last = std::find_if(settings_.rbegin(), settings_.rend(), of_section);
            settings_.insert(last == settings_.rend() ? settings_.end() : last.base(), setting);
        }
    for (std::size_t i = 0; i < settings_.size(); ++i) indices_[settings_[i]] = i;
}

std::vector<std::string_view> Schema::sections() const {
    std::vector<std::string_view> all;
    for (const AnySetting* setting : settings_)
        if (all.empty() || all.back() != setting->section()) all.push_back(setting->section());
    return all;
}

std::vector<const AnySetting*> Schema::all_by_key() const {
    std::vector<const AnySetting*> all = settings_;
    for (const AbsentTable& absent : absent_)
        all.insert(all.end(), absent.table.begin(), absent.table.end());
    std::sort(all.begin(), all.end(),
              [](const AnySetting* a, const AnySetting* b) { return a->key() < b->key(); });
    return all;
}

const AnySetting* Schema::find(std::string_view key) const {
    for (const AnySetting* setting : settings_)
        if (setting->key() == key) return setting;
    return nullptr;
}

std::size_t Schema::index(const AnySetting& setting) const {
    const auto found = indices_.find(&setting);
    if (found == indices_.end())
        throw std::logic_error(
            fmt::format("the setting {} is missing from the tables of this schema: add it to its "
                        "owner's table, and the table to job/settings.cpp",
                        setting.key()));
    return found->second;
}

std::string_view Schema::why_absent(std::string_view name) const {
    for (const AbsentTable& absent : absent_)
        for (const AnySetting* setting : absent.table)
            if (setting->key() == name || setting->section() == name || setting->variable() == name)
                return absent.remedy;
    return {};
}

std::string Schema::suggest(std::string_view key) const {
    if (const auto remedy = why_absent(key); !remedy.empty()) return fmt::format("; {}", remedy);
    std::vector<std::string_view> keys, in_section;
    const std::string_view section = key.substr(0, key.find('.'));
    const std::string_view last = key.substr(key.rfind('.') + 1);
    for (const AnySetting* setting : settings_) {
        // The right key in the wrong table is a better guess than any misspelling.
        if (setting->name() == last) return fmt::format("; did you mean '{}'?", setting->key());
        keys.push_back(setting->key());
        if (setting->section() == section) in_section.push_back(setting->key());
    }
    const std::string_view meant = base::nearest(key, in_section.empty() ? keys : in_section);
    if (!meant.empty()) return fmt::format("; did you mean '{}'?", meant);
    return fmt::format("; expected one of {}",
                       fmt::join(in_section.empty() ? keys : in_section, ", "));
}

}  // namespace torusmp::config
