// SPDX-License-Identifier: BSD-3-Clause
// The algorithms of one operation, one row each: settings, help, torus-info, torus-bench and the
// tests take their names from here.
//
// Created once (a static of the operation's table.cpp) and immutable; any thread may read it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/algorithm/algorithm.h"
#include "collectives/algorithm/choice.h"
#include "collectives/area/area.h"
#include "collectives/group/operation.h"

namespace torusmp::collectives {

// The conditions that decide whether an algorithm fits a call; the same on all members.
struct Conditions {
    const Group& group;
    std::size_t bytes = 0;    // as the operation counts them, see AlgorithmTable::Facts
    bool commutative = true;  // operands of a reduction may be combined in any order
    bool whole = false;       // a reduction needs all elements in one call
    bool even = true;         // all blocks have the same size
    // The largest contents that a member would leave in an area, if known, and the largest that it
    // could leave. 0 without an area.
    std::size_t share = 0;
    std::size_t room = 0;
};

// The conditions of a reduction.
inline Conditions conditions_of(const Group& group, std::size_t bytes, const Operation& operation) {
    return {.group = group,
            .bytes = bytes,
            .commutative = operation.commutative,
            .whole = operation.whole,
            .share = bytes};
}

// Predicates for the rows.
inline bool commutes(const Conditions& c) {
    return c.commutative;
}
inline bool has_parts(const Conditions& c) {
    return !c.whole;
}
inline bool commutes_in_parts(const Conditions& c) {
    return c.commutative && !c.whole;
}
// With two members another algorithm is shorter.
inline bool more_than_two(const Conditions& c) {
    return c.group.size() != 2;
}

// Small enough for the area.
inline bool fits_area(const Conditions& c) {
    return c.room != 0 && c.share <= c.room;
}

// For algorithms in which one member adds all contributions: with a core for each of more than two
// members, other algorithms add in parallel.
inline bool adds_little(const Conditions& c) {
    constexpr std::size_t little = 512 * 1024;
    return !more_than_two(c) || c.group.situation() == Situation::crowded ||
           c.share <= Area::short_bytes || c.share <= little / std::size_t(c.group.size() - 1);
}

struct AlgorithmRow {
    std::string_view name;  // as in settings and options
    std::string_view help;  // one line without a full stop
    // Whether the algorithm gives the right result (applies), and whether it is useful if it was
    // not requested by name (pays). Null if it always pays.
    bool (*applies)(const Conditions&) = nullptr;
    bool (*pays)(const Conditions&) = nullptr;
    std::string_view instead{};  // the row to try next if this one does not fit
    bool area = false;           // goes through the area, so it waits until there is one
};

// The algorithm that goes through the area.
inline AlgorithmRow area_row(std::string_view help, std::string_view instead,
                             bool (*pays)(const Conditions&) = nullptr) {
    return {.name = "area",
            .help = help,
            .applies = fits_area,
            .pays = pays,
            .instead = instead,
            .area = true};
}

class AlgorithmTable {
  public:
    struct Facts {
        std::string_view operation;  // "broadcast"
        std::string_view help;       // a sentence, with the size that counts
        std::string_view defaults;   // as the setting's value; docs/benchmarks.md has the figures
        std::string_view example;
        bool sized = true;  // false if members do not know each other's sizes, so the choice cannot
                            // depend on size
    };

    std::string_view operation() const { return facts_.operation; }
    // The key of its setting: "collectives.broadcast".
    const std::string& key() const { return key_; }
    const Facts& facts() const { return facts_; }
    std::span<const AlgorithmRow> rows() const { return rows_; }
    const Choice& defaults() const { return defaults_; }
    const Choice& choice_of(const Policy& policy) const;
    // The full help text of the operation and of each row, in sentences.
    const std::string& help() const { return help_; }
    // The names, separated by commas.
    std::string names() const;
    // Throws std::invalid_argument that lists the names.
    const AlgorithmRow& row(std::string_view name) const;
    // Throws std::invalid_argument if the row belongs to another table.
    int index_of(const AlgorithmRow& row) const;

    // The first row, from `row` on, that fits. `asked` means that `row` was requested by name.
    int fitting(int row, bool asked, const Conditions& conditions) const {
        return instead_[std::size_t(row)] < 0 ? row : first_fitting(row, asked, conditions);
    }

    // Traces that a call takes that row.
    void trace_choice(const Conditions& conditions, int row) const;

  protected:
    // Throws std::invalid_argument if a row's `instead` does not name another row.
    AlgorithmTable(const Facts& facts, std::vector<AlgorithmRow> rows);
    ~AlgorithmTable() = default;
    AlgorithmTable(const AlgorithmTable&) = delete;
    AlgorithmTable& operator=(const AlgorithmTable&) = delete;

  private:
    int first_fitting(int row, bool asked, const Conditions& conditions) const;

    Facts facts_;
    std::vector<AlgorithmRow> rows_;
    std::vector<int> instead_;  // by row; -1 if it always fits
    std::string key_;
    std::string help_;
    Choice defaults_;
};

// A table that also holds the factories of the algorithms, for calls with these arguments.
template <class Arguments>
class AlgorithmsFor final : public AlgorithmTable {
  public:
    using Row = std::pair<AlgorithmRow, AlgorithmMaker<Arguments>>;
    AlgorithmsFor(const Facts& facts, const std::vector<Row>& rows)
        : AlgorithmTable(facts, rows_of(rows)) {
        for (const Row& row : rows) makers_.push_back(row.second);
    }
    std::unique_ptr<Algorithm> make(int row, Messages& messages, const Arguments& arguments) const {
        return makers_[std::size_t(row)](messages, arguments);
    }

  private:
    static std::vector<AlgorithmRow> rows_of(const std::vector<Row>& rows) {
        std::vector<AlgorithmRow> all;
        for (const Row& row : rows) all.push_back(row.first);
        return all;
    }
    std::vector<std::remove_const_t<AlgorithmMaker<Arguments>>> makers_;
};

}  // namespace torusmp::collectives
