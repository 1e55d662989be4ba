// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/raw_socket.h"
#include "bench/torus_bench/timing.h"
#include "config/options.h"

namespace torusmp::bench {
namespace {

// The directions of this rank that have links, along the first `dimensions` with links.
std::vector<routing::Direction> links_of(const routing::Torus& torus, int self, int dimensions) {
    std::vector<routing::Direction> links;
    for (int d = 0, used = 0; d < torus.dimensions() && used < dimensions; ++d) {
        if (torus.extent(d) == 1) continue;
        ++used;
        for (const int sign : {+1, -1})
            if (torus.neighbour(self, {d, sign})) links.push_back({d, sign});
    }
    return links;
}

int dimensions_with_links(const routing::Torus& torus) {
    int count = 0;
    for (int d = 0; d < torus.dimensions(); ++d) count += torus.extent(d) > 1;
    if (count == 0)
        throw std::runtime_error(
            "one rank has no links: start more ranks, for example with "
            "--torus 2x2x2");
    return count;
}

// The role of a rank in one exchange: the links it sends on, and those it receives on.
struct Part {
    std::vector<routing::Direction> sends, receives;
};

Part part_of(const Context& context, int self, int dimensions) {
    Part part;
    const std::optional<int> from = context.options.from;
    for (const auto& link : links_of(context.torus, self, dimensions)) {
        if (!from || *from == self) part.sends.push_back(link);
        if (!from || *from == *context.torus.neighbour(self, link)) part.receives.push_back(link);
    }
    return part;
}

// A message on each link, all at the same time, each with a separate buffer.
class Exchange {
  public:
    Exchange(const Part& part, int dimensions, std::size_t bytes) : bytes_(bytes) {
        // The grid is declared with the torus' last dimension first: see declare_grid() in main.
        const auto axis = [&](const routing::Direction& link) {
            return dimensions - 1 - link.dimension;
        };
        std::vector<Channel> channels;
        for (const auto& link : part.receives) {
            in_.emplace_back(bytes);
            channels.push_back(Channel::receive_relative(in_.back(), bytes, axis(link), link.sign));
        }
        for (const auto& link : part.sends) {
            out_.emplace_back(bytes);
            channels.push_back(Channel::send_relative(out_.back(), bytes, axis(link), link.sign));
        }
        if (!channels.empty()) all_.push_back(Channel::together(std::move(channels)));
    }

    Body body() {
        if (all_.empty()) return [](long) {};
        return [this](long times) {
            for (long i = 0; i < times; ++i) {
                all_[0].start();
                all_[0].wait();
            }
        };
    }

    // The same exchange over bare sockets, one for each of `links`.
    Body raw_body(const Part& part, const std::vector<routing::Direction>& links,
                  std::span<RawSocket> sockets) {
        const auto at = [&](const routing::Direction& link) {
            return std::size_t(std::find(links.begin(), links.end(), link) - links.begin());
        };
        std::vector<std::size_t> sends, receives;
        for (const auto& link : part.sends) sends.push_back(at(link));
        for (const auto& link : part.receives) receives.push_back(at(link));
        return [=, this, spin = spin_time()](long times) {
            for (long i = 0; i < times; ++i) {
                for (std::size_t n = 0; n < receives.size(); ++n)
                    sockets[receives[n]].start_receive(in_[n].data(), bytes_);
                for (std::size_t n = 0; n < sends.size(); ++n)
                    sockets[sends[n]].start_send(out_[n].data(), bytes_);
                finish(sockets, spin);
            }
        };
    }

