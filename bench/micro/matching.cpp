// SPDX-License-Identifier: BSD-3-Clause
// Matching with few and with thousands of entries: the cost of a message must not grow with them.
#include <benchmark/benchmark.h>

#include <memory>

#include "bench/micro/alone.h"

namespace {

using namespace torusmp;

struct Messages {
    explicit Messages(int count)
        : sends(std::make_unique<core::SendRequest[]>(std::size_t(count))),
          receives(std::make_unique<core::ReceiveRequest[]>(std::size_t(count))),
          count_(count) {}

    void finish(core::Runtime& runtime) {
        for (int i = 0; i < count_; ++i) {
            runtime.wait(receives[std::size_t(i)]);
            runtime.wait(sends[std::size_t(i)]);
        }
    }

    std::unique_ptr<core::SendRequest[]> sends;
    std::unique_ptr<core::ReceiveRequest[]> receives;

  private:
    int count_;
};

constexpr core::Context context = 1;
const char out[8] = {};

// Receives posted for this many tags; their messages arrive in reverse order.
void posted_receives(benchmark::State& state) {
    const int count = int(state.range(0));
    bench::Alone runtime;
    Messages messages(count);
    char in[8];
    for (auto _ : state) {
        for (int tag = 0; tag < count; ++tag)
            runtime->receive(messages.receives[std::size_t(tag)], {in, sizeof in}, 0, context, tag);
        for (int tag = count - 1; tag >= 0; --tag)
            runtime->send(messages.sends[std::size_t(tag)], {out, sizeof out}, 0, context, tag);
        messages.finish(*runtime);
    }
    state.SetItemsProcessed(state.iterations() * count);
}

// This many messages arrive before their receives, which are posted in reverse order.
void unexpected_messages(benchmark::State& state) {
    const int count = int(state.range(0));
    bench::Alone runtime;
    Messages messages(count);
    char in[8];
    for (auto _ : state) {
        for (int tag = 0; tag < count; ++tag)
            runtime->send(messages.sends[std::size_t(tag)], {out, sizeof out}, 0, context, tag);
        while (runtime->progress()) {
        }
        for (int tag = count - 1; tag >= 0; --tag)
            runtime->receive(messages.receives[std::size_t(tag)], {in, sizeof in}, 0, context, tag);
        messages.finish(*runtime);
    }
    state.SetItemsProcessed(state.iterations() * count);
}

// As above, with receives that match any tag.
void wildcard_receives(benchmark::State& state) {
    const int count = int(state.range(0));
    bench::Alone runtime;
    Messages messages(count);
    char in[8];
    for (auto _ : state) {
        for (int i = 0; i < count; ++i)
            runtime->receive(messages.receives[std::size_t(i)], {in, sizeof in}, core::any_source,
                             context, core::any_tag);
        for (int tag = count - 1; tag >= 0; --tag)
            runtime->send(messages.sends[std::size_t(tag)], {out, sizeof out}, 0, context, tag);
        messages.finish(*runtime);
    }
    state.SetItemsProcessed(state.iterations() * count);
}

BENCHMARK(posted_receives)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);
BENCHMARK(unexpected_messages)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(10000);
BENCHMARK(wildcard_receives)->Arg(1)->Arg(100)->Arg(10000);

}  // namespace
