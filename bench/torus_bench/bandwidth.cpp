// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/raw_socket.h"
#include "bench/torus_bench/stream.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

// One of the three patterns of load on the pair, through QMP and, with --raw, over a bare socket.
struct Load {
    double amount;  // MB moved each time
    std::vector<Timing> timings;
};

class PairLoad {
  public:
    PairLoad(const Pair& pair, std::span<RawSocket> sockets, bool raw, Messages window,
             double seconds)
        : pair_(pair),
          sockets_(sockets),
          raw_(raw),
          window_(window),
          seconds_(seconds),
          out_(pair.role < 0 ? 0 : window.all()),
          in_(pair.role < 0 ? 0 : window.all()) {}

    std::vector<Load> measure_all() { return {ping_pong(), one_way(), both_ways()}; }

  private:
    Load in_turns(double amount, const Body& ours, const Body& bare) {
        std::vector<Body> bodies = {ours};
        if (raw_) bodies.push_back(bare);
        return {amount / megabyte, measure_in_turns(bodies, seconds_)};
    }

    Load ping_pong() {
        const std::size_t bytes = window_.bytes;
        const Body bare =
            raw_ ? raw_round_trips(pair_, sockets_, out_.data(), in_.data(), bytes) : Body{};
        if (pair_.role < 0)
            return in_turns(2 * double(bytes), round_trips(pair_, nullptr, nullptr), bare);
        Channel send = Channel::send_to(out_, 0, bytes, pair_.other);
        Channel receive = Channel::receive_from(in_, 0, bytes, pair_.other);
        return in_turns(2 * double(bytes), round_trips(pair_, &send, &receive), bare);
    }

    Load one_way() {
        OneWay ours(pair_, pair_.role == 0 ? out_ : in_, window_);
        return in_turns(
            double(window_.all()), ours.body(),
            raw_ ? raw_one_way(pair_, sockets_, pair_.role == 0 ? out_ : in_, window_) : Body{});
    }

    // The rate counts both directions.
    Load both_ways() {
        BothWays ours(pair_, out_, in_, window_);
        return in_turns(2 * double(window_.all()), ours.body(),
                        raw_ ? raw_both_ways(pair_, sockets_, out_, in_, window_) : Body{});
    }

    Pair pair_;
    std::span<RawSocket> sockets_;
    bool raw_;
    Messages window_;
    double seconds_;
    Buffer out_;
    Buffer in_;
};

std::vector<Column> columns_for(bool raw) {
    std::vector<Column> columns;
    const char* const ways[] = {"ping-pong", "one way", "both ways"};
    for (int i = 0; i < 3; ++i)
        columns.push_back({raw ? "torusmp" : "", ways[i], "MB/s", Column::Draw::line, i});
    for (int i = 0; i < 3 && raw; ++i)
        columns.push_back({"bare socket", ways[i], "MB/s", Column::Draw::dashes, i});
    for (int i = 0; i < 3 && raw; ++i)
        columns.push_back({"ratio", ways[i], "", Column::Draw::no, i});
    return columns;
}

std::vector<Figure> figures_of(const std::vector<Load>& loads, bool raw) {
    std::vector<Figure> figures;
    for (const Load& load : loads) figures.push_back(as_rate(load.timings[0], load.amount));
    if (!raw) return figures;
    for (const Load& load : loads) figures.push_back(as_rate(load.timings[1], load.amount));
    for (const Load& load : loads)
        figures.push_back(as_time_ratio(load.timings[0], load.timings[1]));
    return figures;
}

}  // namespace

Table measure_bandwidth(const Context& context) {
    const Pair pair = choose_pair(context);
    const bool raw = context.options.raw;
    const int window = context.options.window;
    Table table;
    table.title = fmt::format("Bandwidth between {}", describe(pair));
    table.y_label = "bandwidth, MB/s";
    table.columns = columns_for(raw);
    table.notes = {fmt::format("MB/s: 10^6 bytes of payload per second. One way and both ways: {} "
                               "messages in flight in each direction;",
                               window),
                   "both ways is the sum of the two directions. Buffers are memory that the "
                   "library",
                   "allocates for messages (QMP_allocate_memory)."};
    if (raw) table.notes.emplace_back(ratio_note);
    std::vector<RawSocket> sockets;
    if (raw && raw_over_loopback()) table.notes.emplace_back(loopback_note);
    if (raw) sockets = open_raw_links(context, link_of(context, pair));
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        PairLoad load(pair, sockets, raw, {bytes, window}, context.options.seconds);
        table.rows.push_back({bytes, figures_of(load.measure_all(), raw)});
    }
    return table;
}

}  // namespace torusmp::bench
