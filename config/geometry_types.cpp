// SPDX-License-Identifier: BSD-3-Clause
// Reads and prints the geometry's settings.
#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "config/geometry.h"
#include "config/types.h"

namespace torusmp::config {

namespace {

// ---- Lists with one value per dimension ----

// The items of a list, written [2, 2, 2] in the file and "2,2,2" as text.
std::vector<Raw> read_items(const Raw& found) {
    if (found.form == Raw::Form::list) return found.items;
    if (found.is_words()) return found.split(',');
    throw Mismatch({}, found.line);
}

// The items of a list that may also be "2x2x2" or "2,2,2" as a string or as text.
std::vector<Raw> read_extent_items(const Raw& found) {
    if (!found.is_text()) return read_items(found);
    return found.split(found.text.find('x') == std::string::npos ? ',' : 'x');
}

template <class T>
std::vector<T> read_dimensions(const Raw& found, const std::vector<Raw>& items,
                               const Type<T>& each) {
    if (items.empty() || items.size() > std::size_t(routing::max_dimensions))
        throw Mismatch(fmt::format("it has {} dimensions", items.size()), found.line);
    std::vector<T> values;
    for (std::size_t i = 0; i < items.size(); ++i) {
        try {
            values.push_back(each.read(items[i]));
        } catch (const Mismatch&) {
            throw Mismatch(fmt::format("dimension {} is {}", i, items[i].quoted()), items[i].line);
        }
    }
    return values;
}

template <class T>
std::string format_dimensions(const std::vector<T>& values, const Type<T>& each,
                              const char* between) {
    std::string out;
    for (const T value : values) out += (out.empty() ? "" : between) + each.format(value);
    return out;
}

void check_product(const std::vector<int>& extents) {
    std::int64_t product = 1;
    for (int extent : extents) {
        product *= extent;
        if (product > max_ranks)
            throw Mismatch(fmt::format("the product is more than {}", max_ranks));
    }
}

// ---- Hosts and links ----

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void check_host(const std::string& name, int line) {
    if (!legal_host_name(name))
        throw Mismatch(fmt::format("\"{}\" cannot be the name of a host", base::printable(name)),
                       line);
}

// The kernel allows more characters, but the name becomes part of paths, of commands for ip and of
// patterns for systemd-networkd.
void check_device(const std::string& name, int line) {
    constexpr std::size_t longest = IFNAMSIZ - 1;
    const auto legal = [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
    };
    if (name.empty() || name.size() > longest || !is_letter_or_digit(name[0]) ||
        !std::all_of(name.begin(), name.end(), legal))
        throw Mismatch(fmt::format("\"{}\" cannot be the name of a device, which has 1 to {} "
                                   "letters, digits, \".\", \"-\" or \"_\" and begins with a "
                                   "letter or digit",
                                   base::printable(name), longest),
                       line);
}

void check_direction(const std::string& name, int line) {
    if (name.size() == 2 && name[0] >= '0' && name[0] < '0' + routing::max_dimensions &&
        (name[1] == '+' || name[1] == '-'))
        return;
    throw Mismatch(
        fmt::format("\"{}\" is not a direction (expected \"0+\", \"0-\", \"1+\", ... \"{}-\"",
                    base::printable(name), routing::max_dimensions - 1),
        line);
}

Hosts read_hosts(const Raw& found) {
    // A pattern is expanded once the dimensions are known.
    if (found.is_text() && found.text.find('{') != std::string::npos) return {{}, found.text};
    std::vector<Raw> items{found};  // one name
    if (found.is_words() || found.form == Raw::Form::list) items = read_items(found);
    if (items.empty()) throw Mismatch("the list is empty", found.line);
    Hosts hosts;
    for (const Raw& item : items) {
        if (!item.is_text())
            throw Mismatch(fmt::format("{} is not a name", item.quoted()), item.line);
        check_host(item.text, item.line);
        hosts.names.push_back(item.text);
    }
    return hosts;
}

std::string format_hosts(const Hosts& hosts) {
    return hosts.pattern.empty() ? fmt::format("{}", fmt::join(hosts.names, ",")) : hosts.pattern;
}

// A whole number, or names.
Spares read_spares(const Raw& found) {
    const auto hosts = [&](std::int64_t number) -> Spares {
        if (number < 0 || number > max_ranks)
            throw Mismatch(fmt::format("{} is not from 0 to {}", number, max_ranks), found.line);
        return {int(number), {}};
    };
    if (found.form == Raw::Form::integer) return hosts(found.integer);
    if (found.is_words())
        if (const auto number = base::parse_integer(found.text)) return hosts(*number);
    std::vector<Raw> items{found};
    if (found.is_words() || found.form == Raw::Form::list) items = read_items(found);
    Spares spares;
    for (const Raw& item : items) {
        if (!item.is_text())
            throw Mismatch(fmt::format("{} is not a name", item.quoted()), item.line);
        check_host(item.text, item.line);
        spares.names.push_back(item.text);
    }
    spares.count = int(spares.names.size());
    return spares;
}

std::string format_spares(const Spares& spares) {
    if (spares.count == 0) return {};
    return spares.names.empty() ? std::to_string(spares.count)
                                : fmt::format("{}", fmt::join(spares.names, ","));
}

Cables::End read_end(const Raw& item, std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos)
        throw Mismatch(
            fmt::format("{} does not name a host and a device at each end", item.quoted()),
            item.line);
    Cables::End end{std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
    check_host(end.host, item.line);
    check_device(end.device, item.line);
    return end;
}

// "a eth0 - b eth1"
Cables read_cables(const Raw& found) {
    std::vector<Raw> items{found};
    if (found.is_words() || found.form == Raw::Form::list) items = read_items(found);
    if (items.empty()) throw Mismatch("the list is empty", found.line);
    Cables cables;
    for (const Raw& item : items) {
        const std::size_t dash = item.is_text() ? item.text.find(" - ") : std::string::npos;
        if (dash == std::string::npos)
            throw Mismatch(fmt::format("{} is not a cable", item.quoted()), item.line);
        const std::string_view text = item.text;
        cables.list.push_back(
            {read_end(item, text.substr(0, dash)), read_end(item, text.substr(dash + 3))});
    }
    return cables;
}

std::string format_cables(const Cables& cables) {
    std::string out;
    for (const auto& [one, other] : cables.list)
        out += fmt::format("{}{} {} - {} {}", out.empty() ? "" : ",", one.host, one.device,
                           other.host, other.device);
    return out;
}

void add_link(Links& links, const std::string& direction, const Raw& device) {
    check_direction(direction, device.line);
    if (!device.is_text())
        throw Mismatch(fmt::format("\"{}\" is {}", direction, device.quoted()), device.line);
    check_device(device.text, device.line);
    if (!links.emplace(direction, device.text).second)
        throw Mismatch(fmt::format("\"{}\" is given twice", direction), device.line);
}

Links read_link_table(const Raw& found) {
    Links links;
    for (const auto& [direction, device] : found.members) add_link(links, direction, device);
    return links;
}

// "0+=eth0" split at its "=".
std::pair<std::string, Raw> split_link(const Raw& item) {
    const std::size_t equals = item.text.find('=');
    if (equals == std::string::npos)
        throw Mismatch(fmt::format("{} has no \"=\"", item.quoted()), item.line);
    return {item.text.substr(0, equals),
            Raw::words(std::string_view(item.text).substr(equals + 1))};
}

Links read_links(const Raw& found) {
    Links links;
    if (found.form == Raw::Form::table) {
        links = read_link_table(found);
    } else if (found.is_words()) {
        for (const Raw& item : found.split(',')) {
            const auto [direction, device] = split_link(item);
            add_link(links, direction, device);
        }
    } else {
        throw Mismatch({}, found.line);
    }
    if (links.empty()) throw Mismatch("it is empty", found.line);
    return links;
}

HostLinks read_host_links(const Raw& found) {
    HostLinks hosts;
    if (found.form == Raw::Form::table) {
        for (const auto& [host, table] : found.members) {
            check_host(host, table.line);
            hosts[host] = read_link_table(table);
            if (hosts[host].empty()) throw Mismatch(host + " has no links", table.line);
        }
    } else if (found.is_words()) {
        for (const Raw& item : found.split(',')) {
            const auto [place, device] = split_link(item);
            const std::size_t slash = place.find('/');
            if (slash == std::string::npos)
                throw Mismatch(fmt::format("{} has no \"/\" after the host", item.quoted()));
            check_host(place.substr(0, slash), 0);
            add_link(hosts[place.substr(0, slash)], place.substr(slash + 1), device);
        }
    } else {
        throw Mismatch({}, found.line);
    }
    if (hosts.empty()) throw Mismatch("it is empty", found.line);
    return hosts;
}

std::string format_links(const Links& links, const std::string& prefix) {
    std::string out;
    for (const auto& [direction, device] : links)
        out += fmt::format("{}{}{}={}", out.empty() ? "" : ",", prefix, direction, device);
    return out;
}

std::string format_host_links(const HostLinks& hosts) {
    std::string out;
    for (const auto& [host, links] : hosts) {
        const std::string part = format_links(links, host + "/");
        if (!part.empty()) out += (out.empty() ? "" : ",") + part;
    }
    return out;
}

}  // namespace

bool legal_host_name(std::string_view name) {
    const auto legal = [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
    };
    // Neither an option nor a parent folder.
    return !name.empty() && name.size() <= 255 && name[0] != '-' && name[0] != '.' &&
           std::all_of(name.begin(), name.end(), legal);
}

Type<std::vector<int>> extents_type(std::string_view accepts) {
    const Type<int> extent = integer_between(1, max_ranks);
    return {"list", always(std::string(accepts)),
            [extent](const Raw& found) {
                auto extents = read_dimensions(found, read_extent_items(found), extent);
                check_product(extents);
                return extents;
            },
            [extent](const std::vector<int>& extents) {
                return format_dimensions(extents, extent, "x");
            }};
}

Type<std::vector<bool>> periodic_type() {
    const Type<bool> wraps = boolean();
    return {"list", always("true or false for each dimension, like [true, true, false]"),
            [wraps](const Raw& found) { return read_dimensions(found, read_items(found), wraps); },
            [wraps](const std::vector<bool>& all) { return format_dimensions(all, wraps, ","); }};
}

Type<Cables> cables_type() {
    return {"list",
            always("a list of cables like \"a eth0 - b eth1\", from device eth0 of host a to "
                   "device eth1 of host b"),
            read_cables, format_cables};
}

Type<Hosts> hosts_type() {
    return {"list",
            always("a list of names in rank order, or a pattern over coordinates like "
                   "\"qcd{0}{1}{2}\""),
            read_hosts, format_hosts};
}

Type<Spares> spares_type() {
    return {"number or list", always("a number of hosts, or a list of names from nodes.hosts"),
            read_spares, format_spares};
}

Type<Links> links_type() {
    return {"table", always("a device for each direction, like \"0+\" = \"enp1s0f0\""), read_links,
            [](const Links& links) { return format_links(links, ""); }};
}

Type<HostLinks> host_links_type() {
    return {"table", always("directions and devices of single hosts, like qcd000/0+=enp2s0f0"),
            read_host_links, format_host_links};
}

Type<Forward> forward_type() {
    return choice<Forward>(
        {{"relay", Forward::relay}, {"kernel", Forward::kernel}, {"auto", Forward::automatic}});
}

}  // namespace torusmp::config
