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

class Schema {
  public:
    // Throws std::logic_error where two settings have one key or one variable.
    explicit Schema(const std::vector<Table>& tables);
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    // Those of one section ("transport") together, otherwise in the order of the tables.
    const std::vector<const AnySetting*>& settings() const { return settings_; }
    std::vector<std::string_view> sections() const;
    // Null: there is no such key.
    const AnySetting* find(std::string_view key) const;
    // The place of a setting in settings(). Throws std::logic_error where it is in no table.
    std::size_t index(const AnySetting& setting) const;

    // "; did you mean 'transport.tokens'?", or a list of what there is; ends an error message.
    std::string suggest(std::string_view key) const;

  private:
    std::vector<const AnySetting*> settings_;
    std::map<const AnySetting*, std::size_t> places_;
};

}  // namespace torusmp::config
