// SPDX-License-Identifier: BSD-3-Clause
// All settings of a program: the tables of all owners. Created once and constant; any thread may
// use it. It outlives the Settings created from it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"

namespace torusmp::config {

// Settings that this build does not have, and how to get them.
struct AbsentTable {
    const Table& table;
    std::string_view remedy;
};

class Schema {
  public:
    // Throws std::logic_error if two settings have the same key or the same variable.
    explicit Schema(const std::vector<Table>& tables, std::vector<AbsentTable> absent = {});
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    // All settings. Those of one section ("transport") are together, otherwise in the order of the
    // tables.
    const std::vector<const AnySetting*>& settings() const { return settings_; }
    std::vector<std::string_view> sections() const;
    // All settings, including those that this build does not have, sorted by key.
    std::vector<const AnySetting*> all_by_key() const;
    // Null if the key is unknown.
    const AnySetting* find(std::string_view key) const;
    // The index of a setting in settings(). Throws std::logic_error if it is not in a table.
    std::size_t index(const AnySetting& setting) const;

    // The end of an error message: "; did you mean 'transport.tokens'?", a list of the existing
    // settings, or why this one does not exist.
    std::string suggest(std::string_view key) const;
    // Why this build does not have a key, section or variable; empty if it is not one of those.
    std::string_view why_absent(std::string_view name) const;

  private:
    std::vector<const AnySetting*> settings_;
    std::map<const AnySetting*, std::size_t> indices_;
    std::vector<AbsentTable> absent_;
};

}  // namespace torusmp::config
