// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/raw_socket.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {

namespace {

// Round trips of a pair with messages of one size, through QMP and, with `raw`, over a bare socket.
class RoundTrips {
  public:
    RoundTrips(const Pair& pair, std::span<RawSocket> sockets, bool raw, std::size_t bytes)
        : out_(pair.role < 0 ? 0 : bytes), in_(pair.role < 0 ? 0 : bytes) {
        if (pair.role >= 0) {
            send_ = Channel::send_to(out_, 0, bytes, pair.other);
            receive_ = Channel::receive_from(in_, 0, bytes, pair.other);
        }
        bodies_ = {round_trips(pair, send_ ? &*send_ : nullptr, receive_ ? &*receive_ : nullptr)};
        if (raw) bodies_.push_back(raw_round_trips(pair, sockets, out_.data(), in_.data(), bytes));
    }
    RoundTrips(const RoundTrips&) = delete;
    RoundTrips& operator=(const RoundTrips&) = delete;

    const std::vector<Body>& bodies() const { return bodies_; }

  private:
    Buffer out_, in_;
    std::optional<Channel> send_, receive_;
    std::vector<Body> bodies_;
};

}  // namespace

std::vector<Timing> measure_round_trips(const Pair& pair, std::span<RawSocket> sockets, bool raw,
                                        std::size_t bytes, double seconds) {
    return measure_in_turns(RoundTrips(pair, sockets, raw, bytes).bodies(), seconds);
}

namespace {

Figure best_of(const Figure& figure) {
    return {figure.best, figure.best, figure.samples};
}

// Percentiles of half round trips in us, each timed separately. Uses the same bodies and counts as
// the measurement.
constexpr std::array<std::pair<const char*, double>, 3> percentiles = {
    {{"50 %", 0.5}, {"99 %", 0.99}, {"99.9 %", 0.999}}};

// The least value that this share of the times does not exceed.
double quantile(std::vector<double>& values, double share) {
    const auto at = std::size_t(std::ceil(share * double(values.size()))) - 1;
    const auto place = values.begin() + std::ptrdiff_t(std::min(at, values.size() - 1));
    std::nth_element(values.begin(), place, values.end());
    return *place;
}

std::vector<Figure> percentiles_of(const Pair& pair, const Body& body, const Timing& timing) {
    using Clock = std::chrono::steady_clock;
    std::vector<Figure> figures(percentiles.size());
    std::vector<double> all, values;
    for (std::size_t repetition = 0; repetition < timing.seconds.size(); ++repetition) {
        std::vector<double> trips;
        barrier();
        for (long i = 0; i < timing.times; ++i) {
            const auto start = Clock::now();
            body(1);
            const std::chrono::duration<double> elapsed = Clock::now() - start;
            if (pair.role == 0) trips.push_back(elapsed.count() * 0.5e6);
        }
        all.insert(all.end(), trips.begin(), trips.end());
        for (const auto& [name, share] : percentiles)
            values.push_back(pair.role == 0 ? quantile(trips, share) : 0);
    }
    for (const auto& [name, share] : percentiles)
        values.push_back(pair.role == 0 ? quantile(all, share) : 0);
    sum_over_ranks(values);  // only rank 0 has measured
    for (std::size_t i = 0; i < values.size(); ++i) {
        Figure& figure = figures[i % percentiles.size()];
        if (i + percentiles.size() < values.size())
            figure.samples.push_back(values[i]);
        else
            figure.value = values[i];
    }
    for (Figure& figure : figures)
        figure.best = *std::min_element(figure.samples.begin(), figure.samples.end());
    return figures;
}

void add_columns(std::vector<Column>& columns, const std::string& group, int colour) {
    columns.push_back({group, "median", "us", Column::Draw::line, colour});
    columns.push_back({group, "fastest", "us", Column::Draw::dashes, colour});
    for (const auto& [name, share] : percentiles)
        columns.push_back({group, name, "us", Column::Draw::no, colour});
}

}  // namespace

Table measure_latency(const Context& context) {
    const Pair pair = choose_pair(context);
    const bool raw = context.options.raw;
    Table table;
    table.title = fmt::format("Latency: half a round trip between {}", describe(pair));
    table.y_label = "half a round trip, us";
    add_columns(table.columns, raw ? "torusmp" : "", 0);
    table.notes = {
        "Over several repetitions of many round trips each. 50, 99 and 99.9 %: percentiles of",
        "round trips that are timed one by one."};
    std::vector<RawSocket> sockets;
    if (raw) {
        add_columns(table.columns, "bare socket", 1);
        table.columns.push_back({"", "ratio", "", Column::Draw::no, 2});
        table.notes.push_back(
            "Ratio: time of torusmp divided by the time of the bare socket, which sends one byte "
            "if the size is 0.");
        if (raw_over_loopback()) table.notes.emplace_back(loopback_note);
        sockets = open_raw_links(context, link_of(context, pair));
    }
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        RoundTrips trips(pair, sockets, raw, bytes);
        const auto timings = measure_in_turns(trips.bodies(), context.options.seconds);
        Row row{bytes, {}};
        for (std::size_t i = 0; i < timings.size(); ++i) {
            row.figures.push_back(as_time(timings[i], 0.5e6));
            row.figures.push_back(best_of(row.figures.back()));
            for (Figure& figure : percentiles_of(pair, trips.bodies()[i], timings[i]))
                row.figures.push_back(std::move(figure));
        }
        if (raw) row.figures.push_back(as_time_ratio(timings[0], timings[1]));
        table.rows.push_back(std::move(row));
    }
    return table;
}

// As in NetPIPE: powers of two and sizes a few bytes away from them, to show jumps between two
// protocols or at the end of a page.
Table measure_sweep(const Context& context) {
    const Pair pair = choose_pair(context);
    const bool raw = context.options.raw;
    Table table;
    table.title = fmt::format("Sweep of sizes: ping-pong between {}", describe(pair));
    table.y_label = "bandwidth, MB/s";
    const char* const ours = raw ? "torusmp" : "";
    table.columns = {{ours, "half trip", "us", Column::Draw::line, 0},
                     {ours, "bandwidth", "MB/s", Column::Draw::line, 0}};
    table.notes = {
        "Half of a round trip, and the size divided by it; MB/s: 10^6 bytes per second."};
    std::vector<RawSocket> sockets;
    if (raw) {
        table.columns.push_back({"bare socket", "half trip", "us", Column::Draw::line, 1});
        table.columns.push_back({"bare socket", "bandwidth", "MB/s", Column::Draw::line, 1});
        table.columns.push_back({"", "ratio", "", Column::Draw::no, 2});
        table.notes.emplace_back(ratio_note);
        if (raw_over_loopback()) table.notes.emplace_back(loopback_note);
        sockets = open_raw_links(context, link_of(context, pair));
    }
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        const auto timings =
            measure_round_trips(pair, sockets, raw, bytes, context.options.seconds);
        const auto& exact = context.options.exact;
        Row row{bytes, {}};
        row.beside = !std::binary_search(exact.begin(), exact.end(), bytes);
        for (const Timing& timing : timings) {
            row.figures.push_back(as_time(timing, 0.5e6));
            row.figures.push_back(as_rate(timing, 2 * double(bytes) / 1e6));
        }
        if (raw) row.figures.push_back(as_time_ratio(timings[0], timings[1]));
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace torusmp::bench
