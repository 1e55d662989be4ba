// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/below.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/flows.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/stream.h"
#include "bench/torus_bench/timing.h"
#include "config/options.h"

namespace torusmp::bench {
namespace {

// The windows of this rank in all its flows, at the same time.
class Windows {
  public:
    Windows(const std::vector<Flow>& flows, Messages window) {
        std::vector<Channel> channels;
        // Receives are started first, so that messages find them.
        for (const bool sending : {false, true})
            for (const Flow& flow : flows) {
                if ((sending ? flow.from : flow.to) != rank()) continue;
                buffers_.emplace_back(window.all());
                channels.push_back(
                    window_of(buffers_.back(), window, sending ? flow.to : flow.from, sending));
            }
        if (!channels.empty()) all_.push_back(Channel::together(std::move(channels)));
    }

    Body body() {
        return [this](long times) {
            for (long i = 0; i < times; ++i)
                for (Channel& channel : all_) {
                    channel.start();
                    channel.wait();
                }
        };
    }

  private:
    std::vector<Buffer> buffers_;  // outlive the channels on them
    std::vector<Channel> all_;
};

int choose_node(const Context& context) {
    const std::optional<int> asked = context.options.from;
    if (asked && *asked >= ranks())
        throw config::UsageError(
            fmt::format("--from {}: expected a rank from 0 to {}", *asked, ranks() - 1));
    const int node = asked.value_or(busiest_forwarder(context.torus));
    if (flows_through(context.torus, node).empty())
        throw config::UsageError(fmt::format(
            "forward: no message between two neighbours of rank {} passes through it on a torus "
            "{}: expected a rank between others, for example with --torus 3x3 --set "
            "torus.periodic=false,false",
            node, context.torus.describe()));
    return node;
}

void explain_forwarding(Table& table, const std::vector<Flow>& flows, int node, int window) {
    std::vector<std::string> pairs;
    for (const Flow& flow : flows) pairs.push_back(fmt::format("{} to {}", flow.from, flow.to));
    table.notes = {
        fmt::format("Flows through rank {}, each with its own incoming and outgoing link: {}.",
                    node, fmt::join(pairs, ", ")),
        fmt::format("10^6 bytes of payload per second, {} messages of each flow in flight; the "
                    "node: the sum",
                    window),
        "of what it forwards. Messages of 64 KiB or more may also take paths around it."};
    double direct = 0;
    for (const Flow& flow : flows) direct += flow.from == rank() && reached_directly(flow.to);
    if (sum_over_ranks(direct) > 0) table.notes.emplace_back(nothing_relayed);
}

}  // namespace

Table measure_forward(const Context& context) {
    const int node = choose_node(context);
    const std::vector<Flow> flows = flows_through(context.torus, node);
    Table table;
    table.title =
        fmt::format("Forwarding by rank {} of a torus {}, over {} of its links at the same time",
                    node, context.torus.describe(), links_used(flows));
    table.y_label = "bandwidth, MB/s";
    table.columns = {{"one flow", "alone", "MB/s", Column::Draw::dashes, 1},
                     {"all flows", "a flow", "MB/s", Column::Draw::points, 0},
                     {"all flows", "the node", "MB/s", Column::Draw::line, 0}};
    explain_forwarding(table, flows, node, context.options.window);
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        const Messages window{bytes, context.options.window};
        Windows alone({flows.front()}, window), all(flows, window);
        const auto timings = measure_in_turns({alone.body(), all.body()}, context.options.seconds);
        const double payload = double(window.all()) / megabyte;
        table.rows.push_back({bytes,
                              {as_rate(timings[0], payload), as_rate(timings[1], payload),
                               as_rate(timings[1], payload * double(flows.size()))}});
    }
    return table;
}

}  // namespace torusmp::bench
