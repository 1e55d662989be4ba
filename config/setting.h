// SPDX-License-Identifier: BSD-3-Clause
// One setting: a row that declares, once, its key, what its value may be, the default and the help
// text. It stands in its owner's header, in the owner's namespace `setting`:
//
//     namespace torusmp::transport::tcp::setting {
//     inline const config::Setting<std::size_t> socket_buffer{
//         "transport.socket_buffer", config::size_between(4_KiB, 1_GiB), 4_MiB,
//         "Send and receive buffer of each TCP connection, in the kernel."};
//     inline const config::Table table{&socket_buffer};
//     }
//
// and job/settings.cpp lists the tables of all owners. The geometry file, the environment, flags,
// what a launcher hands to its ranks, error messages, torus-info and the reference are made from
// the rows. A value is looked up by its row: settings[tcp::setting::socket_buffer].
//
// A row's address is its identity, so rows are neither copied nor moved. Constant; any thread may
// use them.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/type.h"

namespace torusmp::config {

// What most rows can leave out.
struct Notes {
    std::string_view unset = {};    // what an empty value means; empty: the value is never empty
    std::string_view example = {};  // a legal value, as text; by default the type makes one
    std::string_view in_file = {};  // where it stands in the file, if not in its section's table
};

// A setting, whatever the type of its value.
class AnySetting {
  public:
    AnySetting(const AnySetting&) = delete;
    AnySetting& operator=(const AnySetting&) = delete;

    std::string_view key() const { return key_; }  // "transport.tokens"
    std::string_view section() const { return key_.substr(0, key_.find('.')); }
    std::string_view name() const { return key_.substr(key_.rfind('.') + 1); }
    std::string variable() const;  // "TORUSMP_TRANSPORT_TOKENS"
    std::string_view help() const { return help_; }
    std::string_view unset() const { return notes_.unset; }
    std::string in_file() const;   // "tokens in the table [transport]"
    std::string expected() const;  // ends the sentence "expected ..."
    std::string example() const;   // a legal value, as written in the environment or after --set
    std::string_view type_name() const { return type_.name(); }

    Value initial_value() const { return type_.copy(initial_); }
    Value read(const Raw& found) const { return type_.read(found); }  // throws Mismatch
    // The value as text that read() understands; empty only where unset() applies.
    std::string format(const Value& value) const { return type_.format(value.get()); }
    bool equal(const Value& a, const Value& b) const { return type_.equal(a.get(), b.get()); }

  protected:
    AnySetting(std::string_view key, const AnyType& type, const void* initial,
               std::string_view help, const Notes& notes)
        : key_(key), help_(help), notes_(notes), type_(type), initial_(initial) {}
    ~AnySetting() = default;

  private:
    const std::string_view key_;
    const std::string_view help_;
    const Notes notes_;
    const AnyType& type_;
    const void* const initial_;
};

template <class T>
class Setting final : public AnySetting {
  public:
    Setting(std::string_view key, Type<T> type, T initial, std::string_view help,
            const Notes& notes = {})
        : AnySetting(key, type.any(), &initial_, help, notes),
          initial_(static_cast<Kept<T>>(std::move(initial))) {}

    // A T, or a reference to one that lives as long as `value`.
    static decltype(auto) in(const Value& value) { return in(value.get()); }
    decltype(auto) initial() const { return in(&initial_); }

  private:
    static decltype(auto) in(const void* value) {
        if constexpr (std::is_enum_v<T>)
            return T(*static_cast<const int*>(value));
        else
            return *static_cast<const T*>(value);
    }

    const Kept<T> initial_;
};

// The settings of one owner.
using Table = std::vector<const AnySetting*>;

}  // namespace torusmp::config
