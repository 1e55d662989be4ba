// SPDX-License-Identifier: BSD-3-Clause
// toml++ is compiled only in this file: it is slow to compile, and used as a header it adds no
// shared library to the start of the ranks.
#include "config/geometry_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

// toml++ asserts that its input is well-formed in places where it then properly rejects it (for
// example "[,"), and in release builds it lets the compiler rely on these assertions. Neither an
// abort nor undefined behaviour is acceptable for a bad file, so the assertions are disabled; the
// fuzzer and the address sanitizer check the remaining code.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "base/descriptor.h"
#include "base/text.h"
#include "config/geometry.h"

namespace torusmp::config {

namespace {

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
    throw ConfigError(
        fmt::format("{}: cannot read the geometry file: {}", base::printable(path, 512), why));
}

void check_regular(const std::string& path, const struct stat& status) {
    if (S_ISDIR(status.st_mode)) cannot_read(path, "it is a directory; expected a TOML file");
    if (!S_ISREG(status.st_mode))
        cannot_read(path, "it is a device, pipe or socket; expected a regular file");
    if (status.st_size > std::int64_t(max_file_size))
        cannot_read(path, fmt::format("it has {} bytes; expected at most {}", status.st_size,
                                      max_file_size));
}

int line_of(std::string_view text, std::size_t offset) {
    return 1 + int(std::count(text.begin(), text.begin() + std::ptrdiff_t(offset), '\n'));
}

// toml++ finds these errors too, but may report the line before.
void check_text(std::string_view text, const std::string& path) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = base::utf8_length(text.substr(at));
        if (length == 0 || text[at] == '\0')
            throw ConfigError(fmt::format("{}:{}: not a text file: byte {} {}; expected TOML",
                                          base::printable(path, 512), line_of(text, at), at,
                                          length
                                              ? "is zero"
                                              : fmt::format("(0x{:02x}) is not valid UTF-8",
                                                            static_cast<unsigned char>(text[at]))));
        at += length;
    }
}

// ---- From toml++ to Raw ----

int line_of(const toml::source_region& region) {
    return int(region.begin.line);
}

Raw to_raw(const toml::node& node);

Raw to_raw(const toml::table& table) {
    Raw raw;
    raw.form = Raw::Form::table;
    raw.line = line_of(table.source());
    for (const auto& [key, node] : table) {
        raw.members.push_back({std::string(key.str()), to_raw(node)});
        // The line of the key, not of its value: readers look there, and the value of an implied
        // table has no line of its own.
        if (key.source().begin.line > 0) raw.members.back().value.line = line_of(key.source());
    }
    // toml++ sorts by name; errors are reported in the order of the file.
    std::stable_sort(raw.members.begin(), raw.members.end(),
                     [](const auto& a, const auto& b) { return a.value.line < b.value.line; });
    return raw;
}

Raw to_raw(const toml::node& node) {
    if (const toml::table* table = node.as_table()) return to_raw(*table);
    Raw raw;
    raw.line = line_of(node.source());
    if (const toml::array* array = node.as_array()) {
        raw.form = Raw::Form::list;
        for (const toml::node& item : *array) raw.items.push_back(to_raw(item));
    } else if (const auto* string = node.as_string()) {
        raw.form = Raw::Form::string;
        raw.text = string->get();
    } else if (const auto* integer = node.as_integer()) {
        raw.form = Raw::Form::integer;
        raw.integer = integer->get();
    } else if (const auto* real = node.as_floating_point()) {
        raw.form = Raw::Form::real;
        raw.text = fmt::format("{}", real->get());
    } else if (const auto* boolean = node.as_boolean()) {
        raw.form = Raw::Form::boolean;
        raw.boolean = boolean->get();
    } else {
        raw.form = Raw::Form::moment;
    }
    return raw;
}

// ---- From Raw to the settings ----

class Reader {
  public:
    Reader(const std::string& path, Settings& settings, Locations& locations)
        : path_(path), settings_(settings), locations_(locations) {}

    void read(const Raw& root) {
        for (const auto& [name, value] : root.members) {
            check_section(name, value);
            if (name == "links")
                read_links(value);
            else
                read_section(name, value);
        }
    }

  private:
    Origin at(int line) const {
        return {Origin::Kind::file, fmt::format("{}:{}", base::printable(path_, 512), line)};
    }

