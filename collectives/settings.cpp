// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/settings.h"

#include <stdexcept>

#include "collectives/operations.h"

namespace torusmp::collectives {
namespace {

config::Type<Choice> choice_among(const AlgorithmTable& table) {
    const auto accepts = config::always(
        "algorithms with size limits, like \"tree<32KiB disjoint\", for all groups or for each "
        "kind "
        "of group: host (on one host), crowded (on one host, more ranks than cores), links (on "
        "several hosts), like \"host: lines; links: tree<32KiB disjoint\"");
    const auto read = [&table](const config::Raw& found) {
        if (!found.is_text()) throw config::Mismatch({}, found.line);
        try {
            return parse_choice(table, found.text, table.defaults());
        } catch (const std::invalid_argument& wrong) {
            throw config::Mismatch(wrong.what(), found.line);
        }
    };
    return {"algorithms", accepts, read,
            [&table](const Choice& choice) { return format_choice(table, choice); }};
}

}  // namespace

const std::vector<const config::Setting<Choice>*>& setting::algorithms() {
    // Never destroyed: a job may be left while the process ends.
    static const auto& all = *[] {
        auto* const settings = new std::vector<const config::Setting<Choice>*>;
        for (const AlgorithmTable* table : operations())
            settings->push_back(new config::Setting<Choice>(table->key(), choice_among(*table),
                                                            table->defaults(), table->help(),
                                                            {.example = table->facts().example}));
        return settings;
    }();
    return all;
}

Policy policy_of(const config::Settings& settings) {
    Policy policy;
    for (std::size_t i = 0; i < operations().size(); ++i)
        policy.choices[operations()[i]] = settings[*setting::algorithms()[i]];
    policy.check = settings[setting::check];
    return policy;
}

}  // namespace torusmp::collectives
