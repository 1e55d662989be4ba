// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/facts_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace torusmp::bench {
namespace {

const std::string& text_of(const std::vector<Fact>& facts, std::string_view name) {
    for (const Fact& fact : facts)
        if (fact.name == name) return fact.text;
    throw std::logic_error(fmt::format("unknown fact '{}'", name));
}

}  // namespace

std::string describe(const std::vector<Fact>& facts) {
    const auto get = [&](std::string_view name) { return text_of(facts, name); };
    std::string text =
        fmt::format("torusmp {}, QMP {}, {}\n", get("version"), get("qmp"), get("date"));
    text += fmt::format("{}, {} cores, {}\n", get("cpu"), get("cores"), get("system"));
    text += fmt::format(
        "{} ranks, torus {}, transport {}{}\n", get("ranks"), get("torus"), get("transport"),
        get("oversubscribed") == "true"
            ? fmt::format("; oversubscribed, {} ranks per core", get("ranks_per_core"))
            : "");
    return text;
}

std::string summarize(const std::vector<Fact>& facts) {
    const auto get = [&](std::string_view name) { return text_of(facts, name); };
    const auto has = [&](std::string_view name) {
        return std::any_of(facts.begin(), facts.end(),
                           [&](const Fact& fact) { return fact.name == name; });
    };
    if (!has("cpu")) return fmt::format("torusmp {}", get("version"));
    // Facts that compare-peers recorded.
    if (!has("torus"))
        return fmt::format("{} cores ({}), {}", get("cores"), get("cpu"), get("system"));
    return fmt::format("{} ranks on {} cores ({}), torus {}, transport {}, torusmp {}",
                       get("ranks"), get("cores"), get("cpu"), get("torus"), get("transport"),
                       get("version"));
}

}  // namespace torusmp::bench
