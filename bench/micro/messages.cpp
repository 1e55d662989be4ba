// SPDX-License-Identifier: BSD-3-Clause
// The path of one message through the core: matched by tag, and over a declared flow.
#include <benchmark/benchmark.h>

#include <vector>

#include "bench/micro/alone.h"

namespace {

using namespace torusmp;

constexpr core::Context message_context = 1;

void matched_message(benchmark::State& state) {
    const auto bytes = std::size_t(state.range(0));
    bench::Alone runtime;
    std::vector<char> out(bytes), in(bytes);
    core::SendRequest send;
    core::ReceiveRequest receive;
    for (auto _ : state) {
        runtime->receive(receive, {in.data(), bytes}, 0, message_context, 7);
        runtime->send(send, {out.data(), bytes}, 0, message_context, 7);
        runtime->wait(receive);
        runtime->wait(send);
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(bytes));
}

void flow_message(benchmark::State& state) {
    const auto bytes = std::size_t(state.range(0));
    bench::Alone runtime;
    std::vector<char> out(bytes), in(bytes);
    core::SendFlow& to = runtime->flows().open_send(0, message_context, 0);
    core::ReceiveFlow& from = runtime->flows().open_receive(0, message_context, 0);
    core::SendRequest send;
    core::ReceiveRequest receive;
    for (auto _ : state) {
        runtime->flows().start(from, receive, {in.data(), bytes});
        runtime->flows().start(to, send, {out.data(), bytes});
        runtime->wait(receive);
        runtime->wait(send);
    }
    state.SetBytesProcessed(state.iterations() * std::int64_t(bytes));
}

// The cost of a poll without work, for a program that computes.
void empty_progress(benchmark::State& state) {
    bench::Alone runtime;
    for (auto _ : state) benchmark::DoNotOptimize(runtime->progress());
}

BENCHMARK(matched_message)->Arg(8)->Arg(1024)->Arg(8192)->Arg(65536);
BENCHMARK(flow_message)->Arg(8)->Arg(1024)->Arg(8192)->Arg(65536);
BENCHMARK(empty_progress);

}  // namespace
