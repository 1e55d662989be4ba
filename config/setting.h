// One setting: a row that declares its key, what its value may be, the default and the help text,
// once. It stands in its owner's header, in a namespace `setting` of the owner's:
//
//     namespace torusmp::transport::tcp::setting {
//     inline const config::Setting<std::size_t> socket_buffer{
//         "transport.socket_buffer", config::size_between(4_KiB, 1_GiB), 4_MiB,
//         "Send and receive buffer of each TCP connection, in the kernel."};
//     inline const config::Table table{&socket_buffer};
//     }
//
// and job/settings.cpp lists the tables of all owners. The geometry file, the environment, flags,
// what a launcher hands to its ranks, error messages, torus-info and docs/settings.md are made from
// the rows. A value is looked up by its row: settings[tcp::setting::socket_buffer].
//
// A row's address is its identity, so rows are neither copied nor moved. Constant; any thread may
// use them.
#pragma once

#include <any>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/type.h"

namespace torusmp::config {

// What most rows need not say.
struct Notes {
    std::string_view unset = {};    // what an empty value means; empty: the value is never empty
    std::string_view example = {};  // a legal value, as words; otherwise the type has one
    std::string_view in_file = {};  // where it stands in the file, if not in the table of its key
};

// A setting whatever the type of its value, which is kept in a std::any.
class AnySetting {
  public:
    AnySetting(std::string_view key, std::string_view help, const Notes& notes)
        : key_(key), help_(help), notes_(notes) {}
    virtual ~AnySetting() = default;
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

    virtual std::string_view type_name() const = 0;
    virtual std::any initial_value() const = 0;
    virtual std::any read(const Raw& found) const = 0;  // throws Mismatch
    // The value as text that read() understands; empty only where unset() applies.
    virtual std::string format(const std::any& value) const = 0;
    virtual bool equal(const std::any& a, const std::any& b) const = 0;

  protected:
    virtual std::string accepts() const = 0;
    virtual std::string own_example() const = 0;
    virtual bool like_example() const = 0;

  private:
    const std::string_view key_;
    const std::string_view help_;
    const Notes notes_;
};

template <class T>
class Setting final : public AnySetting {
  public:
    Setting(std::string_view key, Type<T> type, T initial, std::string_view help,
            const Notes& notes = {})
        : AnySetting(key, help, notes), type_(std::move(type)), initial_(std::move(initial)) {}

    const T& initial() const { return initial_; }

    std::string_view type_name() const override { return type_.name; }
    std::any initial_value() const override { return initial_; }
    std::any read(const Raw& found) const override { return type_.read(found); }
    std::string format(const std::any& value) const override { return type_.format(in(value)); }
    bool equal(const std::any& a, const std::any& b) const override { return in(a) == in(b); }

    static const T& in(const std::any& value) { return *std::any_cast<T>(&value); }

  private:
    std::string accepts() const override { return type_.accepts(); }
    std::string own_example() const override {
        return type_.example ? type_.example(initial_) : type_.format(initial_);
    }
    bool like_example() const override { return type_.like; }

    const Type<T> type_;
    const T initial_;
};

// The settings of one owner.
using Table = std::vector<const AnySetting*>;

}  // namespace torusmp::config
