// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "base/units.h"
#include "collectives/algorithm/table.h"

namespace torusmp::collectives {
namespace {

using base::printable;

constexpr std::array<std::string_view, situations> situation_names{"host", "crowded", "links"};

std::vector<std::string_view> words_of(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(separator, from), text.size());
        std::string_view word = text.substr(from, to - from);
        while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
        while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
        if (!word.empty()) words.push_back(word);
        from = to + 1;
    }
    return words;
}

Choice::Entry parse_entry(const AlgorithmTable& table, std::string_view word, bool last) {
    const std::size_t less = word.find('<');
    const std::string_view name = word.substr(0, less);
    Choice::Entry entry{table.index_of(table.row(name)), std::size_t(-1)};
    if (less == std::string_view::npos) {
        if (!last)
            throw std::invalid_argument(fmt::format(
                "'{}' has no limit, so the algorithms after it are never used; expected one, for "
                "example {}<16KiB",
                printable(name), printable(name)));
        return entry;
    }
    const auto below = base::parse_size(word.substr(less + 1));
    if (!below)
        throw std::invalid_argument(fmt::format("'{}' is not a size (expected for example 16KiB)",
                                                printable(word.substr(less + 1))));
    if (last)
        throw std::invalid_argument(
            fmt::format("the last algorithm, '{}', has a limit, so larger sizes have no algorithm",
                        printable(word)));
    entry.below = std::size_t(*below);
    return entry;
}

std::vector<Choice::Entry> parse_entries(const AlgorithmTable& table, std::string_view text) {
    const auto words = words_of(text, ' ');
    if (words.empty()) throw std::invalid_argument("a situation without an algorithm");
    if (!table.facts().sized && words.size() > 1)
        throw std::invalid_argument(fmt::format(
            "only the root knows all sizes of a {}, so it needs one algorithm for all sizes",
            table.operation()));
    std::vector<Choice::Entry> entries;
    for (const std::string_view word : words) {
        entries.push_back(parse_entry(table, word, word.data() == words.back().data()));
        if (entries.size() > 1 && entries.back().below <= entries[entries.size() - 2].below)
            throw std::invalid_argument(
                fmt::format("the limit of '{}' is not above the previous limit", printable(word)));
    }
    return entries;
}

}  // namespace

Choice parse_choice(const AlgorithmTable& table, std::string_view text, Choice base) {
    const auto parts = words_of(text, ';');
    if (parts.empty()) throw std::invalid_argument("it is empty");
    for (const std::string_view part : parts) {
        const std::size_t colon = part.find(':');
        if (colon == std::string_view::npos) {
            base.entries.fill(parse_entries(table, part));
            continue;
        }
        const std::string_view name = part.substr(0, colon);
        const auto found = std::find(situation_names.begin(), situation_names.end(), name);
        if (found == situation_names.end())
            throw std::invalid_argument(fmt::format("'{}' is not a kind of group (expected {})",
                                                    printable(name),
                                                    fmt::join(situation_names, ", ")));
        base.entries[std::size_t(found - situation_names.begin())] =
            parse_entries(table, part.substr(colon + 1));
    }
    return base;
}

std::string format_choice(const AlgorithmTable& table, const Choice& choice) {
    std::string text;
    for (std::size_t s = 0; s < choice.entries.size(); ++s) {
        text += fmt::format("{}{}:", text.empty() ? "" : "; ", situation_names[s]);
        for (const Choice::Entry& entry : choice.entries[s]) {
            text += fmt::format(" {}", table.rows()[std::size_t(entry.row)].name);
            if (&entry != &choice.entries[s].back())
                text += fmt::format("<{}", base::format_size(entry.below));
        }
    }
    return text;
}

}  // namespace torusmp::collectives
