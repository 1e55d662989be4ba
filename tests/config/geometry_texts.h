// SPDX-License-Identifier: BSD-3-Clause
// Geometry files as texts, with the values they contain or the errors they cause.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/load.h"
#include "job/settings.h"
#include "tests/config/temporary.h"

namespace torusmp::config::testing {

inline Settings read(const std::string& text, const std::vector<std::string>& environment = {}) {
    const test::TemporaryFolder folder;
    LoadRequest request;
    request.file = folder.write("geometry.toml", text);
    return load(job::schema(), request, environment);
}

// The message, without the path in front of "geometry.toml"; empty: it was accepted.
inline std::string refusal(const std::string& text) {
    try {
        read(text);
    } catch (const ConfigError& error) {
        const std::string message = error.what();
        CHECK(message.find('\n') == std::string::npos);
        const std::size_t name = message.find("geometry.toml");
        return name == std::string::npos ? message : message.substr(name);
    }
    return {};
}

struct BadFile {
    std::string text;
    std::string start;                // file and line
    std::vector<std::string> pieces;  // found, expected, advice
};

inline void check_refused(const std::vector<BadFile>& files) {
    for (const BadFile& bad : files) {
        CAPTURE(bad.text);
        const std::string message = refusal(bad.text);
        CHECK_THAT(message, Catch::Matchers::StartsWith(bad.start));
        for (const std::string& piece : bad.pieces)
            CHECK_THAT(message, Catch::Matchers::Contains(piece));
    }
}

}  // namespace torusmp::config::testing
