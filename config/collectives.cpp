#include "config/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/text.h"
#include "base/units.h"
#include "config/raw.h"

namespace torusmp::config {
namespace {

using Names = std::array<std::string_view, 5>;  // empty ones at the end

struct Facts {
    Names names;
    std::string_view defaults;
};

// Sizes are those of the whole vector for broadcast, the reductions, allgather and scan, and of one
// block for alltoall; scatter and gather have none, as nobody but the root knows all blocks.
// docs/benchmarks.md says how the limits were measured.
constexpr std::array<Facts, 9> facts{{
    {{"lines", "scatter", "tree", "disjoint"},
     "host: lines<128KiB scatter; crowded: lines<128KiB scatter; links: tree<32KiB disjoint"},
    {{"lines", "tree", "disjoint"}, "host: lines; crowded: lines; links: tree<32KiB disjoint"},
    {{"exchange", "star", "lines", "scatter", "disjoint"},
     "host: exchange<2KiB lines<32KiB scatter; crowded: star<72B lines<32KiB scatter; links: "
     "exchange<2KiB lines<32KiB disjoint"},
    {{"optimal", "apart"}, "host: apart; crowded: apart; links: optimal"},
    {{"optimal", "apart"}, "host: apart; crowded: apart; links: optimal"},
    {{"rings", "lines", "everyone", "star"},
     "host: lines; crowded: star<16KiB lines; links: lines<64KiB rings"},
    {{"rings", "lines", "ordered", "tree"},
     "host: lines; crowded: tree<8KiB lines; links: lines<64KiB rings"},
    {{"rings", "lines", "pairs"},
     "host: lines<4KiB pairs; crowded: lines<4KiB pairs; links: rings<1MiB pairs"},
    {{"lines", "doubling", "star", "chain"},
     "host: lines<4KiB doubling; crowded: chain; links: doubling<16KiB lines"},
}};

constexpr std::array<std::string_view, situations> situation_names{"host", "crowded", "links"};

const Facts& facts_of(Collective collective) {
    return facts[std::size_t(collective)];
}

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

FormTable::Entry parse_entry(Collective collective, std::string_view word, bool last) {
    const std::size_t less = word.find('<');
    const std::string_view name = word.substr(0, less);
    const auto names = form_names(collective);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        throw std::invalid_argument(fmt::format("'{}' is no form of it; expected one of {}",
                                                base::printable(name), fmt::join(names, ", ")));
    FormTable::Entry entry{int(found - names.begin()) + 1, std::size_t(-1)};
    if (less == std::string_view::npos) {
        if (!last)
            throw std::invalid_argument(fmt::format(
                "'{}' has no limit, so what follows is never taken; expected one like {}<16KiB",
                base::printable(name), base::printable(name)));
        return entry;
    }
    const auto below = base::parse_size(word.substr(less + 1));
    if (!below)
        throw std::invalid_argument(fmt::format("'{}' is no size; expected one like 16KiB",
                                                base::printable(word.substr(less + 1))));
    if (last)
        throw std::invalid_argument(
            fmt::format("the last form, '{}', has a limit, so nothing is left for larger ones",
                        base::printable(word)));
    entry.below = std::size_t(*below);
    return entry;
}

std::vector<FormTable::Entry> parse_entries(Collective collective, std::string_view text) {
    const auto words = words_of(text, ' ');
    if (words.empty()) throw std::invalid_argument("a situation without a form");
    const bool sized = collective != Collective::scatter && collective != Collective::gather;
    if (!sized && words.size() > 1)
        throw std::invalid_argument(
            "only the root knows all sizes of a scatter or gather, so they take one form");
    std::vector<FormTable::Entry> entries;
    for (const std::string_view word : words) {
        entries.push_back(parse_entry(collective, word, word.data() == words.back().data()));
        if (entries.size() > 1 && entries.back().below <= entries[entries.size() - 2].below)
            throw std::invalid_argument(
                fmt::format("the limit of '{}' is not above that before", base::printable(word)));
    }
    return entries;
}

void parse_into(FormTable& table, Collective collective, std::string_view text) {
    const auto parts = words_of(text, ';');
    if (parts.empty()) throw std::invalid_argument("it is empty");
    for (const std::string_view part : parts) {
        const std::size_t colon = part.find(':');
        if (colon == std::string_view::npos) {
            table.entries.fill(parse_entries(collective, part));
            continue;
        }
        const std::string_view name = part.substr(0, colon);
        const auto found = std::find(situation_names.begin(), situation_names.end(), name);
        if (found == situation_names.end())
            throw std::invalid_argument(fmt::format("'{}' is no situation; expected one of {}",
                                                    name, fmt::join(situation_names, ", ")));
        table.entries[std::size_t(found - situation_names.begin())] =
            parse_entries(collective, part.substr(colon + 1));
    }
}

}  // namespace

std::span<const std::string_view> form_names(Collective collective) {
    const Names& names = facts_of(collective).names;
    const auto end = std::find(names.begin(), names.end(), std::string_view());
    return {names.data(), std::size_t(end - names.begin())};
}

const CollectivePolicy& default_policy() {
    static const CollectivePolicy policy = [] {
        CollectivePolicy all;
        for (std::size_t i = 0; i < all.forms.size(); ++i)
            parse_into(all.forms[i], Collective(i), facts[i].defaults);
        return all;
    }();
    return policy;
}

const FormTable& default_forms(Collective collective) {
    return default_policy().forms[std::size_t(collective)];
}

FormTable parse_forms(Collective collective, std::string_view text) {
    FormTable table = default_forms(collective);
    parse_into(table, collective, text);
    return table;
}

std::string format_forms(Collective collective, const FormTable& table) {
    std::string text;
    for (std::size_t s = 0; s < table.entries.size(); ++s) {
        text += fmt::format("{}{}:", text.empty() ? "" : "; ", situation_names[s]);
        for (const FormTable::Entry& entry : table.entries[s]) {
            text += fmt::format(" {}", form_names(collective)[std::size_t(entry.form - 1)]);
            if (&entry != &table.entries[s].back())
                text += fmt::format("<{}", base::format_size(entry.below));
        }
    }
    return text;
}

Type<FormTable> forms_type(Collective collective) {
    const auto accepts = [] {
        return std::string(
            "forms with limits, like \"tree<32KiB disjoint\", each situation (host, crowded, "
            "links) with its own if need be: \"host: lines; links: tree<32KiB disjoint\"");
    };
    const auto read = [collective](const Raw& found) {
        if (!found.is_text()) throw Mismatch({}, found.line);
        try {
            return parse_forms(collective, found.text);
        } catch (const std::invalid_argument& wrong) {
            throw Mismatch(wrong.what(), found.line);
        }
    };
    return {"forms", accepts, read,
            [collective](const FormTable& forms) { return format_forms(collective, forms); }};
}

}  // namespace torusmp::config
