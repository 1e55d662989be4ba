// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>

#include "base/json.h"
#include "bench/predict/command.h"
#include "bench/predict/model.h"

namespace torusmp::bench {
namespace {

using base::Json;

constexpr double header_bytes = 106;  // a header of 40, one frame's 66
// Messages up to this size use one packet, mostly in one frame.
constexpr double most_of_latency = 4096;

// The medians of one column by size.
struct FitCurve {
    std::vector<std::pair<double, double>> points;
};

class MeasuredFile {
  public:
    explicit MeasuredFile(const std::string& name) : name_(name) {
        std::ifstream in(name, std::ios::binary);
        if (!in) throw std::runtime_error(fmt::format("cannot read {}", name));
        try {
            file_ = base::parse_json(std::string{std::istreambuf_iterator<char>(in), {}});
        } catch (const std::runtime_error& wrong) {
            throw std::runtime_error(fmt::format("{}: {}", name, wrong.what()));
        }
        const Json* tool = file_.find("tool");
        const Json* command = file_.find("command");
        if (tool == nullptr || tool->text != "torus-bench" || command == nullptr)
            throw std::runtime_error(
                fmt::format("{}: expected a file written by torus-bench --json", name));
        command_ = command->text;
    }

    const std::string& command() const { return command_; }

    // `key` is the key of the rows. Columns are found by name; those of bare sockets are ignored.
    FitCurve curve(std::string_view column, std::string_view key) const {
        const Json* columns = file_.find("columns");
        const Json* rows = file_.find("rows");
        if (columns == nullptr || rows == nullptr) fail(column);
        std::size_t at = 0;
        const auto wanted = [&](const Json& it) {
            return it.find("name") != nullptr && it.find("name")->text == column &&
                   it.find("group")->text != "bare socket" && it.find("group")->text != "ratio";
        };
        while (at < columns->items.size() && !wanted(columns->items[at])) ++at;
        if (at == columns->items.size()) fail(column);
        FitCurve curve;
        for (const Json& row : rows->items) {
            const Json* x = row.find(key);
            const Json* figures = row.find("figures");
            if (x == nullptr || figures == nullptr || at >= figures->items.size()) fail(column);
            const Json* y = figures->items[at].find("median");
            if (y != nullptr && y->is(Json::Kind::number))
                curve.points.emplace_back(x->number, y->number);
        }
        if (curve.points.empty()) fail(column);
        return curve;
    }

  private:
    [[noreturn]] void fail(std::string_view column) const {
        throw std::runtime_error(
            fmt::format("{}: expected a table with a column \"{}\"", name_, column));
    }

    std::string name_;
    Json file_;
    std::string command_;
};

// Fits y = a + b x by least squares of relative errors, so that small messages count as much as
// large ones.
struct FitLine {
    double at_zero = 0, slope = 0;
};
FitLine line_through(const FitCurve& curve, double most) {
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [bytes, time] : curve.points) {
        if (bytes > most || time <= 0) continue;
        const double weight = 1 / (time * time);
        w += weight, x += weight * bytes, y += weight * time;
        xx += weight * bytes * bytes, xy += weight * bytes * time;
    }
    const double spread = w * xx - x * x;
    if (w == 0) return {};
    if (spread <= 0) return {y / w, 0};
    const double slope = std::max(0.0, (w * xy - x * y) / spread);
    return {(y - slope * x) / w, slope};
}

}  // namespace

std::string fit(const Options& options) {
    std::map<std::string, MeasuredFile> files;
    for (const std::string& name : options.files) {
        MeasuredFile measured(name);
        const std::string command = measured.command();
        if (command != "latency" && command != "bandwidth" && command != "relay")
            throw std::runtime_error(fmt::format(
                "{}: found torus-bench {}, expected latency, bandwidth or relay", name, command));
        files.emplace(command, std::move(measured));
    }
    for (const char* needed : {"latency", "bandwidth"})
        if (files.count(needed) == 0)
            throw std::runtime_error(
                fmt::format("fit: missing file of torus-bench {}: expected one of latency, one of "
                            "bandwidth, and one of relay if ranks relay",
                            needed));

    Model model;
    model.name = "fitted";
    model.about = "From measurements of torus-bench";
    const auto set = [&](const std::string& key, double value, const std::string& source) {
        const auto& keys = model_keys();
        const auto row = std::find_if(keys.begin(), keys.end(),
                                      [&](const ModelKey& it) { return it.name == key; });
        row->set(model, std::max(0.0, value));
        model.sources[key] = source;
    };

    const FitCurve stream = files.at("bandwidth").curve("one way", "bytes");
    double fastest = 0, smallest = 0;
    for (const auto& [bytes, rate] : stream.points) {
        fastest = std::max(fastest, rate);
        if (smallest == 0) smallest = bytes / rate * 1e3;
    }
    const double gap_per_byte = 1e3 / fastest;
    set("gap_per_byte", gap_per_byte, "bandwidth, one way: the fastest size");
    const FitLine trip =
        line_through(files.at("latency").curve("median", "bytes"), most_of_latency);
    const double whole = trip.at_zero * 1e3;
    // The slower of the two processors determines the rate of the smallest messages.
    const double overhead = std::min(smallest, whole / 2);
    set("send_overhead", overhead, "bandwidth, one way: time of a message of the smallest size");
    set("receive_overhead", overhead, "as send_overhead");
    set("header_bytes", header_bytes, "a header of 40, one frame's 66");
    const double on_link = header_bytes * gap_per_byte;
    set("latency", whole - 2 * overhead - on_link,
        "latency: of an empty message, less both overheads and the header");
    const double copies = std::max(0.0, trip.slope * 1e3 - gap_per_byte);
    set("send_per_byte", copies / 2, "latency: growth by size, less the link's, halved");
    set("receive_per_byte", copies / 2, "as send_per_byte");
    if (files.count("relay") != 0) {
        const FitCurve trips = files.at("relay").curve("half trip", "hops");
        const auto& first = trips.points.front();
        const auto& last = trips.points.back();
        if (last.first > first.first) {
            const double hop = (last.second - first.second) / (last.first - first.first) * 1e3;
            set("forward", hop - model.link.latency - on_link,
                "relay: a hop, less latency and header");
            set("forward_per_byte", copies, "as both copies");
        }
    }
    set("eager_limit", 16384, "the default of transport.eager_limit");
    return as_json(model);
}

}  // namespace torusmp::bench
