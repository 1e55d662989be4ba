#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"
#include "config/units.h"

namespace torusmp::bench {
namespace {

constexpr double megabyte = 1e6;
constexpr std::size_t word_back = 8;

// `count` messages, each with a place of its own in the buffer.
Channel window_of(const Buffer& buffer, std::size_t bytes, int count, int peer, bool sending) {
    std::vector<Channel> channels;
    for (int i = 0; i < count; ++i) {
        const std::size_t offset = bytes * std::size_t(i);
        channels.push_back(sending ? Channel::send_to(buffer, offset, bytes, peer)
                                   : Channel::receive_from(buffer, offset, bytes, peer));
    }
    return Channel::together(std::move(channels));
}

Figure ping_pong(const Pair& pair, std::size_t bytes, double seconds) {
    const Buffer out(bytes), in(bytes);
    Channel send = Channel::send_to(out, 0, bytes, pair.other);
    Channel receive = Channel::receive_from(in, 0, bytes, pair.other);
    const Timing timing = measure(round_trips(pair, &send, &receive), seconds);
    return as_rate(timing, 2 * double(bytes) / megabyte);
}

// Windows of messages from rank 0, each answered by a word, so that the time is that of arrival.
Figure one_way(const Pair& pair, std::size_t bytes, int window, double seconds) {
    const bool sending = pair.role == 0;
    const Buffer data(bytes * std::size_t(window)), word(word_back);
    Channel messages = window_of(data, bytes, window, pair.other, sending);
    Channel answer = sending ? Channel::receive_from(word, 0, word_back, pair.other)
                             : Channel::send_to(word, 0, word_back, pair.other);
    const auto send = [&](long times) {
        for (long i = 0; i < times; ++i) {
            answer.start();
            messages.start();
            messages.wait();
            answer.wait();
        }
    };
    const auto receive = [&](long times) {
        messages.start();
        for (long i = 0; i < times; ++i) {
            messages.wait();
            if (i + 1 < times) messages.start();
            answer.start();
            answer.wait();
        }
    };
    const Timing timing = sending ? measure(send, seconds) : measure(receive, seconds);
    return as_rate(timing, double(window) * double(bytes) / megabyte);
}

// Both send a window and receive one at the same time; the rate counts both directions.
Figure both_ways(const Pair& pair, std::size_t bytes, int window, double seconds) {
    const Buffer out(bytes * std::size_t(window)), in(bytes * std::size_t(window));
    Channel receive = window_of(in, bytes, window, pair.other, false);
    Channel send = window_of(out, bytes, window, pair.other, true);
    const auto exchange = [&](long times) {
        for (long i = 0; i < times; ++i) {
            receive.start();
            send.start();
            send.wait();
            receive.wait();
        }
    };
    return as_rate(measure(exchange, seconds), 2 * double(window) * double(bytes) / megabyte);
}

// Ranks without a part take part in the measuring alone.
std::vector<Figure> stand_by(int figures, double seconds) {
    std::vector<Figure> none;
    for (int i = 0; i < figures; ++i) none.push_back(as_rate(measure([](long) {}, seconds), 1));
    return none;
}

}  // namespace

Table measure_bandwidth(const Context& context) {
    const Pair pair = choose_pair(context);
    const int window = context.options.window;
    const double seconds = context.options.seconds;
    Table table;
    table.title = fmt::format("Bandwidth between {}", describe(pair));
    table.y_label = "bandwidth, MB/s";
    table.columns = {{"", "ping-pong", "MB/s", Column::Draw::line, 0},
                     {"", "one way", "MB/s", Column::Draw::line, 1},
                     {"", "both ways", "MB/s", Column::Draw::line, 2}};
    table.notes = {fmt::format("MB/s: 10^6 bytes of payload a second. One way and both ways: {} "
                               "messages in flight each way;",
                               window),
                   "both ways counts the two directions together."};
    for (const std::size_t bytes : context.options.sizes) {
        context.progress(config::format_size(bytes));
        std::vector<Figure> figures = {};
        if (pair.role < 0)
            figures = stand_by(3, seconds);
        else
            figures = {ping_pong(pair, bytes, seconds), one_way(pair, bytes, window, seconds),
                       both_ways(pair, bytes, window, seconds)};
        table.rows.push_back({bytes, std::move(figures)});
    }
    return table;
}

}  // namespace torusmp::bench