    const Schema& schema() const { return settings_.schema(); }

    [[noreturn]] void fail(int line, const std::string& message) const {
        throw ConfigError(at(line).where + ": " + message);
    }

    void check_section(const std::string& name, const Raw& value) const {
        const std::vector<std::string_view> sections = schema().sections();
        const bool known = std::find(sections.begin(), sections.end(), name) != sections.end();
        const bool table = value.form == Raw::Form::table;
        if (known && table) return;
        if (known)
            fail(value.line,
                 fmt::format("{} is {}: expected a table [{}]", name, value.quoted(), name));
        if (!table)
            fail(value.line,
                 fmt::format("unknown key '{}'{}", base::printable(name), schema().suggest(name)));
        if (const auto remedy = schema().why_absent(name); !remedy.empty())
            fail(value.line, fmt::format("unknown table [{}]; {}", base::printable(name), remedy));
        const std::string_view meant = base::nearest(name, sections);
        fail(value.line, fmt::format("unknown table [{}]; {}", base::printable(name),
                                     meant.empty() ? fmt::format("expected one of [{}]",
                                                                 fmt::join(sections, "], ["))
                                                   : fmt::format("did you mean [{}]?", meant)));
    }

    void read_section(const std::string& section, const Raw& members) {
        for (const auto& [name, value] : members.members) {
            const std::string full = section + "." + name;
            const AnySetting* setting = schema().find(full);
            if (!setting)
                fail(value.line, fmt::format("unknown key '{}'{}", base::printable(full),
                                             schema().suggest(full)));
            settings_.assign(*setting, value, at(value.line));
            const bool listed = setting == &setting::hosts || setting == &setting::cables;
            for (std::size_t i = 0; listed && i < value.items.size(); ++i)
                locations_[fmt::format("{}.{}", full, i)] = at(value.items[i].line).where;
        }
    }

    // [links] mixes directions with one table for each host; each of the two is a key of its own.
    void read_links(const Raw& members) {
        Raw common, hosts;
        common.form = hosts.form = Raw::Form::table;
        for (const auto& [name, value] : members.members) {
            Raw& target = value.form == Raw::Form::table ? hosts : common;
            if (target.line == 0) target.line = value.line;
            target.members.push_back({name, value});
            note_places(name, value);
        }
        if (!common.members.empty()) settings_.assign(setting::links, common, at(members.line));
        if (!hosts.members.empty()) settings_.assign(setting::host_links, hosts, at(hosts.line));
    }

    void note_places(const std::string& name, const Raw& value) {
        const std::string where = at(value.line).where;
        if (value.form != Raw::Form::table)
            locations_["links." + name] = where;
        else
            locations_[fmt::format("links.hosts.{}/", name)] = where;
        for (const auto& [direction, device] : value.members)
            locations_[fmt::format("links.hosts.{}/{}", name, direction)] = at(device.line).where;
    }

    const std::string& path_;
    Settings& settings_;
    Locations& locations_;
};

}  // namespace

std::string read_text_file(const std::string& path) {
    // Non-blocking: opening a pipe without a writer must not hang before it is refused.
    const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file.get() < 0) cannot_read(path, std::strerror(errno));
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) cannot_read(path, std::strerror(errno));
    check_regular(path, facts);

    std::string text(std::size_t(facts.st_size) + 1, '\0');  // one more, to notice a file that grew
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) cannot_read(path, std::strerror(errno));
        if (got == 0) break;
        have += std::size_t(got);
    }
    if (have != std::size_t(facts.st_size))
        cannot_read(path, "it changed while it was read; try again");
    text.resize(have);
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        cannot_read(path, "it is empty; expected a TOML file (was it cut short?)");

    return text;
}

void apply_geometry(std::string_view text, const std::string& path, Settings& settings,
                    Locations& locations) {
    check_text(text, path);
    Raw root;
    try {
        root = to_raw(toml::parse(text));
    } catch (const toml::parse_error& error) {
        throw ConfigError(fmt::format("{}:{}: not valid TOML at column {}: {}",
                                      base::printable(path, 512), error.source().begin.line,
                                      error.source().begin.column,
                                      base::printable(error.description(), 200)));
    }
    Reader(path, settings, locations).read(root);
}

}  // namespace torusmp::config
