// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

// Prevents the compiler from removing the work.
volatile double work_done = 0;

// Work in registers only, so that it competes with messages for nothing but the core.
void compute(long rounds) {
    double a = 1.0, b = 0.5, c = 0.25, d = 0.125;
    for (long i = 0; i < rounds; ++i) {
        a = a * 0.999999 + 1e-6;
        b = b * 0.999998 + 2e-6;
        c = c * 0.999997 + 3e-6;
        d = d * 0.999996 + 4e-6;
    }
    work_done = a + b + c + d;
}

// Rounds of compute() in one second of an undisturbed core: the fastest of several tries.
double rounds_a_second() {
    using Clock = std::chrono::steady_clock;
    constexpr long rounds = 200000;
    double fastest = HUGE_VAL;
    for (int i = 0; i < 9; ++i) {
        const auto start = Clock::now();
        compute(rounds);
        fastest = std::min(fastest, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return double(rounds) / fastest;
}

struct Measured {
    Timing message;   // alone
    Timing work;      // alone, as long as the message takes
    Timing together;  // the work between start and wait
    double processor_seconds_a_byte;
};

// Both partners send one message and receive one; `between` runs while they are in flight.
template <class Between>
Body exchange(Channel& both, Between between) {
    return [&both, between](long times) {
        for (long i = 0; i < times; ++i) {
            both.start();
            between();
            both.wait();
        }
    };
}

Channel exchange_channel(const Pair& pair, const Buffer& in, const Buffer& out) {
    std::vector<Channel> channels;
    channels.push_back(Channel::receive_from(in, 0, in.size(), pair.other));
    channels.push_back(Channel::send_to(out, 0, out.size(), pair.other));
    return Channel::together(std::move(channels));
}

// Processor time of both partners while they only pass messages, for each byte received.
double cost_a_byte(const Body& body, const Pair& pair, std::size_t bytes, long times) {
    barrier();
    const double before = processor_seconds();
    body(times);
    const double used = pair.role < 0 ? 0 : processor_seconds() - before;
    return sum_over_ranks(used) / (2 * double(bytes) * double(times));
}

Measured measure_pair(const Pair& pair, std::size_t bytes, double rate, double seconds) {
    const Buffer in(bytes), out(bytes);
    Channel both = exchange_channel(pair, in, out);
    Measured m;
    const Body alone = exchange(both, [] {});
    m.message = measure(alone, seconds);
    const long rounds = std::max(1L, std::lround(rate * m.message.median()));
    const auto work = [rounds] { compute(rounds); };
    m.work = measure(
        [&](long times) {
            while (times-- > 0) work();
        },
        seconds);
    m.together = measure(exchange(both, work), seconds);
    m.processor_seconds_a_byte = cost_a_byte(alone, pair, bytes, 9 * m.message.times);
    return m;
}

Measured stand_by(const Pair& pair, std::size_t bytes, double seconds) {
    const Body nothing = [](long) {};
    Measured m;
    m.message = measure(nothing, seconds);
    m.work = measure(nothing, seconds);
    m.together = measure(nothing, seconds);
    m.processor_seconds_a_byte = cost_a_byte(nothing, pair, bytes, 9 * m.message.times);
    return m;
}

// 0 if the times add up; 100 if the shorter of the two costs nothing beside the longer.
double hidden_share(double message, double work, double together) {
    const double saved = message + work - together;
    return 100 * std::clamp(saved / std::min(message, work), 0.0, 1.0);
}

Row row_of(std::size_t bytes, const Measured& m) {
    const double share = hidden_share(m.message.median(), m.work.median(), m.together.median());
    const double best = hidden_share(m.message.best(), m.work.best(), m.together.best());
    const double cost = m.processor_seconds_a_byte * 1e9;
    return {bytes,
            {as_time(m.message, 1e6),
             as_time(m.work, 1e6),
             as_time(m.together, 1e6),
             {share, best, {share}},
             {cost, cost, {cost}}}};
}

}  // namespace

Table measure_overlap(const Context& context) {
    const Pair pair = choose_pair(context);
    Table table;
    table.title = fmt::format("Overlap of messages and computation, {}", describe(pair));
    table.y_label = "time, us";
    table.columns = {{"", "message", "us", Column::Draw::line, 0},
                     {"", "work", "us", Column::Draw::line, 1},
                     {"", "together", "us", Column::Draw::line, 2},
                     {"", "hidden", "%", Column::Draw::no, 3},
                     {"", "processor", "s/GB", Column::Draw::no, 4}};
    table.notes = {
        "Message: both ranks exchange one. Work: computation of the same length. Together: the "
        "work between",
        "start and wait. Hidden: 0 % if both times add up, 100 % if the shorter one costs nothing.",
        "Processor: processor seconds of both ranks per 10^9 bytes received, including waiting."};
    const double rate = rounds_a_second();
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        const double seconds = context.options.seconds;
        const Measured m = pair.role < 0 ? stand_by(pair, bytes, seconds)
                                         : measure_pair(pair, bytes, rate, seconds);
        table.rows.push_back(row_of(bytes, m));
    }
    return table;
}

}  // namespace torusmp::bench
