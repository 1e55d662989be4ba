// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "base/units.h"
#include "config/options.h"
#include "config/raw.h"

namespace torusmp::torus_run {
namespace {

using config::UsageError;

constexpr int most_slots = 1 << 20;

// `where` names the option, or the line of the file, for messages.
int parse_slots(const std::string& text, const std::string& where) {
    const auto slots = base::parse_integer(text);
    if (!slots || *slots < 1 || *slots > most_slots)
        throw UsageError(fmt::format("{}: '{}' is not a number of ranks (expected 1 to {})", where,
                                     base::printable(text), most_slots));
    return int(*slots);
}

HostSlots parse_host(const std::string& text, const std::string& where) {
    const std::size_t colon = text.find(':');
    HostSlots host{text.substr(0, colon), 1};
    if (colon != std::string::npos) host.slots = parse_slots(text.substr(colon + 1), where);
    if (host.name.empty())
        throw UsageError(
            fmt::format("{}: missing name of a host (expected NAME or NAME:RANKS)", where));
    return host;
}

void add(std::vector<HostSlots>& hosts, HostSlots host) {
    const auto known = std::find_if(hosts.begin(), hosts.end(), [&](const HostSlots& other) {
        return other.name == host.name;
    });
    if (known == hosts.end())
        hosts.push_back(std::move(host));
    else
        known->slots = std::min(known->slots + host.slots, most_slots);
}

HostSlots parse_line(std::istream& words, const std::string& first, const std::string& where) {
    HostSlots host = parse_host(first, where);
    std::string word;
    while (words >> word) {
        if (word.starts_with("slots="))
            host.slots = parse_slots(word.substr(6), where);
        else if (!word.starts_with("max_slots=") && !word.starts_with("max-slots="))
            throw UsageError(
                fmt::format("{}: unknown word '{}' (expected slots=RANKS after the name of a host)",
                            where, base::printable(word)));
    }
    return host;
}

// The file may be a pipe, so its size is unknown until it is read.
std::string read_text(const std::string& path, const std::string& option) {
    constexpr std::size_t longest = std::size_t(16) << 20, step = 65536;
    const auto refuse = [&](const std::string& why) {
        throw UsageError(fmt::format("{} {}: {}", option, base::printable(path), why));
    };
    std::ifstream file(path);
    if (!file) refuse(fmt::format("cannot read the file: {}", std::strerror(errno)));
    std::string text;
    while (file && text.size() <= longest) {
        const std::size_t before = text.size();
        text.resize(before + step);
        file.read(text.data() + before, step);
        text.resize(before + std::size_t(file.gcount()));
        if (text.find('\0', before) != std::string::npos)
            refuse("is not a text file (expected one host per line)");
    }
    if (text.size() > longest)
        refuse(fmt::format("is larger than {} bytes (expected one host per line)", longest));
    return text;
}

}  // namespace

std::vector<HostSlots> parse_host_list(const std::string& text, const std::string& option) {
    const std::string where = fmt::format("{} {}", option, base::printable(text));
    std::vector<HostSlots> hosts;
    std::istringstream rest(text + ",");
    for (std::string part; std::getline(rest, part, ',');) add(hosts, parse_host(part, where));
    return hosts;
}

std::vector<HostSlots> read_host_file(const std::string& path, const std::string& option) {
    std::istringstream file(read_text(path, option));
    std::vector<HostSlots> hosts;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        std::istringstream words(line.substr(0, line.find('#')));
        std::string name;
        if (words >> name) add(hosts, parse_line(words, name, fmt::format("{}:{}", path, number)));
    }
    if (hosts.empty())
        throw UsageError(fmt::format("{} {}: contains no hosts (expected one host per line)",
                                     option, base::printable(path)));
    return hosts;
}

}  // namespace torusmp::torus_run
