// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/raw_socket.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {

std::vector<Timing> measure_round_trips(const Pair& pair, std::span<RawSocket> sockets, bool raw,
                                        std::size_t bytes, double seconds) {
    const Buffer out(pair.role < 0 ? 0 : bytes), in(pair.role < 0 ? 0 : bytes);
    std::optional<Channel> send, receive;
    if (pair.role >= 0) {
        send = Channel::send_to(out, 0, bytes, pair.other);
        receive = Channel::receive_from(in, 0, bytes, pair.other);
    }
    std::vector<Body> bodies = {
        round_trips(pair, send ? &*send : nullptr, receive ? &*receive : nullptr)};
    if (raw) bodies.push_back(raw_round_trips(pair, sockets, out.data(), in.data(), bytes));
    return measure_in_turns(bodies, seconds);
}

namespace {

Figure best_of(const Figure& figure) {
    return {figure.best, figure.best, figure.samples};
}

}  // namespace

Table measure_latency(const Context& context) {
    const Pair pair = choose_pair(context);
    const bool raw = context.options.raw;
    Table table;
    table.title = fmt::format("Latency: half a round trip between {}", describe(pair));
    table.y_label = "half a round trip, us";
    const char* const ours = raw ? "torusmp" : "";
    table.columns = {{ours, "median", "us", Column::Draw::line, 0},
                     {ours, "fastest", "us", Column::Draw::dashes, 0}};
    table.notes = {"Of several repetitions of many round trips each."};
    std::vector<RawSocket> sockets;
    if (raw) {
        table.columns.push_back({"bare socket", "median", "us", Column::Draw::line, 1});
        table.columns.push_back({"bare socket", "fastest", "us", Column::Draw::dashes, 1});
        table.columns.push_back({"", "ratio", "", Column::Draw::no, 2});
        table.notes.push_back(
            "Ratio: of the times, torusmp's to the bare socket's. A bare socket "
            "sends a byte where the size is 0.");
        sockets = open_raw_links(context, link_of(context, pair));
    }
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        const auto timings =
            measure_round_trips(pair, sockets, raw, bytes, context.options.seconds);
        Row row{bytes, {}};
        for (const Timing& timing : timings) {
            row.figures.push_back(as_time(timing, 0.5e6));
            row.figures.push_back(best_of(row.figures.back()));
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
