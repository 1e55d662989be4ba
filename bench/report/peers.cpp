// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/json.h"
#include "bench/figures/svg_parts.h"
#include "bench/report/run.h"

namespace torusmp::bench {
namespace {

using base::Json;

constexpr std::array<std::string_view, 4> libraries = {"ours", "openmpi", "mpich", "raw"};

Figure samples_of(const Json& measure, std::string_view library) {
    const Json* const samples = measure.find("samples");
    const Json* const list = samples == nullptr ? nullptr : samples->find(library);
    Figure figure{NAN, NAN, {}};
    if (list == nullptr || list->items.empty()) return figure;
    for (const Json& sample : list->items) figure.samples.push_back(sample.number);
    std::vector<double> sorted = figure.samples;
    std::sort(sorted.begin(), sorted.end());
    figure.value = sorted[sorted.size() / 2];
    figure.best = sorted.front();
    return figure;
}

// Of the times, ours to the other's; more: figures of which more is better.
Figure ratio_of(const Figure& ours, const Figure& other, bool more) {
    const double ratio = more ? other.value / ours.value : ours.value / other.value;
    return {ratio, ratio, std::isfinite(ratio) ? std::vector{ratio} : std::vector<double>{}};
}

}  // namespace

Recorded read_peers(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    const Json json = base::parse_json(std::string{std::istreambuf_iterator<char>(in), {}});
    const Json* const measures = json.find("measures");
    if (measures == nullptr) throw std::runtime_error("compare-peers wrote no measures");
    Recorded recorded{"compare-peers", {}, {}, {}};
    Table& table = recorded.table;
    table.key = dots_key;
    table.title = "torusmp beside others";
    table.y_label = "time of torusmp over the other's: left of 1, torusmp is ahead";
    table.notes = {std::string(ratio_note)};
    table.levels = {{"equal", "", 1, 6}};
    const Json* const labels = json.find("libraries");
    const auto label = [&](std::string_view library) {
        const Json* const text = labels == nullptr ? nullptr : labels->find(library);
        return text != nullptr && !text->text.empty() ? text->text : std::string(library);
    };
    for (const std::string_view library : libraries)
        table.columns.push_back({"figure", library == "ours" ? "torusmp" : label(library), ""});
    for (std::size_t i = 1; i < libraries.size(); ++i)
        table.columns.push_back(
            {"ratio", label(libraries[i]), "", Column::Draw::points, int(i) - 1});
    for (const Json& measure : measures->items) {
        Row row;
        row.label = fmt::format("{}, {}", measure.find("name")->text, measure.find("unit")->text);
        for (const std::string_view library : libraries)
            row.figures.push_back(samples_of(measure, library));
        const Json* const more = measure.find("more_is_better");
        for (std::size_t i = 1; i < libraries.size(); ++i)
            row.figures.push_back(
                ratio_of(row.figures[0], row.figures[i], more != nullptr && more->boolean));
        table.rows.push_back(std::move(row));
    }
    // Without a peer there is nothing beside ours.
    std::size_t here = libraries.size();
    for (std::size_t i = libraries.size(); i-- > 1;) {
        const bool absent = std::all_of(table.rows.begin(), table.rows.end(), [&](const Row& row) {
            return row.figures[i].samples.empty();
        });
        if (!absent) continue;
        for (const std::size_t c : {here + i - 1, i}) {
            table.columns.erase(table.columns.begin() + std::ptrdiff_t(c));
            for (Row& row : table.rows) row.figures.erase(row.figures.begin() + std::ptrdiff_t(c));
        }
        --here;
    }
    return recorded;
}

}  // namespace torusmp::bench
