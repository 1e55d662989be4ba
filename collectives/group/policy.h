// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms the collectives of a job take, by size and by where the ranks are.
//
// Plain values; any thread may read them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace torusmp::collectives {

class AlgorithmTable;

// Where the ranks of a group are.
enum class Situation {
    host,     // all on one host, a core for each
    crowded,  // all on one host, more ranks than cores
    links     // they talk over links
};
inline constexpr int situations = 3;

// The choice for one operation; choice.h says how it is written.
struct Choice {
    struct Entry {
        int row = 0;            // of the operation's table
        std::size_t below = 0;  // bytes; the last entry has no limit
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    std::array<std::vector<Entry>, situations> entries;

    int pick(Situation situation, std::size_t bytes) const {
        const std::vector<Entry>& choices = entries[std::size_t(situation)];
        std::size_t i = 0;
        while (i + 1 < choices.size() && bytes >= choices[i].below) ++i;
        return choices[i].row;
    }
    friend bool operator==(const Choice&, const Choice&) = default;
};

struct Policy {
    std::map<const AlgorithmTable*, Choice> choices;  // those left out go by their defaults
    bool check = false;  // members compare what they call, before each collective
};
// The policy where the settings say nothing.
const Policy& default_policy();

}  // namespace torusmp::collectives
