// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/below.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/raw_socket.h"
#include "bench/torus_bench/stream.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

// For each distance from rank 0, starting at 1, the first rank at that distance.
std::vector<int> partners(const routing::Torus& torus) {
    std::vector<int> by_distance;
    for (int wanted = 1;; ++wanted) {
        int found = -1;
        for (int other = 1; other < torus.size() && found < 0; ++other)
            if (torus.distance(0, other) == wanted) found = other;
        if (found < 0) return by_distance;
        by_distance.push_back(found);
    }
}

// The time that each further link adds: the slope of a linear fit over all distances.
double slope(const std::vector<double>& times) {
    const double n = double(times.size());
    double sx = 0, sxx = 0, sy = 0, sxy = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
        const double x = double(i + 1);
        sx += x, sxx += x * x, sy += times[i], sxy += x * times[i];
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

Figure relative_to(const Figure& first, const Figure& figure) {
    const double percent = 100 * figure.value / first.value;
    return {percent, 100 * figure.best / first.best, {percent}};
}

void explain(Table& table, std::size_t small, Messages window, int farthest) {
    table.notes = {
        fmt::format("Half trip: of {}. Further hop: difference to the previous distance.",
                    base::format_size(small)),
        fmt::format("One way: {} messages of {} in flight, 10^6 bytes per second, also in percent "
                    "of one hop.",
                    window.count, base::format_size(window.bytes))};
    std::vector<double> times;
    for (const Row& row : table.rows) times.push_back(row.figures[0].value);
    if (times.size() > 1)
        table.notes.push_back(
            fmt::format("A hop costs {} us according to a linear fit over all distances.",
                        shorten(slope(times))));
    if (reached_directly(farthest)) table.notes.emplace_back(nothing_relayed);
}

}  // namespace

Table measure_relay(const Context& context) {
    const std::vector<int> others = partners(context.torus);
    if (others.empty())
        throw std::runtime_error(
            "one rank has no partner: start more ranks, for example with "
            "--torus 7");
    const std::size_t small = context.options.sizes.front();
    const Messages window{context.options.sizes.back(), context.options.window};
    Table table;
    table.key = "hops";
    table.title = fmt::format("Relay: from rank 0 over 1 to {} links of a torus {}", others.size(),
                              context.torus.describe());
    table.x_label = "links from rank 0";
    table.linear = true;
    table.columns = {{"", "half trip", "us", Column::Draw::line, 0},
                     {"", "further hop", "us", Column::Draw::no, 1},
                     {"", "one way", "MB/s", Column::Draw::line, 2},
                     {"", "of one hop", "%", Column::Draw::no, 3}};
    context.progress.expect(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
        context.progress.step(fmt::format("{} hops", i + 1));
        const Pair pair = pair_with(context, others[i]);
        const auto trips = measure_round_trips(pair, {}, false, small, context.options.seconds);
        const Buffer data(pair.role < 0 ? 0 : window.all());
        OneWay stream(pair, data, window);
        const Timing streamed = measure(stream.body(), context.options.seconds);
        const Figure time = as_time(trips[0], 0.5e6);
        const Figure rate = as_rate(streamed, double(window.all()) / 1e6);
        Figure more = time;
        if (i > 0) {
            more.value -= table.rows.back().figures[0].value;
            more.best -= table.rows.back().figures[0].best;
            more.samples = {more.value};
        }
        const Figure share = relative_to(i > 0 ? table.rows[0].figures[2] : rate, rate);
        table.rows.push_back({i + 1, {time, more, rate, share}});
    }
    explain(table, small, window, others.back());
    return table;
}

}  // namespace torusmp::bench
