// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <thread>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/stream.h"
#include "bench/torus_bench/timing.h"

namespace torusmp::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int call_repetitions = 9;

// A program that competes for a core of this node during its lifetime. Its processor time is
// counted separately from the memory of messages.
class BusyThread {
  public:
    BusyThread() : thread_([this] { spin(); }) {}
    ~BusyThread() {
        stop_ = true;
        thread_.join();
    }
    BusyThread(const BusyThread&) = delete;
    BusyThread& operator=(const BusyThread&) = delete;

    double processor_seconds() {
        clockid_t clock{};
        timespec used{};
        if (pthread_getcpuclockid(thread_.native_handle(), &clock) != 0) return 0;
        clock_gettime(clock, &used);
        return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
    }

  private:
    void spin() {
        while (!stop_.load(std::memory_order_relaxed)) {
        }
    }

    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

struct Stream {
    Figure rate, efficiency;
};

// Measures the stream and the processor time of both ends.
Stream measure_stream(const Pair& pair, Messages window, bool loaded, double seconds) {
    std::optional<BusyThread> busy;
    // Idle ranks do not start such a program, because it would take cores from the active ranks.
    if (loaded && pair.role >= 0) busy.emplace();
    const Buffer data(pair.role < 0 ? 0 : window.all());
    OneWay stream(pair, data, window);
    const Body body = stream.body();
    const Timing timing = measure(body, seconds);
    const double megabytes = double(window.all()) / megabyte;
    Figure efficiency;
    for (std::size_t i = 0; i < timing.seconds.size(); ++i) {
        barrier();
        const auto used = [&] {
            return processor_seconds() - (busy ? busy->processor_seconds() : 0.0);
        };
        const double before = used();
        body(timing.times);
        const double spent = sum_over_ranks(pair.role < 0 ? 0 : used() - before);
        efficiency.samples.push_back(megabytes * double(timing.times) / spent);
    }
    std::vector<double> sorted = efficiency.samples;
    std::sort(sorted.begin(), sorted.end());
    efficiency.value = sorted[sorted.size() / 2];
    efficiency.best = sorted.back();
    return {as_rate(timing, megabytes), efficiency};
}

struct Overhead {
    Figure send, receive;
};

void spin_for(std::chrono::duration<double> time) {
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
    }
}

// Measures the processor time of one call: a send that is not blocked, and a receive of a message
// that has arrived. The receiver requests each message, and does not call the library until the
// message must have arrived.
Overhead measure_overhead(const Pair& pair, std::size_t bytes, double seconds) {
    constexpr std::size_t word = 8;
    const Buffer data(pair.role < 0 ? 0 : bytes), ask(pair.role < 0 ? 0 : word);
    std::optional<Channel> message, asked;
    if (pair.role == 0) {
        message = Channel::send_to(data, 0, bytes, pair.other);
        asked = Channel::receive_from(ask, 0, word, pair.other);
    } else if (pair.role == 1) {
        message = Channel::receive_from(data, 0, bytes, pair.other);
        asked = Channel::send_to(ask, 0, word, pair.other);
    }
    const std::chrono::duration<double> pause(2e-4 + 4e-9 * double(bytes));
    const auto time_of = [](auto&& call) {
        const auto start = Clock::now();
        call();
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    const auto round = [&] {
        double spent = 0;
        if (pair.role == 0) {
            asked->start();
            asked->wait();
            spent = time_of([&] { message->start(); });
            message->wait();
        } else if (pair.role == 1) {
            message->start();
            asked->start();
            asked->wait();
            spin_for(pause);
            spent = time_of([&] { message->wait(); });
        }
        return spent;
    };
    const int rounds = int(std::clamp(seconds / call_repetitions / pause.count(), 5.0, 1000.0));
    std::vector<double> sums(2 * call_repetitions);
    for (int i = -1; i < call_repetitions; ++i) {  // the first round warms up
        barrier();
        double sum = 0;
        for (int n = 0; n < rounds; ++n) sum += round();
        if (i >= 0 && pair.role >= 0) sums[std::size_t(2 * i + pair.role)] = sum / rounds * 1e6;
    }
    sum_over_ranks(sums);
    Overhead overhead;
    for (std::size_t i = 0; i < sums.size(); ++i)
        (i % 2 == 0 ? overhead.send : overhead.receive).samples.push_back(sums[i]);
    for (Figure* figure : {&overhead.send, &overhead.receive}) {
        std::vector<double> sorted = figure->samples;
        std::sort(sorted.begin(), sorted.end());
        figure->value = sorted[sorted.size() / 2];
        figure->best = sorted.front();
    }
    return overhead;
}

}  // namespace

Table measure_efficiency(const Context& context) {
    const Pair pair = choose_pair(context);
    Table table;
    table.title = fmt::format("Efficiency of messages one way between {}", describe(pair));
    table.y_label = "MB/s per core that both ends keep busy";
    const int window = context.options.window;
    for (const char* const group : {"idle", "loaded"}) {
        const int colour = group == std::string_view("idle") ? 0 : 1;
        table.columns.push_back({group, "one way", "MB/s", Column::Draw::no, colour});
        table.columns.push_back({group, "efficiency", "MB/s a core", Column::Draw::line, colour});
    }
    table.columns.push_back({"overhead", "send", "us", Column::Draw::no, 2});
    table.columns.push_back({"overhead", "receive", "us", Column::Draw::no, 3});
    table.notes = {
        fmt::format("One way: {} messages in flight, 10^6 bytes per second. Efficiency: this rate "
                    "per processor time",
                    window),
        "of both ends (user and system, including waiting). Loaded: beside a thread on each end "
        "that",
        "computes all the time. Overhead: time of the call that starts a send, and of the call "
        "that finds",
        "a message that has arrived; for long messages, the receive moves the bytes."};
    context.progress.expect(context.options.sizes.size() * 3);
    for (const std::size_t bytes : context.options.sizes) {
        const double seconds = context.options.seconds;
        Row row{bytes, {}};
        for (const bool loaded : {false, true}) {
            context.progress.step(
                fmt::format("{}, {}", base::format_size(bytes), loaded ? "loaded" : "idle"));
            const Stream stream = measure_stream(pair, {bytes, window}, loaded, seconds);
            row.figures.push_back(stream.rate);
            row.figures.push_back(stream.efficiency);
        }
        context.progress.step(fmt::format("{}, overhead", base::format_size(bytes)));
        const Overhead overhead = measure_overhead(pair, bytes, seconds);
        row.figures.push_back(overhead.send);
        row.figures.push_back(overhead.receive);
        table.rows.push_back(std::move(row));
    }
    return table;
}

}  // namespace torusmp::bench
