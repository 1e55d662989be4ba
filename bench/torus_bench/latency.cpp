#include <fmt/format.h>

#include <optional>

#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"
#include "config/units.h"

namespace torusmp::bench {
namespace {

Timing round_trip(const Pair& pair, std::size_t bytes, double seconds) {
    if (pair.role < 0) return measure([](long) {}, seconds);
    const Buffer out(bytes), in(bytes);
    Channel send = Channel::send_to(out, 0, bytes, pair.other);
    Channel receive = Channel::receive_from(in, 0, bytes, pair.other);
    return measure(round_trips(pair, &send, &receive), seconds);
}

}  // namespace

Table measure_latency(const Context& context) {
    const Pair pair = choose_pair(context);
    Table table;
    table.title = fmt::format("Latency: half a round trip between {}", describe(pair));
    table.y_label = "half a round trip, us";
    table.columns = {{"", "median", "us", Column::Draw::line, 0},
                     {"", "fastest", "us", Column::Draw::dashes, 0}};
    table.notes = {"Of several repetitions of many round trips each."};
    for (const std::size_t bytes : context.options.sizes) {
        context.progress(config::format_size(bytes));
        const Timing timing = round_trip(pair, bytes, context.options.seconds);
        const Figure figure = as_time(timing, 0.5e6);
        table.rows.push_back({bytes, {figure, {figure.best, figure.best, figure.samples}}});
    }
    return table;
}

}  // namespace torusmp::bench