  private:
    std::size_t bytes_;
    std::vector<Buffer> in_, out_;  // outlive the channels on them
    std::vector<Channel> all_;
};

// Bare sockets over the same links.
struct Raw {
    std::vector<routing::Direction> links;
    std::vector<RawSocket> sockets;
};

// Columns per link, per node and over all nodes; then the node's rate over bare sockets, and the
// ratio.
std::vector<Figure> exchange_rates(const Context& context, Raw& raw, std::size_t bytes,
                                   int dimensions) {
    const routing::Torus& torus = context.torus;
    const Part part = part_of(context, rank(), dimensions);
    Exchange exchange(part, torus.dimensions(), bytes);
    std::vector<Body> bodies = {exchange.body()};
    if (context.options.raw) bodies.push_back(exchange.raw_body(part, raw.links, raw.sockets));
    const auto timings = measure_in_turns(bodies, context.options.seconds);
    double all_links = 0;
    std::size_t most_links_of_a_rank = 0;
    for (int r = 0; r < torus.size(); ++r) {
        const std::size_t here = part_of(context, r, dimensions).sends.size();
        all_links += double(here);
        most_links_of_a_rank = std::max(most_links_of_a_rank, here);
    }
    const double payload = double(bytes) / megabyte;
    std::vector<Figure> figures = {as_rate(timings[0], payload),
                                   as_rate(timings[0], payload * double(most_links_of_a_rank)),
                                   as_rate(timings[0], payload * all_links)};
    if (context.options.raw) {
        figures.push_back(as_rate(timings[1], payload * double(most_links_of_a_rank)));
        figures.push_back(as_time_ratio(timings[0], timings[1]));
    }
    return figures;
}

// ---- Each link by itself ----

// Seconds from the start of an exchange over all links until each message has arrived, by rank and
// direction of the link at the receiver; zero if no message arrives there. The same on every rank.
std::vector<double> seconds_of_links(const Context& context, std::size_t bytes, int dimensions) {
    constexpr int rounds = 4;
    using Clock = std::chrono::steady_clock;
    const Part part = part_of(context, rank(), dimensions);
    const int directions = 2 * context.torus.dimensions();
    const auto axis = [&](const routing::Direction& link) {
        return context.torus.dimensions() - 1 - link.dimension;
    };
    std::vector<Buffer> buffers;
    std::vector<Channel> receives, sends;
    for (const auto& link : part.receives) {
        buffers.emplace_back(bytes);
        receives.push_back(Channel::receive_relative(buffers.back(), bytes, axis(link), link.sign));
    }
    for (const auto& link : part.sends) {
        buffers.emplace_back(bytes);
        sends.push_back(Channel::send_relative(buffers.back(), bytes, axis(link), link.sign));
    }
    std::vector<double> seconds(std::size_t(ranks() * directions), 0.0);
    for (int round = -1; round < rounds; ++round) {  // the first round warms up
        std::vector<bool> done(receives.size(), false);
        barrier();
        const auto start = Clock::now();
        for (Channel& channel : receives) channel.start();
        for (Channel& channel : sends) channel.start();
        for (std::size_t open = receives.size(); open > 0;)
            for (std::size_t n = 0; n < receives.size(); ++n) {
                if (done[n] || !receives[n].done()) continue;
                done[n] = true;
                --open;
                const std::chrono::duration<double> elapsed = Clock::now() - start;
                if (round >= 0)
                    seconds[std::size_t(rank() * directions + part.receives[n].index())] +=
                        elapsed.count() / rounds;
            }
        for (Channel& channel : receives) channel.wait();
        for (Channel& channel : sends) channel.wait();
    }
    sum_over_ranks(seconds);
    return seconds;
}

std::string name_of_link(const routing::Direction& link) {
    return fmt::format("{}{}", link.dimension, link.sign > 0 ? '+' : '-');
}

// The rate of each link, one line per receiving rank and one column per link, then the slowest link
// with its share of the median.
std::vector<std::string> describe_links(const Context& context, std::size_t bytes, int dimensions,
                                        std::vector<LinkRate>& link_rates) {
    const int directions = 2 * context.torus.dimensions();
    const std::vector<double> seconds = seconds_of_links(context, bytes, dimensions);
    std::vector<double> carried(seconds.size(), 0.0);  // MB/s; 0 without a link
    std::vector<std::pair<double, int>> rates;         // and index in `seconds`
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        if (seconds[i] <= 0) continue;
        carried[i] = double(bytes) / megabyte / seconds[i];
        rates.push_back({carried[i], int(i)});
        const int receiver = int(i) / directions;
        const auto link = routing::Direction::from_index(int(i) % directions);
        link_rates.push_back(
            {receiver, *context.torus.neighbour(receiver, link), name_of_link(link), carried[i]});
    }
    if (rates.empty()) return {};
    std::sort(rates.begin(), rates.end());
    const auto [slowest, place] = rates.front();
    const std::string what = fmt::format("{}, {}-D", base::format_size(bytes), dimensions);
    constexpr std::string_view cell = "{:>11}";
    std::vector<std::string> lines = {
        fmt::format("MB/s over each link at {}: one line per receiving rank, one column per link",
                    what),
        fmt::format(fmt::runtime(cell), "rank")};
    std::vector<int> columns;
    for (int i = 0; i < directions; ++i) {
        const auto used = [&](int rank) { return carried[std::size_t(rank * directions + i)] > 0; };
        bool any = false;
        for (int r = 0; r < ranks(); ++r) any |= used(r);
        if (!any) continue;
        columns.push_back(i);
        const auto link = routing::Direction::from_index(i);
        lines.back() += fmt::format(fmt::runtime(cell), name_of_link(link));
    }
    for (int r = 0; r < ranks(); ++r) {
        std::string& line = lines.emplace_back(fmt::format(fmt::runtime(cell), r));
        for (const int i : columns) {
            const int at = r * directions + i;
            const double rate = carried[std::size_t(at)];
            line += fmt::format(fmt::runtime(cell),
                                rate > 0 ? (at == place ? "* " : "") + shorten(rate) : "-");
        }
    }
    const double usual = rates[rates.size() / 2].first;
    const int receiver = place / directions;
    const auto link = routing::Direction::from_index(place % directions);
    lines.push_back(fmt::format(
        "* Slowest link at {}: rank {} to rank {} (link {} of the receiver), {} MB/s: {:.0f} % of "
        "the median of {} MB/s; the fastest link: {} MB/s.",
        what, *context.torus.neighbour(receiver, link), receiver, name_of_link(link),
        shorten(slowest), 100 * slowest / usual, shorten(usual), shorten(rates.back().first)));
    return lines;
}

std::vector<Column> columns_for(int dimensions, bool raw) {
    std::vector<Column> columns;
    for (int n = 1; n <= dimensions; ++n) {
        const std::string group = fmt::format("{}-D exchange", n);
        columns.push_back({group, "a link", "MB/s", Column::Draw::points, n - 1});
        columns.push_back({group, "a node", "MB/s", Column::Draw::line, n - 1});
        columns.push_back({group, "all nodes", "MB/s", Column::Draw::no, n - 1});
        if (!raw) continue;
        columns.push_back({group, "bare node", "MB/s", Column::Draw::dashes, n - 1});
        columns.push_back({group, "ratio", "", Column::Draw::no, n - 1});
    }
    return columns;
}

// The most links of a rank along this many dimensions.
double most_links_of_a_rank(const Context& context, int dimensions) {
    std::size_t most = 0;
    for (int r = 0; r < context.torus.size(); ++r)
        most = std::max(most, links_of(context.torus, r, dimensions).size());
    return double(most);
}

Raw open_raw(const Context& context, int dimensions) {
    Raw raw;
    if (!context.options.raw) return raw;
    for (int r = 0; r < context.torus.size(); ++r)
        for (const auto& link : links_of(context.torus, r, dimensions))
            require_device(context, r, link);
    raw.links = links_of(context.torus, rank(), dimensions);
    raw.sockets = open_raw_links(context, raw.links);
    return raw;
}

}  // namespace

