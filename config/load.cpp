// SPDX-License-Identifier: BSD-3-Clause
#include "config/load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "base/units.h"
#include "config/check.h"
#include "config/geometry_file.h"
#include "config/raw.h"

namespace torusmp::config {

namespace {

constexpr std::string_view variable_prefix = "TORUSMP_";
constexpr std::string_view file_variable = "TORUSMP_CONFIG";
constexpr std::string_view handover_variable = "TORUSMP_SETTINGS";
constexpr std::string_view handover_version = "1";
// Before the keys of the values that the whole machine has, if the job uses a part of it.
constexpr std::string_view whole_prefix = "whole.";
// The kernel allows at most 128 KiB in one string of the environment.
constexpr std::size_t longest_string = std::size_t(64) << 10;

struct Variable {
    std::string_view name, value;
};

// Only torusmp's variables: the environment of a rank contains hundreds of others.
std::vector<Variable> our_variables(std::span<const std::string> environment) {
    std::vector<Variable> ours;
    for (const std::string& entry : environment) {
        const std::string_view text = entry;
        const std::size_t equals = text.find('=');
        if (text.starts_with(variable_prefix) && equals != std::string_view::npos)
            ours.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return ours;
}

Environment process_environment() {
    Environment ours;
    for (char** entry = environ; entry && *entry; ++entry)
        if (std::string_view(*entry).starts_with(variable_prefix)) ours.emplace_back(*entry);
    return ours;
}

std::optional<std::string_view> look_up(const std::vector<Variable>& variables,
                                        std::string_view name) {
    for (const Variable& variable : variables)
        if (variable.name == name) return variable.value;
    return std::nullopt;
}

// ---- File ----

void read_file(const std::string& path, Settings& settings, Locations& locations) {
    apply_geometry(read_text_file(path), path, settings, locations);
    settings.set_file(path);
}

// ---- Environment ----

// The launcher and others use variables with the same prefix; a name is refused only if it is
// probably a misspelled setting.
void check_unknown(std::string_view name, const Schema& schema) {
    if (name.starts_with(handover_variable)) return;
    if (const auto remedy = schema.why_absent(name); !remedy.empty())
        throw ConfigError(fmt::format("{}: {}", base::printable(name), remedy));
    std::string_view best;
    std::size_t best_distance = 3;
    bool in_section = false;
    std::vector<std::string> known;
    for (const AnySetting* setting : schema.settings()) known.push_back(setting->variable());
    for (std::size_t i = 0; i < known.size(); ++i) {
        const std::size_t distance = name.size() > 64 ? 64 : base::edit_distance(name, known[i]);
        if (distance < best_distance) {
            best = known[i];
            best_distance = distance;
        }
        const std::string_view section = schema.settings()[i]->section();
        const std::size_t prefix = variable_prefix.size() + section.size();
        if (section != "launch" && name.starts_with(known[i].substr(0, prefix) + "_"))
            in_section = true;
    }
    if (!best.empty())
        throw ConfigError(
            fmt::format("{}: unknown setting; did you mean {}?", base::printable(name), best));
    if (in_section)
        throw ConfigError(fmt::format(
            "{}: unknown setting; the environment may set {}, and {} names the geometry file",
            base::printable(name), fmt::join(known, ", "), file_variable));
}

void read_environment(const std::vector<Variable>& variables, Settings& settings) {
    std::vector<bool> used(variables.size());
    for (const AnySetting* setting : settings.schema().settings()) {
        const std::string name = setting->variable();
        for (std::size_t i = 0; i < variables.size(); ++i) {
            if (variables[i].name != name) continue;
            settings.assign(*setting, Raw::words(variables[i].value),
                            {Origin::Kind::environment, name});
            used[i] = true;
        }
    }
    for (std::size_t i = 0; i < variables.size(); ++i)
        if (!used[i] && variables[i].name != file_variable)
            check_unknown(variables[i].name, settings.schema());
}

// ---- Flags ----

void read_flags(const std::vector<Flag>& flags, Settings& settings) {
    for (const Flag& flag : flags) {
        const std::string option = flag.option.empty() ? "--set " + flag.key : flag.option;
        const AnySetting* setting = settings.schema().find(flag.key);
        if (!setting)
            throw ConfigError(fmt::format("{}: unknown key '{}'{}", base::printable(option),
                                          base::printable(flag.key),
                                          settings.schema().suggest(flag.key)));
        settings.assign(*setting, Raw::words(flag.value), {Origin::Kind::flag, option});
    }
}

// ---- Handover from launcher to rank ----
//
// "1 2 transport.tokens=8@flag:--set%20transport.tokens ..." : version, number of strings, and one
// record for each value that is not the default. Values and origins are percent-encoded, so that
// blanks, "@" and line ends in a path are not taken for separators.

struct Record {
    std::string key, value;
    Origin origin;
};

std::string encode(std::string_view text) {
    std::string out;
    for (char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte >= 0x7f || c == '%' || c == '@')
            out += fmt::format("%{:02x}", byte);
        else
            out += c;
    }
    return out;
}

[[noreturn]] void damaged(std::string_view what) {
    throw ConfigError(fmt::format(
        "{}: cannot parse {}, which the launcher of this job should have written: does the "
        "launcher have another version, or was the variable changed?",
        handover_variable, base::printable(what)));
}

std::string decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        int byte = 0;
        for (std::size_t digit = i + 1; digit <= i + 2; ++digit) {
            const char c = digit < text.size() ? text[digit] : '?';
            const int value = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                     : -1;
            if (value < 0) damaged(text);
            byte = byte * 16 + value;
        }
        out += char(byte);
        i += 2;
    }
    return out;
}

