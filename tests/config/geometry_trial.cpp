// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <string_view>

#include "config/geometry_file.h"
#include "config/load.h"
#include "job/settings.h"
#include "tests/config/fuzz_geometry.h"

using namespace torusmp::config;
using torusmp::job::schema;

namespace torusmp::test {

std::string try_geometry(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Settings settings(schema());
    try {
        Locations locations;
        apply_geometry(text, "fuzz.toml", settings, locations);
        complete(settings, locations);
    } catch (const ConfigError& error) {
        const std::string_view message = error.what();
        if (!message.starts_with("fuzz.toml:")) return "names no file: " + std::string(message);
        const auto control = [](char c) {
            return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
        };
        if (std::any_of(message.begin(), message.end(), control))
            return "prints control characters";
        if (message.size() > 2000) return "is too long to read";
        return {};
    }
    const Settings rank = load_for_rank(schema(), {}, export_environment(settings));
    return rank == settings ? std::string() : "is not the same in a rank";
}

}  // namespace torusmp::test