Table measure_aggregate(const Context& context) {
    if (context.options.from && *context.options.from >= ranks())
        throw config::UsageError(fmt::format("--from {}: expected a rank from 0 to {}",
                                             *context.options.from, ranks() - 1));
    const int dimensions = dimensions_with_links(context.torus);
    Table table;
    table.title = context.options.from
                      ? fmt::format(
                            "Bandwidth of rank {} sending on all its links at the same "
                            "time, torus {}",
                            *context.options.from, context.torus.describe())
                      : fmt::format("Aggregated bandwidth of all links on a torus {}",
                                    context.torus.describe());
    table.y_label = "bandwidth, MB/s";
    table.columns = columns_for(dimensions, context.options.raw);
    table.notes = {
        "MB/s: 10^6 bytes of payload sent per second by all ranks at the same time; the same "
        "amount is received.",
        "n-D exchange: one message in each direction along n dimensions, on all links at the same "
        "time.",
        "Node: the sum over its links. All nodes: the sum over all links of all ranks."};
    if (context.options.from)
        table.notes[0] = fmt::format(
            "MB/s: 10^6 bytes of payload per second; rank {} sends, and its neighbours only "
            "receive.",
            *context.options.from);
    if (context.options.raw)
        table.notes.push_back("Bare node: the same with bare sockets, measured in turns. " +
                              std::string(ratio_note));
    if (context.options.wire)
        for (int n = 1; n <= dimensions; ++n)
            table.levels.push_back({fmt::format("{}-D, wire", n), "MB/s",
                                    *context.options.wire * most_links_of_a_rank(context, n),
                                    n - 1});
    if (context.options.raw && raw_over_loopback()) table.notes.emplace_back(loopback_note);
    Raw raw = open_raw(context, dimensions);
    context.progress.expect(context.options.sizes.size() * std::size_t(dimensions) + 1);
    for (const std::size_t bytes : context.options.sizes) {
        Row row{bytes, {}};
        for (int n = 1; n <= dimensions; ++n) {
            context.progress.step(fmt::format("{}, {}-D", base::format_size(bytes), n));
            for (Figure& figure : exchange_rates(context, raw, bytes, n))
                row.figures.push_back(std::move(figure));
        }
        table.rows.push_back(std::move(row));
    }
    if (!context.options.sizes.empty()) {
        context.progress.step("each link");
        const std::size_t largest =
            *std::max_element(context.options.sizes.begin(), context.options.sizes.end());
        for (std::string& line : describe_links(context, largest, dimensions, table.link_rates))
            table.notes.push_back(std::move(line));
    }
    return table;
}

}  // namespace torusmp::bench
