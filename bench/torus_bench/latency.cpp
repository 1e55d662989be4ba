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

// The round trips of a pair with messages of one size, ours and, with `raw`, those of a bare
// socket.
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

// Half of each round trip by itself, in us: the time that so many per cent do not exceed. Made of
// the bodies that were timed, as often as they were.
constexpr std::array<std::pair<const char*, double>, 3> percentiles = {
    {{"50 %", 0.5}, {"99 %", 0.99}, {"99.9 %", 0.999}}};

// The least value that this share of them does not exceed.
double quantile(std::vector<double>& values, double share) {
    const auto at = std::size_t(std::ceil(share * double(values.size()))) - 1;
    const auto place = values.begin() + std::ptrdiff_t(std::min(at, values.size() - 1));
    std::nth_element(values.begin(), place, values.end());
    return *place;
}

std::vector<Figure> percentiles_of(const Pair& pair, const Body& body, const Timing& timing) {
    using Clock = std::chrono::steady_clock;
    std::vector<Figure> figures(percentiles.size());
    std::vector<double> all, told;
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
            told.push_back(pair.role == 0 ? quantile(trips, share) : 0);
    }
    for (const auto& [name, share] : percentiles)
        told.push_back(pair.role == 0 ? quantile(all, share) : 0);
    sum_over_ranks(told);  // rank 0 alone has looked at its clock
    for (std::size_t i = 0; i < told.size(); ++i) {
        Figure& figure = figures[i % percentiles.size()];
        if (i + percentiles.size() < told.size())
            figure.samples.push_back(told[i]);
        else
            figure.value = told[i];
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
        "Of several repetitions of many round trips each; 50, 99 and 99.9 %: so many of "
        "the trips,",
        "each timed by itself, took no longer."};
    std::vector<RawSocket> sockets;
    if (raw) {
        add_columns(table.columns, "bare socket", 1);
        table.columns.push_back({"", "ratio", "", Column::Draw::no, 2});
        table.notes.push_back(
            "Ratio: of the times, torusmp's to the bare socket's. A bare socket "
            "sends a byte where the size is 0.");
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

// As NetPIPE does: powers of two and a few bytes beside them, so that a jump between two protocols
// or at a page's end shows.
Table measure_sweep(const Context& context) {
    const Pair pair = choose_pair(context);
    const bool raw = context.options.raw;
    Table table;
    table.title = fmt::format("Sweep of sizes: ping-pong between {}", describe(pair));
    table.y_label = "bandwidth, MB/s";
    const char* const ours = raw ? "torusmp" : "";
    table.columns = {{ours, "half trip", "us", Column::Draw::line, 0},
                     {ours, "bandwidth", "MB/s", Column::Draw::line, 0}};
    table.notes = {"Half a round trip, and the size divided by it; MB/s: 10^6 bytes a second."};
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
