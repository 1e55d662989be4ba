// The one table of all settings: name, type, what is accepted, help text, and how to read, print
// and trace each. The file reader, the environment, the command line and torus-info all use it.
//
// The table is constant data; any thread may use it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/raw.h"
#include "config/settings.h"

namespace torusmp::config {

struct Key {
    std::string_view name;      // "transport.tokens": the table and the key of the file
    std::string_view type;      // "integer", "size", "time", "choice", "list", "table"
    std::string_view expected;  // ends the sentence "expected ..."
    std::string_view unset;     // what an empty value means; empty: the value is never empty
    std::string_view example;   // a legal value, as written in the environment or after --set
    std::string_view help;

    // Stores a value; throws Mismatch, and then leaves the settings as they were.
    void (*read)(const Raw& found, Settings& settings);
    // The value as text that `read` understands; empty only where `unset` applies.
    std::string (*format)(const Settings& settings);
    Origin& (*origin)(Settings& settings);

    const Origin& origin_in(const Settings& settings) const {
        return origin(const_cast<Settings&>(settings));
    }
    std::string_view section() const { return name.substr(0, name.find('.')); }
    // "TORUSMP_TRANSPORT_TOKENS"
    std::string variable() const;
};

std::span<const Key> keys();
// Null: there is no such key.
const Key* find_key(std::string_view name);
// "; did you mean 'transport.tokens'?", or a list of what there is; ends an error message.
std::string suggest_key(std::string_view name);

// Names reach ssh and file names, so they have only what names and addresses are made of.
bool legal_host_name(std::string_view name);

// Reads one value for one key and notes its origin. Throws ConfigError with the whole message.
void assign(const Key& key, const Raw& found, const Origin& origin, Settings& settings);

}  // namespace torusmp::config
