// SPDX-License-Identifier: BSD-3-Clause
#include "routing/walks.h"

#include <algorithm>

namespace torusmp::routing {

namespace {

Coordinates sum(const Coordinates& a, const Coordinates& b) {
    Coordinates result{};
    for (int d = 0; d < max_dimensions; ++d) result[d] = a[d] + b[d];
    return result;
}

Coordinates place(const Piece& piece, int index) {
    Coordinates result{};
    result[piece.dimension] = index * piece.weight;
    return result;
}

Walk straight(const Piece& piece) {
    Walk walk;
    for (int i = 0; i < piece.extent; ++i) walk.push_back(place(piece, i));
    return walk;
}

// Out over the even places and back over the odd ones: a ring on an open line, no step above two.
Walk folded(const Piece& piece) {
    Walk walk;
    for (int i = 0; i < piece.extent; i += 2) walk.push_back(place(piece, i));
    for (int i = piece.extent - 1 - piece.extent % 2; i > 0; i -= 2) {
        walk.push_back(place(piece, i));
    }
    return walk;
}

// Every column of a row, then the next row backwards: each step is a step of one of the two.
Walk snake(const Walk& rows, const Walk& columns) {
    Walk walk;
    walk.reserve(rows.size() * columns.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            walk.push_back(sum(rows[r], columns[r % 2 == 0 ? c : columns.size() - 1 - c]));
        }
    }
    return walk;
}

// Lighter pieces turn faster, because the fastest takes nearly all the steps.
Walk snake_over(std::vector<Piece> pieces) {
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.weight > b.weight; });
    Walk walk{Coordinates{}};
    for (const Piece& piece : pieces) walk = snake(walk, straight(piece));
    return walk;
}

// A Hamiltonian cycle: a snake down all columns but the first, and back up the first. The snake
// ends beside the first column if the number of rows is even, or if the columns close on
// themselves.
Walk ring_around(const Walk& columns, const Walk& rows) {
    const Walk others(columns.begin() + 1, columns.end());
    Walk walk{sum(rows.front(), columns.front())};
    const Walk down = snake(rows, others);
    walk.insert(walk.end(), down.begin(), down.end());
    for (std::size_t r = rows.size() - 1; r > 0; --r) walk.push_back(sum(rows[r], columns[0]));
    return walk;
}

bool closes(const Piece& column, int rows) {
    return column.closed || column.extent == 2 || rows % 2 == 0;
}

// A box of odd by odd places without wraparound has no Hamiltonian cycle (as on a chessboard, one
// colour is one place short). This ring has the smallest defect, a single diagonal step: a cycle
// over all rows but the last, whose final row dips into the omitted one, two columns at a time.
Walk nearly_ring(const Walk& columns, const Walk& rows) {
    const std::size_t last = rows.size() - 1, m = columns.size();
    const auto at = [&](std::size_t r, std::size_t c) { return sum(rows[r], columns[c]); };
    Walk walk{at(0, 0)};
    for (std::size_t r = 0; r + 1 < last; ++r) {
        for (std::size_t c = 1; c < m; ++c) walk.push_back(at(r, r % 2 == 0 ? c : m - c));
    }
    for (std::size_t c = m - 1; c >= 2; c -= 2) {
        for (auto [r, k] : {std::pair{last - 1, c}, {last, c}, {last, c - 1}, {last - 1, c - 1}}) {
            walk.push_back(at(r, k));
        }
    }
    walk.push_back(at(last, 0));
    for (std::size_t r = last - 1; r > 0; --r) walk.push_back(at(r, 0));
    return walk;
}

}  // namespace

std::vector<Walk> candidate_walks(std::span<const Piece> pieces, bool ring) {
    const std::vector<Piece> all(pieces.begin(), pieces.end());
    int places = 1;
    for (const Piece& piece : all) places *= piece.extent;
    if (!ring || places <= 2) return {snake_over(all)};
    if (all.size() == 1) return {all[0].closed ? straight(all[0]) : folded(all[0])};

    const auto without = [&](std::size_t column) {
        std::vector<Piece> rest = all;
        rest.erase(rest.begin() + std::ptrdiff_t(column));
        return snake_over(rest);
    };
    std::vector<Walk> walks;
    for (std::size_t c = 0; c < all.size(); ++c) {
        if (!closes(all[c], places / all[c].extent)) continue;
        walks.push_back(ring_around(straight(all[c]), without(c)));
    }
    if (!walks.empty()) return walks;
    for (std::size_t c = 0; c < all.size(); ++c) {
        walks.push_back(nearly_ring(straight(all[c]), without(c)));
    }
    return walks;
}

}  // namespace torusmp::routing
