// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/units.h"
#include "bench/torus_bench/below.h"
#include "bench/torus_bench/benchmarks.h"
#include "bench/torus_bench/collective_calls.h"
#include "bench/torus_bench/qmp_objects.h"
#include "bench/torus_bench/timing.h"
#include "collectives/broadcast/broadcast.h"

namespace torusmp::bench {
namespace {

// QMP's contexts count up from 0x40000000, MPI's are below; below.cpp has the next one.
constexpr core::Context context_of_collectives = 0x7fffffe0;

// An operation and its algorithms that are measured in turns.
struct Candidate {
    const CollectiveFacts* operation;
    std::vector<std::string> algorithms;
    bool bandwidths = false;  // also algbw and busbw
    bool compares() const { return algorithms.size() == 2; }
};

std::vector<Candidate> candidates_of(const Options& options, const collectives::Group& group) {
    const bool over_links = group.situation() == collectives::Situation::links;
    std::vector<Candidate> candidates;
    for (const std::string& name : options.operations) {
        Candidate candidate{find_collective(name), options.algorithms};
        candidate.bandwidths = options.busbw && candidate.operation->bus != BusFactor::none;
        // If the settings do not choose by size, measure all algorithms in turns.
        const collectives::AlgorithmTable* const table = candidate.operation->algorithms;
        if (candidate.algorithms.empty() && table != nullptr && !table->facts().sized)
            for (const collectives::AlgorithmRow& row : table->rows())
                if (!row.area || !over_links) candidate.algorithms.emplace_back(row.name);
        if (candidate.algorithms.empty()) candidate.algorithms = {"automatic"};
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

std::vector<Column> columns_of(const std::vector<Candidate>& candidates) {
    std::vector<Column> columns;
    int colour = 0;
    for (const Candidate& candidate : candidates) {
        const std::string name(candidate.operation->name);
        for (const std::string& algorithm : candidate.algorithms) {
            columns.push_back({name, algorithm, "us", Column::Draw::line, colour++});
            if (!candidate.bandwidths) continue;
            const std::string of = candidate.algorithms.size() == 1 ? "" : algorithm + " ";
            for (const char* rate : {"algbw", "busbw"})
                columns.push_back({name, of + rate, "GB/s", Column::Draw::no, 0});
        }
        if (candidate.compares()) columns.push_back({name, "ratio", "", Column::Draw::no, 0});
    }
    return columns;
}

std::vector<std::string> notes_of(const std::vector<Candidate>& candidates) {
    std::vector<std::string> notes = {
        "Time of a call on the slowest rank, for repeated calls without a barrier between them."};
    const auto any = [&](auto&& is) {
        return std::any_of(candidates.begin(), candidates.end(), is);
    };
    if (any([](const Candidate& c) { return c.operation->blocks; }))
        notes.push_back(
            "Sizes of scatter, gather, allgather, reduce_scatter and alltoall are those "
            "of one rank's block.");
    if (any([](const Candidate& c) { return c.bandwidths; })) {
        notes.push_back(
            "algbw, busbw (GB/s of 10^9 bytes): as in nccl-tests. algbw is the size, or the blocks "
            "of all n");
        notes.push_back(
            "ranks, divided by the time. busbw is algbw times 2(n-1)/n for a sum, 1 for broadcast "
            "and reduce,");
        notes.push_back("(n-1)/n for the others.");
    }
    if (any([](const Candidate& c) { return c.compares(); }))
        notes.push_back(
            "Ratio: time of the first algorithm divided by the time of the second; below 1, the "
            "first is faster.");
    return notes;
}

std::vector<core::Rank> everybody() {
    std::vector<core::Rank> all(static_cast<std::size_t>(ranks()));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// Measures all algorithms of one operation at one size, in turns.
std::vector<Timing> time_algorithms(collectives::Group& group, const Candidate& candidate,
                                    std::size_t bytes, double seconds) {
    const CollectiveFacts& operation = *candidate.operation;
    const Buffer in(operation.bytes_in(bytes, group.size()));
    const Buffer out(operation.bytes_out(bytes, group.size()));
    // Repeated sums would overflow, so the vectors are zero.
    for (const Buffer* buffer : {&in, &out})
        std::fill(buffer->data(), buffer->data() + buffer->size(), std::byte{0});
    std::vector<std::unique_ptr<CollectiveCall>> calls;
    std::vector<Body> bodies;
    for (const std::string& algorithm : candidate.algorithms) {
        calls.push_back(
            make_collective(group, operation.name, algorithm, in.data(), out.data(), bytes));
        bodies.push_back([call = calls.back().get()](long times) {
            for (long i = 0; i < times; ++i) call->run();
        });
    }
    return measure_in_turns(bodies, seconds);
}

Row measure_row(const Context& context, collectives::Group& group,
                const std::vector<Candidate>& candidates, std::size_t bytes) {
    Row row{bytes, {}};
    for (const Candidate& candidate : candidates) {
        context.progress.step(
            fmt::format("{} of {}", candidate.operation->name, base::format_size(bytes)));
        const auto timings = time_algorithms(group, candidate, bytes, context.options.seconds);
        for (const Timing& timing : timings) {
            row.figures.push_back(as_time(timing, 1e6));
            if (!candidate.bandwidths) continue;
            const CollectiveFacts& operation = *candidate.operation;
            for (const double amount : {operation.algorithm_bytes(bytes, group.size()),
                                        operation.bus_bytes(bytes, group.size())})
                row.figures.push_back(as_rate(timing, amount / 1e9));
        }
        if (candidate.compares()) row.figures.push_back(as_time_ratio(timings[0], timings[1]));
    }
    return row;
}

}  // namespace

Table measure_collectives(const Context& context) {
    collectives::Group group(runtime(), everybody(), context_of_collectives, collective_policy());
    const auto candidates = candidates_of(context.options, group);
    Table table;
    table.title = fmt::format("Collectives on {} ranks ({}): time of a call", ranks(),
                              fmt::join(context.torus.extents(), "x"));
    table.y_label = "time of a call, us";
    table.columns = columns_of(candidates);
    table.notes = notes_of(candidates);
    context.progress.expect(context.options.sizes.size() * candidates.size());
    for (const std::size_t bytes : context.options.sizes)
        table.rows.push_back(measure_row(context, group, candidates, bytes));
    return table;
}

namespace {

int farthest_from_first(const routing::Torus& torus) {
    int far = 0;
    for (int other = 1; other < torus.size(); ++other)
        if (torus.distance(0, other) > torus.distance(0, far)) far = other;
    if (far == 0)
        throw std::runtime_error(
            "one rank has no partner: start more ranks, for example with "
            "--torus 2x2x2");
    return far;
}

// Broadcasts from one end of the torus to the other and back: each begins when the previous one has
// ended, so that they do not overlap.
Body broadcasts_to_and_fro(collectives::Broadcast& broadcast, const Buffer& data, std::size_t bytes,
                           int far) {
    return [=, &broadcast, at = data.data()](long times) {
        for (long i = 0; i < times; ++i) {
            broadcast.start(at, bytes, i % 2 == 0 ? 0 : far);
            broadcast.wait();
            if (broadcast.error() != core::Error::none)
                throw std::runtime_error(fmt::format("broadcast: {}", broadcast.failure()));
        }
    };
}

Figure for_each_of(int steps, Figure figure) {
    figure.value /= steps;
    figure.best /= steps;
    for (double& sample : figure.samples) sample /= steps;
    return figure;
}

}  // namespace

Table measure_steps(const Context& context) {
    const int far = farthest_from_first(context.torus);
    const int steps = context.torus.distance(0, far);
    collectives::Group group(runtime(), everybody(), context_of_collectives, collective_policy());
    collectives::Broadcast broadcast(group);
    Table table;
    table.title = fmt::format("Steps of a broadcast and of a global sum on {} ranks ({})", ranks(),
                              fmt::join(context.torus.extents(), "x"));
    table.y_label = "time, us";
    table.columns = {{"broadcast", "call", "us", Column::Draw::line, 0},
                     {"broadcast", "a step", "us", Column::Draw::dashes, 0},
                     {"sum", "call", "us", Column::Draw::line, 1},
                     {"sum", "a step", "us", Column::Draw::dashes, 1},
                     {"", "sum/broadcast", "", Column::Draw::no, 2}};
    table.notes = {
        fmt::format(
            "Rank {} is {} links away from rank 0. Broadcast: from one of these ranks to the "
            "other and back,",
            far, steps),
        "one call after the other. Sum: of doubles, on every rank. Step: the time of a call "
        "divided by",
        "the number of these links."};
    context.progress.expect(context.options.sizes.size());
    for (const std::size_t bytes : context.options.sizes) {
        context.progress.step(base::format_size(bytes));
        const Buffer data(bytes);
        std::fill(data.data(), data.data() + bytes, std::byte{0});
        const auto sum =
            make_collective(group, "sum", "automatic", data.data(), data.data(), bytes);
        const auto timings = measure_in_turns({broadcasts_to_and_fro(broadcast, data, bytes, far),
                                               [&](long times) {
                                                   for (long i = 0; i < times; ++i) sum->run();
                                               }},
                                              context.options.seconds);
        const Figure there = as_time(timings[0], 1e6), all = as_time(timings[1], 1e6);
        table.rows.push_back({bytes,
                              {there, for_each_of(steps, there), all, for_each_of(steps, all),
                               as_time_ratio(timings[1], timings[0])}});
    }
    return table;
}

}  // namespace torusmp::bench
