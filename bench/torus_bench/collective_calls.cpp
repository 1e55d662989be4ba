#include "bench/torus_bench/collective_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

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
namespace {

using namespace collectives;

void add_doubles(void* inout, const void* in, std::size_t count, const void*) {
    auto* sum = static_cast<double*>(inout);
    const auto* more = static_cast<const double*>(in);
    for (std::size_t i = 0; i < count; ++i) sum[i] += more[i];
}

constexpr Operation sum_of_doubles{.combine = add_doubles, .element = sizeof(double)};

// What a call is made from.
struct Call {
    void* in;
    const void* out;
    std::size_t bytes;
    const AlgorithmRow* algorithm;  // null: as the settings say
    std::vector<std::size_t> counts;

    std::size_t doubles() const { return bytes / sizeof(double); }
};

// A schedule, and how it is started.
template <class ScheduleType>
class CallOf final : public CollectiveCall {
  public:
    using Start = void (*)(ScheduleType&, const Call&);
    CallOf(Group& group, std::string_view name, Call call, Start start)
        : schedule_(group), name_(name), call_(std::move(call)), start_(start) {}

    void run() override {
        start_(schedule_, call_);
        schedule_.wait();
        if (schedule_.error() != core::Error::none)
            throw std::runtime_error(fmt::format("{}: {}", name_, schedule_.failure()));
    }

  private:
    ScheduleType schedule_;
    std::string_view name_;
    Call call_;
    Start start_;
};

void start_broadcast(Broadcast& b, const Call& c) {
    b.start(c.in, c.bytes, 0, c.algorithm);
}
void start_sum(Allreduce& a, const Call& c) {
    a.start(c.in, c.doubles(), sum_of_doubles, c.algorithm);
}
void start_reduce(Reduce& r, const Call& c) {
    r.start(c.in, c.out, c.doubles(), sum_of_doubles, 0, c.algorithm);
}
void start_scatter(Scatter& s, const Call& c) {
    s.start(c.in, c.bytes, c.out, Blocks::even(c.bytes), 0, c.algorithm);
}
void start_gather(Gather& g, const Call& c) {
    g.start(c.in, Blocks::even(c.bytes), c.out, c.bytes, 0, c.algorithm);
}
void start_allgather(Allgather& a, const Call& c) {
    a.start(c.in, Blocks::even(c.bytes), c.out, c.algorithm);
}
void start_reduce_scatter(ReduceScatter& r, const Call& c) {
    r.start(c.in, c.out, c.counts, sum_of_doubles, c.algorithm);
}
void start_alltoall(Alltoall& a, const Call& c) {
    a.start(c.in, Blocks::even(c.bytes), c.out, Blocks::even(c.bytes), c.algorithm);
}
void start_scan(Scan& s, const Call& c) {
    s.start(c.in, c.doubles(), sum_of_doubles, ScanKind::inclusive, c.algorithm);
}
void start_barrier(Allreduce& a, const Call&) {
    a.start_barrier();
}

using Make = std::unique_ptr<CollectiveCall> (*)(Group&, std::string_view, Call);

template <class ScheduleType, typename CallOf<ScheduleType>::Start start>
std::unique_ptr<CollectiveCall> make(Group& group, std::string_view name, Call call) {
    return std::make_unique<CallOf<ScheduleType>>(group, name, std::move(call), start);
}

// In the order of the facts.
constexpr Make makers[] = {make<Broadcast, start_broadcast>,
                           make<Allreduce, start_sum>,
                           make<Reduce, start_reduce>,
                           make<Scatter, start_scatter>,
                           make<Gather, start_gather>,
                           make<Allgather, start_allgather>,
                           make<ReduceScatter, start_reduce_scatter>,
                           make<Alltoall, start_alltoall>,
                           make<Scan, start_scan>,
                           make<Allreduce, start_barrier>};

}  // namespace

std::size_t CollectiveFacts::bytes_in(std::size_t bytes, int members) const {
    return all_in ? bytes * std::size_t(members) : bytes;
}

std::size_t CollectiveFacts::bytes_out(std::size_t bytes, int members) const {
    return all_out ? bytes * std::size_t(members) : bytes;
}

const std::vector<CollectiveFacts>& collective_operations() {
    static const std::vector<CollectiveFacts> facts = {
        {.name = "broadcast", .algorithms = &broadcast::algorithms()},
        {.name = "sum", .numbers = true, .algorithms = &allreduce::algorithms()},
        {.name = "reduce", .numbers = true, .algorithms = &reduce::algorithms()},
        {.name = "scatter", .blocks = true, .all_out = true, .algorithms = &scatter::algorithms()},
        {.name = "gather", .blocks = true, .all_in = true, .algorithms = &gather::algorithms()},
        {.name = "allgather",
         .blocks = true,
         .all_in = true,
         .algorithms = &allgather::algorithms()},
        {.name = "reduce_scatter",
         .blocks = true,
         .numbers = true,
         .all_out = true,
         .algorithms = &reduce_scatter::algorithms()},
        {.name = "alltoall",
         .blocks = true,
         .all_in = true,
         .all_out = true,
         .algorithms = &alltoall::algorithms()},
        {.name = "scan", .numbers = true, .algorithms = &scan::algorithms()},
        {.name = "barrier", .sized = false}};
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
            fmt::format("'{}' is no algorithm of {}; expected automatic", wanted, name));
    return &algorithms->row(wanted);
}

std::unique_ptr<CollectiveCall> make_collective(Group& group, std::string_view operation,
                                                std::string_view algorithm, void* in,
                                                const void* out, std::size_t bytes) {
    const CollectiveFacts* found = find_collective(operation);
    if (!found) throw std::invalid_argument(fmt::format("there is no collective '{}'", operation));
    const std::vector<std::size_t> counts(std::size_t(group.size()), bytes / sizeof(double));
    return makers[found - collective_operations().data()](
        group, found->name, Call{in, out, bytes, found->algorithm(algorithm), counts});
}

}  // namespace torusmp::bench
