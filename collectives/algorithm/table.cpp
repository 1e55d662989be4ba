// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/assert.h"
#include "base/text.h"
#include "base/trace.h"

namespace torusmp::collectives {

AlgorithmTable::AlgorithmTable(const Facts& facts, std::vector<AlgorithmRow> rows)
    : facts_(facts),
      rows_(std::move(rows)),
      key_(fmt::format("collectives.{}", facts.operation)),
      help_(facts.help) {
    for (const AlgorithmRow& each : rows_) {
        const bool always = each.applies == nullptr && each.pays == nullptr;
        help_ += fmt::format(" {}: {}.", each.name, each.help);
        instead_.push_back(always ? -1 : index_of(row(each.instead)));
    }
    // Following `instead` from row to row must lead to a row that always fits.
    for (int at : instead_) {
        std::size_t steps = 0;
        for (; at >= 0 && steps <= rows_.size(); ++steps) at = instead_[std::size_t(at)];
        if (at >= 0)
            throw std::invalid_argument(
                fmt::format("{}: rows stand for each other in a circle", facts.operation));
    }
    defaults_ = parse_choice(*this, facts.defaults, {});
}

std::string AlgorithmTable::names() const {
    std::string text;
    for (const AlgorithmRow& row : rows_)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", row.name);
    return text;
}

const AlgorithmRow& AlgorithmTable::row(std::string_view name) const {
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const AlgorithmRow& row) { return row.name == name; });
    if (found == rows_.end())
        throw std::invalid_argument(fmt::format("'{}' is not an algorithm of {} (expected {})",
                                                base::printable(name), operation(), names()));
    return *found;
}

int AlgorithmTable::index_of(const AlgorithmRow& row) const {
    for (std::size_t i = 0; i < rows_.size(); ++i)
        if (&rows_[i] == &row) return int(i);
    throw std::invalid_argument(
        fmt::format("'{}' is an algorithm of another operation than {}", row.name, operation()));
}

const Choice& AlgorithmTable::choice_of(const Policy& policy) const {
    const auto found = policy.choices.find(this);
    return found == policy.choices.end() ? defaults_ : found->second;
}

void AlgorithmTable::trace_choice(const Conditions& conditions, int row) const {
    TORUSMP_TRACE(collective, debug, conditions.group.runtime().rank(),
                  "{} of {} B with {} members: {}", operation(), conditions.bytes,
                  conditions.group.size(), rows_[std::size_t(row)].name);
}

int AlgorithmTable::first_fitting(int row, bool asked, const Conditions& conditions) const {
    for (;; row = instead_[std::size_t(row)], asked = false) {
        TORUSMP_ASSERT(row >= 0 && std::size_t(row) < rows_.size(), operation(), row, rows_.size());
        const AlgorithmRow& candidate = rows_[std::size_t(row)];
        if (candidate.applies != nullptr && !candidate.applies(conditions)) continue;
        if (asked || candidate.pays == nullptr || candidate.pays(conditions)) return row;
    }
}

}  // namespace torusmp::collectives
