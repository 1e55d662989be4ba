// SPDX-License-Identifier: BSD-3-Clause
#include "io/settings.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "config/geometry.h"
#include "config/types.h"

namespace torusmp::io {
namespace {

void add_home(Homes& homes, const std::string& prefix, const config::Raw& host) {
    if (prefix.empty() || prefix[0] != '/' || prefix.find(',') != std::string::npos ||
        prefix.find('=') != std::string::npos)
        throw config::Mismatch(fmt::format("\"{}\" is not an absolute path without \",\" and \"=\"",
                                           base::printable(prefix)),
                               host.line);
    if (!host.is_text() || !config::legal_host_name(host.text))
        throw config::Mismatch(fmt::format("{} cannot be the name of a host", host.quoted()),
                               host.line);
    std::string path = std::filesystem::path(prefix).lexically_normal().string();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (!homes.emplace(path, host.text).second)
        throw config::Mismatch(fmt::format("\"{}\" is given twice", base::printable(path)),
                               host.line);
}

Homes read_homes(const config::Raw& found) {
    Homes homes;
    if (found.form == config::Raw::Form::table) {
        for (const auto& [prefix, host] : found.members) add_home(homes, prefix, host);
    } else if (found.is_words()) {
        for (const config::Raw& item : found.split(',')) {
            const std::size_t equals = item.text.find('=');
            if (equals == std::string::npos)
                throw config::Mismatch(fmt::format("{} has no \"=\"", item.quoted()));
            add_home(homes, item.text.substr(0, equals),
                     config::Raw::words(std::string_view(item.text).substr(equals + 1)));
        }
    } else {
        throw config::Mismatch({}, found.line);
    }
    if (homes.empty()) throw config::Mismatch("it is empty", found.line);
    return homes;
}

std::string format_homes(const Homes& homes) {
    std::string out;
    for (const auto& [prefix, host] : homes)
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", prefix, host);
    return out;
}

}  // namespace

config::Type<Homes> homes_type() {
    return {"table",
            config::always("a host, each, all or auto for each prefix of paths, like \"/home\" = "
                           "\"head\""),
            read_homes, format_homes};
}

Homes::const_iterator home_of(const Homes& homes, const std::string& absolute) {
    const std::string path = std::filesystem::path(absolute).lexically_normal().string();
    auto best = homes.end();
    for (auto it = homes.begin(); it != homes.end(); ++it) {
        const std::string& prefix = it->first;
        const bool below = prefix == "/" || path == prefix || path.starts_with(prefix + '/');
        if (below && (best == homes.end() || prefix.size() > best->first.size())) best = it;
    }
    return best;
}

}  // namespace torusmp::io