std::string encode_record(std::string_view key, const std::string& value, const Origin& origin) {
    return fmt::format(" {}={}@{}:{}", key, encode(value), name_of(origin.kind),
                       encode(origin.where));
}

Record decode_record(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::size_t at = text.find('@');
    const std::size_t colon = at == std::string_view::npos ? at : text.find(':', at);
    if (equals == std::string_view::npos || colon == std::string_view::npos || equals > at)
        damaged(text);
    Record record{
        std::string(text.substr(0, equals)), decode(text.substr(equals + 1, at - equals - 1)), {}};
    const auto kind = parse_kind(text.substr(at + 1, colon - at - 1));
    if (!kind) damaged(text);
    record.origin.kind = *kind;
    record.origin.where = decode(text.substr(colon + 1));
    return record;
}

// The words of TORUSMP_SETTINGS and its continuations; empty if this rank was not started by a
// torusmp launcher.
std::optional<std::vector<Record>> inherited_records(const std::vector<Variable>& variables) {
    const auto first = look_up(variables, handover_variable);
    if (!first || first->empty()) return std::nullopt;
    const auto head = Raw::words(*first).text;
    const std::size_t blank = head.find(' ');
    const std::size_t second = head.find(' ', blank == std::string::npos ? blank : blank + 1);
    if (blank == std::string::npos || head.substr(0, blank) != handover_version)
        damaged(head.substr(0, blank));
    const std::size_t end = std::min(second, head.size());
    const auto strings =
        base::parse_integer(std::string_view(head).substr(blank + 1, end - blank - 1));
    if (!strings || *strings < 1 || *strings > 1024) damaged(head.substr(0, end));
    std::string all = head.substr(end);
    for (std::int64_t i = 1; i < *strings; ++i) {
        const std::string name = fmt::format("{}_{}", handover_variable, i);
        const auto more = look_up(variables, name);
        if (!more) damaged(name);
        all += *more;
    }
    std::vector<Record> records;
    for (std::size_t start = 0; start < all.size();) {
        const std::size_t stop = std::min(all.find(' ', start), all.size());
        if (stop > start)
            records.push_back(decode_record(std::string_view(all).substr(start, stop - start)));
        start = stop + 1;
    }
    return records;
}

const AnySetting& setting_of(std::string_view key, const Settings& settings) {
    const AnySetting* const setting = settings.schema().find(key);
    if (!setting) damaged(key);
    return *setting;
}

