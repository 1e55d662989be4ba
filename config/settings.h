// SPDX-License-Identifier: BSD-3-Clause
// The effective settings of one job: the values from the geometry file, the environment and the
// command line, each with its origin.
//
// A Settings object is a plain value created once at start by load() and read-only afterwards; any
// thread may read it. Precedence: flag > environment > file > default.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "config/setting.h"

namespace torusmp::config {

// An invalid setting. what() is one complete message: file, line, what was found, what was
// expected. Programs print it and exit with 2.
class ConfigError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Origin {
    enum class Kind { default_value, file, environment, flag, derived };
    Kind kind = Kind::default_value;
    std::string where = {};  // "geometry.toml:3", "TORUSMP_TRANSPORT_TOKENS"; empty for the default

    friend bool operator==(const Origin&, const Origin&) = default;
};

// "default", "file", "environment", "flag", "derived"
std::string_view name_of(Origin::Kind kind);
std::optional<Origin::Kind> parse_kind(std::string_view name);

class Settings {
  public:
    // All defaults. The schema outlives this and all copies.
    explicit Settings(const Schema& schema);

    // Precondition of all functions that take a setting: it is in the schema; otherwise they throw
    // std::logic_error.
    template <class T>
    decltype(auto) operator[](const Setting<T>& setting) const {
        return Setting<T>::in(held(setting).value);
    }
    const Origin& origin(const AnySetting& setting) const { return held(setting).origin; }
    // The value as text that the setting accepts; empty for the value described by
    // AnySetting::unset().
    std::string text(const AnySetting& setting) const;

    // Changes the value and keeps the origin.
    template <class T>
    void set(const Setting<T>& setting, std::type_identity_t<T> value) {
        held(setting).value =
            std::make_shared<const Kept<T>>(static_cast<Kept<T>>(std::move(value)));
    }
    // Changes the value and its origin.
    template <class T>
    void set(const Setting<T>& setting, std::type_identity_t<T> value, const Origin& origin) {
        set(setting, std::move(value));
        held(setting).origin = origin;
    }
    // Reads a raw value. Throws ConfigError with the complete message and then leaves everything
    // unchanged.
    void assign(const AnySetting& setting, const Raw& found, const Origin& origin);
    // Takes the value and its origin from another object with the same schema.
    void take(const AnySetting& setting, const Settings& from) {
        held(setting) = from.held(setting);
    }

    const Schema& schema() const { return *schema_; }
    // The geometry file that was read; empty if none.
    const std::string& file() const { return file_; }
    void set_file(std::string path) { file_ = std::move(path); }

    // The settings of the whole machine, if this job uses a part of its hosts; otherwise this
    // object. Copies of this object share it.
    const Settings& whole() const { return whole_ ? *whole_ : *this; }
    void set_whole(std::shared_ptr<const Settings> whole) { whole_ = std::move(whole); }

    friend bool operator==(const Settings& a, const Settings& b);

  private:
    struct Held {
        Value value;
        Origin origin;
    };
    const Held& held(const AnySetting& setting) const { return values_[schema_->index(setting)]; }
    Held& held(const AnySetting& setting) { return values_[schema_->index(setting)]; }

    const Schema* schema_;
    std::vector<Held> values_;  // in the order of Schema::settings()
    std::string file_;
    std::shared_ptr<const Settings> whole_;
};

}  // namespace torusmp::config
