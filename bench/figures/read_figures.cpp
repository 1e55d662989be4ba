// SPDX-License-Identifier: BSD-3-Clause
#include "bench/figures/read_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "base/json.h"

namespace torusmp::bench {

namespace {

using base::Json;

Figure figure_of(const Json& json) {
    const auto number = [](const Json& value) {
        return value.is(Json::Kind::number) ? value.number : NAN;
    };
    Figure figure;
    const Json* const median = json.find("median");
    const Json* const best = json.find("best");
    figure.value = median != nullptr ? number(*median) : NAN;
    figure.best = best != nullptr ? number(*best) : NAN;
    for (const Json& sample : recorded_member(json, "samples", Json::Kind::list).items)
        figure.samples.push_back(number(sample));
    if (const Json* const calls = json.find("calls")) figure.calls = long(calls->number);
    return figure;
}

Column column_of(const Json& json) {
    Column column{recorded_text(json, "group"), recorded_text(json, "name"),
                  recorded_text(json, "unit")};
    const std::string draw = recorded_text(json, "draw");
    using Draw = Column::Draw;
    for (const Draw known : {Draw::line, Draw::dashes, Draw::points})
        if (name_of(known) == draw) column.draw = known;
    column.colour = int(recorded_member(json, "colour", Json::Kind::number).number);
    column.count = recorded_member(json, "count", Json::Kind::boolean).boolean;
    return column;
}

Row row_of(const Json& json, const std::string& key, std::size_t columns) {
    Row row;
    row.bytes = std::size_t(recorded_member(json, "x", Json::Kind::number).number);
    row.beside = recorded_member(json, "beside", Json::Kind::boolean).boolean;
    if (const Json* name = json.find(key); name != nullptr && name->is(Json::Kind::text))
        row.label = name->text;
    for (const Json& figure : recorded_member(json, "figures", Json::Kind::list).items)
        row.figures.push_back(figure_of(figure));
    if (row.figures.size() != columns)
        throw std::runtime_error(fmt::format("a row of {} figures: expected {}, one per column",
                                             row.figures.size(), columns));
    return row;
}

Fact fact_of(const std::string& name, const Json& value) {
    switch (value.kind) {
        case Json::Kind::number:
            return {name, fmt::format("{:g}", value.number), true};
        case Json::Kind::boolean:
            return {name, value.boolean ? "true" : "false", true};
        default:
            return {name, value.text};
    }
}

LinkTraffic traffic_of(const Json& json) {
    const auto count = [&](std::string_view name) {
        return recorded_member(json, name, Json::Kind::number).number;
    };
    return {int(count("rank")),
            recorded_text(json, "direction"),
            recorded_text(json, "device"),
            int(count("peer")),
            std::uint64_t(count("bytes_sent")),
            std::uint64_t(count("bytes_received")),
            std::uint64_t(count("packets_sent"))};
}

LinkRate rate_of(const Json& json) {
    const auto number = [&](std::string_view name) {
        return recorded_member(json, name, Json::Kind::number).number;
    };
    return {int(number("receiver")), int(number("sender")), recorded_text(json, "direction"),
            number("rate")};
}

}  // namespace

const Json& recorded_member(const Json& object, std::string_view name, Json::Kind kind,
                            std::string_view by) {
    const Json* found = object.find(name);
    if (found == nullptr || !found->is(kind))
        throw std::runtime_error(
            fmt::format("\"{}\" is missing or has another type: expected a file written by this "
                        "version of {}",
                        name, by));
    return *found;
}

std::string recorded_text(const Json& object, std::string_view name, std::string_view by) {
    return recorded_member(object, name, Json::Kind::text, by).text;
}

Recorded recorded_of(const Json& json) {
    Recorded recorded;
    recorded.command = recorded_text(json, "command");
    for (const auto& [name, value] : recorded_member(json, "ran_on", Json::Kind::object).members)
        recorded.facts.push_back(fact_of(name, value));
    Table& table = recorded.table;
    table.title = recorded_text(json, "title");
    table.key = recorded_text(json, "key");
    table.x_label = recorded_text(json, "x_label");
    table.y_label = recorded_text(json, "y_label");
    table.linear = recorded_member(json, "linear", Json::Kind::boolean).boolean;
    for (const Json& level : recorded_member(json, "levels", Json::Kind::list).items)
        table.levels.push_back({recorded_text(level, "name"), recorded_text(level, "unit"),
                                recorded_member(level, "value", Json::Kind::number).number,
                                int(recorded_member(level, "colour", Json::Kind::number).number)});
    for (const Json& column : recorded_member(json, "columns", Json::Kind::list).items)
        table.columns.push_back(column_of(column));
    for (const Json& row : recorded_member(json, "rows", Json::Kind::list).items)
        table.rows.push_back(row_of(row, table.key, table.columns.size()));
    for (const Json& note : recorded_member(json, "notes", Json::Kind::list).items)
        table.notes.push_back(note.text);
    // Older files do not have link rates.
    if (const Json* rates = json.find("link_rates"))
        for (const Json& rate : rates->items) table.link_rates.push_back(rate_of(rate));
    if (const Json* links = json.find("links"))
        for (const Json& link : links->items) recorded.links.push_back(traffic_of(link));
    return recorded;
}

Recorded read_figures(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file))
        throw std::runtime_error(fmt::format("cannot read {}", file));
    try {
        return recorded_of(base::parse_json(std::string{std::istreambuf_iterator<char>(in), {}}));
    } catch (const std::runtime_error& wrong) {
        throw std::runtime_error(fmt::format("{}: {}", file, wrong.what()));
    }
}

Table overlay(const std::vector<std::string>& files, const std::vector<Recorded>& recorded) {
    Table all = recorded.front().table;
    if (recorded.size() == 1) return all;
    all.columns.clear();
    all.rows.clear();
    all.levels.clear();
    std::map<std::pair<std::size_t, bool>, Row> rows;  // by number, exact ones apart
    int colour = 0;
    for (std::size_t i = 0; i < recorded.size(); ++i) {
        const Table& table = recorded[i].table;
        if (table.key != all.key)
            throw std::runtime_error(fmt::format("{} has rows by {}, {} by {}: expected the same",
                                                 files[0], all.key, files[i], table.key));
        const std::string name = std::filesystem::path(files[i]).stem();
        for (const Level& level : table.levels) {
            all.levels.push_back(level);
            all.levels.back().name = name + ": " + level.name;
        }
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            Column column = table.columns[c];
            column.group = column.group.empty() ? name : name + ": " + column.group;
            if (column.draw != Column::Draw::no) column.colour = colour++;
            all.columns.push_back(column);
            for (const Row& row : table.rows) {
                Row& merged = rows[{row.bytes, row.beside}];
                merged.bytes = row.bytes;
                merged.beside = row.beside;
                merged.figures.resize(all.columns.size(), Figure{NAN, NAN, {}});
                merged.figures[all.columns.size() - 1] = row.figures[c];
            }
        }
    }
    for (auto& [at, row] : rows) {
        row.figures.resize(all.columns.size(), Figure{NAN, NAN, {}});
        all.rows.push_back(std::move(row));
    }
    return all;
}

}  // namespace torusmp::bench
