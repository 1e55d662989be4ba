// Which algorithm of a collective is taken, by where its ranks are and by size: what a setting
// says, in one line.
//
// "host: lines<128KiB scatter; crowded: lines; links: tree<32KiB disjoint". Without a situation in
// front, algorithms hold for all; what is not named keeps its default. Plain values; any thread may
// read them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
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

// Throws std::invalid_argument that says what was found and what was expected. base: what holds
// where the text says nothing.
Choice parse_choice(const AlgorithmTable& table, std::string_view text, Choice base);
std::string format_choice(const AlgorithmTable& table, const Choice& choice);

}  // namespace torusmp::collectives
