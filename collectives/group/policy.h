// SPDX-License-Identifier: BSD-3-Clause
// The choice of algorithms for the collectives of a job, by size and by situation of the ranks.
//
// Plain values; any thread may read them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace torusmp::collectives {

class AlgorithmTable;

// The situation of the ranks of a group.
enum class Situation {
    host,     // all on one host, a core for each
    crowded,  // all on one host, more ranks than cores
    links     // connected over links
};
inline constexpr int situations = 3;

// The choice for one operation; choice.h describes the text form.
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
    std::map<const AlgorithmTable*, Choice> choices;  // operations without an entry use their
                                                      // defaults
    bool check = false;  // members compare their calls before each collective
};
// The policy used if the settings do not choose.
const Policy& default_policy();

}  // namespace torusmp::collectives
