// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bench/report/peers.h"

namespace torusmp::bench {
namespace {

// A column of torusmp, and the names of the same measure in compare-peers.
struct Place {
    std::size_t column;
    std::string kind;
};

std::vector<Place> places_of(const Table& table, std::string_view command) {
    std::vector<Place> places;
    const bool collectives = command == "collectives";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        if (collectives && (c == 0 || table.columns[c - 1].group != column.group))
            places.push_back({c, column.group});
        else if (places.empty() && command == "latency" && column.name == "median")
            places.push_back({c, "latency"});
        else if (places.empty() && command == "bandwidth" && column.name == "ping-pong")
            places.push_back({c, "pingpong"});
    }
    return places;
}

// Names of measures are made of words: "here.sum.4KiB".
bool has_word(std::string_view label, std::string_view word) {
    const std::string_view name = label.substr(0, label.find(','));
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size());
        if (name.substr(at, end - at) == word) return true;
        at = end + 1;
    }
    return false;
}

const Row* row_of_peers(const Table& peers, const std::string& kind, std::size_t bytes) {
    for (const Row& row : peers.rows)
        if (row.bytes == bytes && has_word(row.label, kind)) return &row;
    return nullptr;
}

std::vector<std::size_t> libraries_in(const Table& peers) {
    std::vector<std::size_t> columns;
    for (std::size_t c = 1; c < peers.columns.size(); ++c)
        if (peers.columns[c].group == "figure" && peers.columns[c].name != "bare sockets")
            columns.push_back(c);
    return columns;
}

// Adds a row for each size that only the others have.
void add_their_sizes(Table& table, const Table& peers, const std::vector<Place>& places) {
    const Figure none{NAN, NAN, {}};
    for (const Row& theirs : peers.rows) {
        const bool wanted = std::any_of(places.begin(), places.end(), [&](const Place& place) {
            return has_word(theirs.label, place.kind);
        });
        const bool there = std::any_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
            return row.bytes == theirs.bytes && !row.beside;
        });
        if (wanted && !there)
            table.rows.push_back({theirs.bytes, std::vector<Figure>(table.columns.size(), none)});
    }
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [](const Row& a, const Row& b) { return a.bytes < b.bytes; });
}

Figure to_best(const Figure& ours, const std::vector<Figure>& theirs, bool time) {
    double best = NAN;
    for (const Figure& figure : theirs)
        if (std::isfinite(figure.value))
            best = std::isfinite(best) && (time ? best < figure.value : best > figure.value)
                       ? best
                       : figure.value;
    const double ratio = time ? ours.value / best : best / ours.value;
    return {ratio, ratio, std::isfinite(ratio) ? std::vector{ratio} : std::vector<double>{}};
}

// Inserts a column after the columns of its group. Returns the number of figures.
std::size_t put_behind(Table& table, const Place& place, const Table& peers,
                       const std::vector<std::size_t>& libraries, bool in_group) {
    const Column ours = table.columns[place.column];
    std::size_t end = place.column;
    while (end < table.columns.size() && table.columns[end].group == ours.group) ++end;
    std::vector<Column> columns;
    int mark = ours.colour;
    for (const std::size_t library : libraries) {
        const std::string& name = peers.columns[library].name;
        columns.push_back({in_group ? ours.group : name, in_group ? name : ours.name, ours.unit,
                           Column::Draw::dashes, mark += paints});
    }
    columns.push_back({in_group ? ours.group : "", "to best", "", Column::Draw::no, ours.colour});
    table.columns.insert(table.columns.begin() + std::ptrdiff_t(end), columns.begin(),
                         columns.end());
    std::size_t count = 0;
    for (Row& row : table.rows) {
        const Row* const theirs = row.beside ? nullptr : row_of_peers(peers, place.kind, row.bytes);
        std::vector<Figure> figures;
        for (const std::size_t library : libraries) {
            figures.push_back(theirs != nullptr ? theirs->figures[library] : Figure{NAN, NAN, {}});
            count += !figures.back().samples.empty();
        }
        figures.push_back(to_best(row.figures[place.column], figures, ours.unit == "us"));
        row.figures.insert(row.figures.begin() + std::ptrdiff_t(end), figures.begin(),
                           figures.end());
    }
    return count;
}

}  // namespace

std::size_t put_beside(Table& table, std::string_view command, const Table& peers) {
    std::vector<Place> places = places_of(table, command);
    const auto unknown = [&](const Place& place) {
        return std::none_of(peers.rows.begin(), peers.rows.end(),
                            [&](const Row& row) { return has_word(row.label, place.kind); });
    };
    places.erase(std::remove_if(places.begin(), places.end(), unknown), places.end());
    const std::vector<std::size_t> libraries = libraries_in(peers);
    if (places.empty() || libraries.empty()) return 0;
    add_their_sizes(table, peers, places);
    std::size_t count = 0;
    // From last to first, because an insertion moves the columns after it.
    for (auto place = places.rbegin(); place != places.rend(); ++place)
        count += put_behind(table, *place, peers, libraries, command == "collectives");
    std::vector<std::string> names;
    for (const std::size_t library : libraries) names.push_back(peers.columns[library].name);
    table.notes.push_back(
        fmt::format("{}: measured by compare-peers, not in turns with torusmp. To best: time of "
                    "torusmp divided by the",
                    fmt::join(names, ", ")));
    table.notes.emplace_back("best time of the others; below 1, torusmp is faster.");
    return count;
}

}  // namespace torusmp::bench
