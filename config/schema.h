// All settings that a program knows: the tables of their owners, put together. Made once and
// constant; any thread may use it. It outlives the Settings that are made with it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting.h"

namespace torusmp::config {

// Settings that this build does not have, and what to do about that.
struct AbsentTable {
    const Table& table;
    std::string_view remedy;
};

class Schema {
  public:
    // Throws std::logic_error where two settings have one key or one variable.
    explicit Schema(const std::vector<Table>& tables, std::vector<AbsentTable> absent = {});
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    // Those of one section ("transport") together, otherwise in the order of the tables.
    const std::vector<const AnySetting*>& settings() const { return settings_; }
    std::vector<std::string_view> sections() const;
    // These and those that this build does not have, by key.
    std::vector<const AnySetting*> all_by_key() const;
    // Null: there is no such key.
    const AnySetting* find(std::string_view key) const;
    // The index of a setting in settings(). Throws std::logic_error where it is in no table.
    std::size_t index(const AnySetting& setting) const;

    // "; did you mean 'transport.tokens'?", a list of what there is, or why this one is not; ends
    // an error message.
    std::string suggest(std::string_view key) const;
    // What to do about a key, section or variable that this build does not have; empty: it is not
    // one of those.
    std::string_view why_absent(std::string_view name) const;

  private:
    std::vector<const AnySetting*> settings_;
    std::map<const AnySetting*, std::size_t> indices_;
    std::vector<AbsentTable> absent_;
};

}  // namespace torusmp::config
