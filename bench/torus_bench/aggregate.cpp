#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"
#include "config/units.h"

namespace torusmp::bench {
namespace {

constexpr double megabyte = 1e6;

// The ways out of this rank that lead over a link, along the first `dimensions` that have links.
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
        throw std::runtime_error("one rank has no links: start more, like --torus 2x2x2");
    return count;
}

// Sends on every one of these links and receives from each, with a buffer of its own for both.
class Exchange {
  public:
    Exchange(const std::vector<routing::Direction>& links, int dimensions, std::size_t bytes) {
        std::vector<Channel> channels;
        // The grid is declared with the torus' last dimension first: see declare_grid() in main.
        const auto axis = [&](const routing::Direction& link) {
            return dimensions - 1 - link.dimension;
        };
        for (const auto& link : links) {
            buffers_.emplace_back(bytes);
            channels.push_back(
                Channel::receive_relative(buffers_.back(), bytes, axis(link), link.sign));
        }
        for (const auto& link : links) {
            buffers_.emplace_back(bytes);
            channels.push_back(
                Channel::send_relative(buffers_.back(), bytes, axis(link), link.sign));
        }
        all_.push_back(Channel::together(std::move(channels)));
    }

    void operator()(long times) {
        for (long i = 0; i < times; ++i) {
            all_[0].start();
            all_[0].wait();
        }
    }

  private:
    std::vector<Buffer> buffers_;  // outlive the channels on them
    std::vector<Channel> all_;
};

// Per link, per node, over all nodes.
std::vector<Figure> exchange_rates(const Context& context, std::size_t bytes, int dimensions) {
    const routing::Torus& torus = context.torus;
    const auto links = links_of(torus, rank(), dimensions);
    Exchange exchange(links, torus.dimensions(), bytes);
    const Timing timing = measure([&](long times) { exchange(times); }, context.options.seconds);
    double all_links = 0;
    std::size_t most_links = 0;
    for (int r = 0; r < torus.size(); ++r) {
        const std::size_t here = links_of(torus, r, dimensions).size();
        all_links += double(here);
        most_links = std::max(most_links, here);
    }
    const double payload = double(bytes) / megabyte;
    return {as_rate(timing, payload), as_rate(timing, payload * double(most_links)),
            as_rate(timing, payload * all_links)};
}

std::vector<Column> columns_for(int dimensions) {
    std::vector<Column> columns;
    for (int n = 1; n <= dimensions; ++n) {
        const std::string group = fmt::format("{}-D exchange", n);
        columns.push_back({group, "a link", "MB/s", Column::Draw::dashes, n - 1});
        columns.push_back({group, "a node", "MB/s", Column::Draw::line, n - 1});
        columns.push_back({group, "all nodes", "MB/s", Column::Draw::no, n - 1});
    }
    return columns;
}

}  // namespace

Table measure_aggregate(const Context& context) {
    const int dimensions = dimensions_with_links(context.torus);
    Table table;
    table.title =
        fmt::format("Aggregated bandwidth of all links on a torus {}", context.torus.describe());
    table.y_label = "bandwidth, MB/s";
    table.columns = columns_for(dimensions);
    table.notes = {
        "MB/s: 10^6 bytes of payload sent a second, every rank at once; as much is received.",
        "n-D exchange: a message each way along n dimensions, all links at the same time.",
        "A node is the sum over its links; all nodes is the sum over all links of all ranks."};
    for (const std::size_t bytes : context.options.sizes) {
        Row row{bytes, {}};
        for (int n = 1; n <= dimensions; ++n) {
            context.progress(fmt::format("{}, {}-D", config::format_size(bytes), n));
            for (Figure& figure : exchange_rates(context, bytes, n))
                row.figures.push_back(std::move(figure));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace torusmp::bench
