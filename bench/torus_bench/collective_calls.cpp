// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/collective_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/assert.h"
#include "collectives/allgather/allgather.h"
#include "collectives/allreduce/allreduce.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/gather/gather.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scan/scan.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::bench {

using namespace collectives;

// The arguments of a call.
struct CallArguments {
    void* in;
    const void* out;
    std::size_t bytes;
    const AlgorithmRow* algorithm;  // null to choose by the settings
    std::vector<std::size_t> counts;

    std::size_t doubles() const { return bytes / sizeof(double); }
};

namespace {

void add_doubles(void* result, const void* a, const void* b, std::size_t count, const void*) {
    auto* const sum = static_cast<double*>(result);
    const auto* const left = static_cast<const double*>(a);
    const auto* const right = static_cast<const double*>(b);
    for (std::size_t i = 0; i < count; ++i) sum[i] = left[i] + right[i];
}

constexpr Operation sum_of_doubles{.combine = add_doubles, .element = sizeof(double)};

// A schedule and the function that starts it.
template <class ScheduleType>
class CallOf final : public CollectiveCall {
  public:
    using Start = void (*)(ScheduleType&, const CallArguments&);
    CallOf(Group& group, std::string_view name, const CallArguments& call, Start start)
        : CollectiveCall(name), schedule_(group), call_(call), start_(start) {}

    Schedule& start() override {
        start_(schedule_, call_);
        return schedule_;
    }

  private:
    ScheduleType schedule_;
    CallArguments call_;
    Start start_;
};

void start_broadcast(Broadcast& b, const CallArguments& c) {
    b.start(c.in, c.bytes, 0, c.algorithm);
}
void start_sum(Allreduce& a, const CallArguments& c) {
    a.start(c.in, c.doubles(), sum_of_doubles, c.algorithm);
}
void start_reduce(Reduce& r, const CallArguments& c) {
    r.start(c.in, c.out, c.doubles(), sum_of_doubles, 0, c.algorithm);
}
void start_scatter(Scatter& s, const CallArguments& c) {
    s.start(c.in, c.bytes, c.out, Blocks::even(c.bytes), 0, c.algorithm);
}
void start_gather(Gather& g, const CallArguments& c) {
    g.start(c.in, Blocks::even(c.bytes), c.out, c.bytes, 0, c.algorithm);
}
void start_allgather(Allgather& a, const CallArguments& c) {
    a.start(c.in, Blocks::even(c.bytes), c.out, c.algorithm);
}
void start_reduce_scatter(ReduceScatter& r, const CallArguments& c) {
    r.start(c.in, c.out, c.counts, sum_of_doubles, c.algorithm);
}
void start_alltoall(Alltoall& a, const CallArguments& c) {
    a.start(c.in, Blocks::even(c.bytes), c.out, Blocks::even(c.bytes), c.algorithm);
}
void start_scan(Scan& s, const CallArguments& c) {
    s.start(c.in, c.doubles(), sum_of_doubles, ScanKind::inclusive, c.algorithm);
}
void start_barrier(Allreduce& a, const CallArguments&) {
    a.start_barrier();
}

template <class ScheduleType, typename CallOf<ScheduleType>::Start start>
std::unique_ptr<CollectiveCall> make(Group& group, std::string_view name,
                                     const CallArguments& call) {
    return std::make_unique<CallOf<ScheduleType>>(group, name, call, start);
}

}  // namespace

void CollectiveCall::run() {
    Schedule& schedule = start();
    schedule.wait();
    if (schedule.error() != core::Error::none)
        throw std::runtime_error(fmt::format("{}: {}", name_, schedule.failure()));
}

std::size_t CollectiveFacts::bytes_in(std::size_t bytes, int members) const {
    return all_in ? bytes * std::size_t(members) : bytes;
}

std::size_t CollectiveFacts::bytes_out(std::size_t bytes, int members) const {
    return all_out ? bytes * std::size_t(members) : bytes;
}

double CollectiveFacts::algorithm_bytes(std::size_t bytes, int members) const {
    return double(bytes) * (blocks ? members : 1);
}

double CollectiveFacts::bus_bytes(std::size_t bytes, int members) const {
    TORUSMP_ASSERT(bus != BusFactor::none);
    const double others = bus == BusFactor::one ? 1 : double(members - 1) / members;
    return algorithm_bytes(bytes, members) * others * (bus == BusFactor::twice_others ? 2 : 1);
}

const std::vector<CollectiveFacts>& collective_operations() {
    static const std::vector<CollectiveFacts> facts = {
        {.name = "broadcast",
         .bus = BusFactor::one,
         .algorithms = &broadcast::algorithms(),
         .make = make<Broadcast, start_broadcast>},
        {.name = "sum",
         .numbers = true,
         .bus = BusFactor::twice_others,
         .algorithms = &allreduce::algorithms(),
         .make = make<Allreduce, start_sum>},
        {.name = "reduce",
         .numbers = true,
         .bus = BusFactor::one,
         .algorithms = &reduce::algorithms(),
         .make = make<Reduce, start_reduce>},
        {.name = "scatter",
         .blocks = true,
         .all_out = true,
         .bus = BusFactor::others,
         .algorithms = &scatter::algorithms(),
         .make = make<Scatter, start_scatter>},
        {.name = "gather",
         .blocks = true,
         .all_in = true,
         .bus = BusFactor::others,
         .algorithms = &gather::algorithms(),
         .make = make<Gather, start_gather>},
        {.name = "allgather",
         .blocks = true,
         .all_in = true,
         .bus = BusFactor::others,
         .algorithms = &allgather::algorithms(),
         .make = make<Allgather, start_allgather>},
        {.name = "reduce_scatter",
         .blocks = true,
         .numbers = true,
         .all_out = true,
         .bus = BusFactor::others,
         .algorithms = &reduce_scatter::algorithms(),
         .make = make<ReduceScatter, start_reduce_scatter>},
        {.name = "alltoall",
         .blocks = true,
         .all_in = true,
         .all_out = true,
         .bus = BusFactor::others,
         .algorithms = &alltoall::algorithms(),
         .make = make<Alltoall, start_alltoall>},
        {.name = "scan",
         .numbers = true,
         .algorithms = &scan::algorithms(),
         .make = make<Scan, start_scan>},
        {.name = "barrier", .sized = false, .make = make<Allreduce, start_barrier>}};
    return facts;
}

const CollectiveFacts* find_collective(std::string_view name) {
    const auto& facts = collective_operations();
    const auto found =
        std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.name == name; });
    return found == facts.end() ? nullptr : &*found;
}

const AlgorithmRow* CollectiveFacts::algorithm(std::string_view wanted) const {
    if (wanted == "automatic") return nullptr;
    if (algorithms == nullptr)
        throw std::invalid_argument(
            fmt::format("'{}' is not an algorithm of {} (expected automatic)", wanted, name));
    return &algorithms->row(wanted);
}

std::unique_ptr<CollectiveCall> make_collective(Group& group, std::string_view operation,
                                                std::string_view algorithm, void* in,
                                                const void* out, std::size_t bytes) {
    const CollectiveFacts* found = find_collective(operation);
    if (!found) throw std::invalid_argument(fmt::format("unknown collective '{}'", operation));
    const std::vector<std::size_t> counts(std::size_t(group.size()), bytes / sizeof(double));
    return found->make(group, found->name, {in, out, bytes, found->algorithm(algorithm), counts});
}

}  // namespace torusmp::bench
