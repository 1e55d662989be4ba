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
    int form;  // 0: automatic; then the facts' forms
    std::vector<std::size_t> counts;

    std::size_t doubles() const { return bytes / sizeof(double); }
    template <class Form>
    Form as() const {
        return Form(form);
    }
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

using Make = std::unique_ptr<CollectiveCall> (*)(Group&, std::string_view, Call);

template <class ScheduleType, typename CallOf<ScheduleType>::Start start>
std::unique_ptr<CollectiveCall> make(Group& group, std::string_view name, Call call) {
    return std::make_unique<CallOf<ScheduleType>>(group, name, std::move(call), start);
}

void broadcast(Broadcast& b, const Call& c) {
    b.start(c.in, c.bytes, 0, c.as<BroadcastForm>());
}
void sum(Allreduce& a, const Call& c) {
    a.start(c.in, c.doubles(), sum_of_doubles, c.as<ReduceForm>());
}
void reduce(Reduce& r, const Call& c) {
    r.start(c.in, c.out, c.doubles(), sum_of_doubles, 0, c.as<RootedForm>());
}
void scatter(Scatter& s, const Call& c) {
    s.start(c.in, c.bytes, c.out, Blocks::even(c.bytes), 0, c.as<ScatterForm>());
}
void gather(Gather& g, const Call& c) {
    g.start(c.in, Blocks::even(c.bytes), c.out, c.bytes, 0, c.as<GatherForm>());
}
void allgather(Allgather& a, const Call& c) {
    a.start(c.in, Blocks::even(c.bytes), c.out, c.as<GatherAllForm>());
}
void reduce_scatter(ReduceScatter& r, const Call& c) {
    r.start(c.in, c.out, c.counts, sum_of_doubles, c.as<ReduceScatterForm>());
}
void alltoall(Alltoall& a, const Call& c) {
    a.start(c.in, Blocks::even(c.bytes), c.out, Blocks::even(c.bytes), c.as<AlltoallForm>());
}
void scan(Scan& s, const Call& c) {
    s.start(c.in, c.doubles(), sum_of_doubles, ScanKind::inclusive, c.as<ScanForm>());
}
void barrier(Allreduce& a, const Call&) {
    a.start_barrier();
}

// The forms stand in the order of their enumerations, whose first is automatic. sdf, shortest
// direction first, is the way on which a message to each member is relayed.
const std::vector<CollectiveFacts> facts = {
    {.name = "broadcast", .forms = {"lines", "scatter", "tree", "disjoint"}},
    {.name = "sum", .numbers = true, .forms = {"exchange", "star", "lines", "scatter", "disjoint"}},
    {.name = "reduce", .numbers = true, .forms = {"lines", "tree", "disjoint"}},
    {.name = "scatter", .blocks = true, .all_out = true, .forms = {"opt", "sdf"}},
    {.name = "gather", .blocks = true, .all_in = true, .forms = {"opt", "sdf"}},
    {.name = "allgather",
     .blocks = true,
     .all_in = true,
     .forms = {"rings", "lines", "everyone", "star"}},
    {.name = "reduce_scatter",
     .blocks = true,
     .numbers = true,
     .all_out = true,
     .forms = {"rings", "lines", "ordered", "tree"}},
    {.name = "alltoall",
     .blocks = true,
     .all_in = true,
     .all_out = true,
     .forms = {"rings", "lines", "pairs"}},
    {.name = "scan", .numbers = true, .forms = {"lines", "doubling", "star"}},
    {.name = "barrier", .sized = false}};

// In the order of `facts`.
constexpr Make makers[] = {make<Broadcast, broadcast>,
                           make<Allreduce, sum>,
                           make<Reduce, reduce>,
                           make<Scatter, scatter>,
                           make<Gather, gather>,
                           make<Allgather, allgather>,
                           make<ReduceScatter, reduce_scatter>,
                           make<Alltoall, alltoall>,
                           make<Scan, scan>,
                           make<Allreduce, barrier>};

int form_of(const CollectiveFacts& operation, std::string_view form) {
    if (form == "automatic") return 0;
    const auto found = std::find(operation.forms.begin(), operation.forms.end(), form);
    if (found == operation.forms.end())
        throw std::invalid_argument(
            fmt::format("{} has no form '{}': expected automatic{}{}", operation.name, form,
                        operation.forms.empty() ? "" : ", ", fmt::join(operation.forms, ", ")));
    return 1 + int(found - operation.forms.begin());
}

}  // namespace

std::size_t CollectiveFacts::bytes_in(std::size_t bytes, int members) const {
    return all_in ? bytes * std::size_t(members) : bytes;
}

std::size_t CollectiveFacts::bytes_out(std::size_t bytes, int members) const {
    return all_out ? bytes * std::size_t(members) : bytes;
}

const std::vector<CollectiveFacts>& collective_operations() {
    return facts;
}

const CollectiveFacts* find_collective(std::string_view name) {
    const auto found =
        std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.name == name; });
    return found == facts.end() ? nullptr : &*found;
}

std::unique_ptr<CollectiveCall> make_collective(Group& group, std::string_view operation,
                                                std::string_view form, void* in, const void* out,
                                                std::size_t bytes) {
    const CollectiveFacts* found = find_collective(operation);
    if (!found) throw std::invalid_argument(fmt::format("there is no collective '{}'", operation));
    const std::vector<std::size_t> counts(std::size_t(group.size()), bytes / sizeof(double));
    return makers[found - facts.data()](group, found->name,
                                        Call{in, out, bytes, form_of(*found, form), counts});
}

}  // namespace torusmp::bench