void apply_records(const std::vector<Record>& records, bool flags, Settings& settings) {
    for (const Record& record : records) {
        if (record.key.starts_with(whole_prefix)) continue;
        if ((record.origin.kind == Origin::Kind::flag) != flags) continue;
        if (record.key == "config") {
            settings.set_file(record.value);
            continue;
        }
        settings.assign(setting_of(record.key, settings), Raw::words(record.value), record.origin);
    }
}

void apply_whole(const std::vector<Record>& records, Settings& settings) {
    std::shared_ptr<Settings> whole;
    for (const Record& record : records) {
        if (!record.key.starts_with(whole_prefix)) continue;
        if (!whole) whole = std::make_shared<Settings>(settings);
        const AnySetting& setting =
            setting_of(std::string_view(record.key).substr(whole_prefix.size()), settings);
        if (record.origin.kind == Origin::Kind::default_value)
            whole->take(setting, Settings(settings.schema()));
        else
            whole->assign(setting, Raw::words(record.value), record.origin);
    }
    if (!whole) return;
    complete(*whole, {});
    settings.set_whole(std::move(whole));
}

}  // namespace

Flag parse_set_flag(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw ConfigError(
            fmt::format("--set {}: expected a key and a value, for example --set "
                        "transport.tokens=8",
                        base::printable(text)));
    return {text.substr(0, equals), text.substr(equals + 1), {}};
}

Settings load(const Schema& schema, const LoadRequest& request,
              std::span<const std::string> environment) {
    const std::vector<Variable> variables = our_variables(environment);
    Settings settings(schema);
    Locations locations;
    if (!request.file.empty())
        read_file(request.file, settings, locations);
    else if (const auto file = look_up(variables, file_variable); file && !file->empty())
        try {
            read_file(std::string(*file), settings, locations);
        } catch (const ConfigError& error) {
            throw ConfigError(fmt::format("{} (named by {})", error.what(), file_variable));
        }
    read_environment(variables, settings);
    read_flags(request.flags, settings);
    complete(settings, locations);
    return settings;
}

Settings load_for_rank(const Schema& schema, const LoadRequest& request,
                       std::span<const std::string> environment) {
    const std::vector<Variable> variables = our_variables(environment);
    const auto records = inherited_records(variables);
    if (!records) return load(schema, request, environment);
    Settings settings(schema);
    Locations locations;
    apply_records(*records, false, settings);
    if (!request.file.empty()) read_file(request.file, settings, locations);
    read_environment(variables, settings);
    apply_records(*records, true, settings);
    read_flags(request.flags, settings);
    complete(settings, locations);
    apply_whole(*records, settings);
    return settings;
}

Settings load(const Schema& schema, const LoadRequest& request) {
    return load(schema, request, process_environment());
}

Settings load_for_rank(const Schema& schema, const LoadRequest& request) {
    return load_for_rank(schema, request, process_environment());
}

std::vector<std::string> export_environment(const Settings& settings) {
    std::string all;
    if (!settings.file().empty())
        all += encode_record("config", settings.file(), {Origin::Kind::file, settings.file()});
    for (const AnySetting* setting : settings.schema().settings()) {
        const Origin& origin = settings.origin(*setting);
        if (origin.kind != Origin::Kind::default_value)
            all += encode_record(setting->key(), settings.text(*setting), origin);
    }
    const Settings& whole = settings.whole();
    if (&whole != &settings)
        for (const AnySetting* setting : settings.schema().settings()) {
            const std::string text = whole.text(*setting);
            const Origin& origin = whole.origin(*setting);
            if (text != settings.text(*setting) || origin != settings.origin(*setting))
                all +=
                    encode_record(fmt::format("{}{}", whole_prefix, setting->key()), text, origin);
        }
    std::vector<std::string> parts;
    for (std::size_t start = 0; start == 0 || start < all.size(); start += longest_string)
        parts.push_back(all.substr(start, longest_string));
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < parts.size(); ++i)
        strings.push_back(i == 0 ? fmt::format("{}={} {}{}", handover_variable, handover_version,
                                               parts.size(), parts[0])
                                 : fmt::format("{}_{}={}", handover_variable, i, parts[i]));
    return strings;
}

}  // namespace torusmp::config
