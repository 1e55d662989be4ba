// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "base/json.h"

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

// The ratio of times, ours divided by the other's. `more` means that higher figures are better.
Figure ratio_of(const Figure& ours, const Figure& other, bool more) {
    const double ratio = more ? other.value / ours.value : ours.value / other.value;
    return {ratio, ratio, std::isfinite(ratio) ? std::vector{ratio} : std::vector<double>{}};
}

std::string text_in(const Json& object, std::string_view name) {
    const Json* const found = object.find(name);
    return found != nullptr ? found->text : "";
}

// The argument of the measure's program: "sum:4096".
struct Test {
    std::string_view kind;
    std::size_t bytes = 0;
};
Test test_of(std::string_view text) {
    Test test{text.substr(0, text.find(':'))};
    if (test.kind.size() < text.size())
        std::from_chars(text.data() + test.kind.size() + 1, text.data() + text.size(), test.bytes);
    return test;
}

bool is_like(const Json& measure, const PeerJob& job) {
    const std::string program = text_in(measure, "program"), test = text_in(measure, "test");
    const Json* const links = measure.find("links");
    const Json* const ranks = measure.find("ranks");
    if (links == nullptr || links->boolean != job.links || ranks == nullptr) return false;
    if (program == "collectives") return ranks->number == job.ranks;
    const std::string_view kind = test_of(test).kind;
    return program == "exchange" && (kind == "latency" || kind == "pingpong");
}

// Short names, "Open MPI 4.1.4" or "MPICH 4.0.2", from the libraries' version texts.
std::string short_label(std::string label) {
    for (const std::string_view word : {" Version:", " v"})
        if (const auto at = label.find(word); at != std::string::npos)
            label.replace(at, word.size(), word == " v" ? " " : "");
    return label;
}

// Without a peer, figures cannot be compared.
void drop_absent(Table& table) {
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
}

Recorded peers_of(const Json& json, const std::optional<PeerJob>& job) {
    const Json& measures =
        recorded_member(json, "measures", Json::Kind::list, "compare-peers --json");
    Recorded recorded{"compare-peers", {}, {}, {}};
    Table& table = recorded.table;
    table.key = dots_key;
    table.title = "torusmp beside others";
    table.y_label =
        "time of torusmp divided by the time of the other: left of 1, torusmp is "
        "faster";
    table.notes = {std::string(ratio_note)};
    table.levels = {{"equal", "", 1, 6}};
    const Json* const labels = json.find("libraries");
    const auto label = [&](std::string_view library) {
        const std::string text = labels == nullptr ? "" : text_in(*labels, library);
        return text.empty() ? std::string(library) : short_label(text);
    };
    for (const std::string_view library : libraries)
        table.columns.push_back({"figure", library == "ours" ? "torusmp" : label(library), ""});
    for (std::size_t i = 1; i < libraries.size(); ++i)
        table.columns.push_back(
            {"ratio", label(libraries[i]), "", Column::Draw::points, int(i) - 1});
    for (const Json& measure : measures.items) {
        if (job && !is_like(measure, *job)) continue;
        Row row;
        row.label =
            fmt::format("{}, {}", text_in(measure, "name"), unit_text(text_in(measure, "unit")));
        const std::string test = text_in(measure, "test");
        row.bytes = test_of(test).bytes;
        for (const std::string_view library : libraries)
            row.figures.push_back(samples_of(measure, library));
        const Json* const more = measure.find("more_is_better");
        for (std::size_t i = 1; i < libraries.size(); ++i)
            row.figures.push_back(
                ratio_of(row.figures[0], row.figures[i], more != nullptr && more->boolean));
        table.rows.push_back(std::move(row));
    }
    drop_absent(table);
    if (const Json* const failures = json.find("failures"))
        for (const Json& failure : failures->items) {
            const std::string message = text_in(failure, "message");
            table.notes.push_back(
                fmt::format("{} failed, from {} on: {}", label(text_in(failure, "library")),
                            text_in(failure, "measure"), message.substr(0, message.find('\n'))));
        }
    return recorded;
}

}  // namespace

Recorded read_peers(const std::string& file, const std::optional<PeerJob>& job) {
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file))
        throw std::runtime_error(fmt::format("cannot read {}", file));
    try {
        return peers_of(base::parse_json(std::string{std::istreambuf_iterator<char>(in), {}}), job);
    } catch (const std::runtime_error& wrong) {
        throw std::runtime_error(fmt::format("{}: {}", file, wrong.what()));
    }
}

}  // namespace torusmp::bench
