// SPDX-License-Identifier: BSD-3-Clause
// Collectives between the two groups of an inter-communicator (MPI-2.2, section 5.2.2): inside a
// group by its own schedules, between the groups by messages of the ranks involved, or of the first
// rank of each group.
#include <cstring>

#include "collectives/allreduce/allreduce.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/reduce/reduce.h"
#include "collectives/scatter/scatter.h"
#include "collectives/schedule/sequence.h"
#include "mpi11/coll/collective_calls.h"
#include "mpi11/coll/reduction.h"
#include "mpi11/pt2pt/exchange_call.h"

namespace torusmp::mpi {
namespace {

using collectives::Schedule;
using collectives::Scratch;

// The numbers of parts, see Schedule::nest().
constexpr int first_part = 8;
constexpr int second_part = 16;
constexpr int third_part = 24;

// The exchange between the groups; unused by members that do not take part in it.
class Between {
  public:
    explicit Between(Communicator& comm) : comm_(&comm), exchange(SchedulePools::both(comm)) {}
    void clear() {
        exchange.clear();
        any_ = false;
    }
    void send(std::byte* memory, std::size_t bytes, int to) {
        exchange.add_send(core::Buffer(memory, bytes), comm_->peer(to));
        any_ = true;
    }
    void receive(std::byte* memory, std::size_t bytes, int from) {
        exchange.add_receive(core::Buffer(memory, bytes), comm_->peer(from));
        any_ = true;
    }
    Schedule* start() {
        if (!any_) return nullptr;
        exchange.start();
        return &exchange;
    }

  private:
    Communicator* comm_;
    bool any_ = false;

  public:
    collectives::Exchange exchange;
};

class InterBarrierCall final : public Call {
  public:
    static constexpr Slot slot = Slot::inter_barrier;
    explicit InterBarrierCall(Communicator& comm)
        : Call(comm, schedule_), schedule_(SchedulePools::both(comm)) {}
    void start() override { schedule_.start_barrier(); }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    collectives::Allreduce schedule_;
};

// ---- broadcast: from the root to the other group's first rank, then inside that group ----

class BroadcastSteps final : public collectives::Sequence {
  public:
    explicit BroadcastSteps(Communicator& comm)
        : Sequence(SchedulePools::both(comm), 2), between(comm), inside_(comm.group()) {
        nest(between.exchange, first_part);
        nest(inside_, second_part);
    }
    // `memory` is null if nothing is received.
    void start(const char* name, std::byte* memory, std::size_t bytes) {
        memory_ = memory;
        bytes_ = bytes;
        rewind();
        begin(name);
    }
    void start_inside(bool wanted) { wanted_ = wanted; }
    Between between;

  private:
    Schedule* start_part(int number) override {
        if (number == 0) return between.start();
        if (!wanted_) return nullptr;
        inside_.start(memory_, bytes_, 0);
        return &inside_;
    }
    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    bool wanted_ = false;
    collectives::Broadcast inside_;
};

class InterBroadcastCall final : public Call {
  public:
    static constexpr Slot slot = Slot::inter_broadcast;
    explicit InterBroadcastCall(Communicator& comm) : Call(comm, steps_), steps_(comm) {}
    void prepare(void* buffer, MPI_Count count, MPI_Datatype type, int root) {
        root_ = root;
        piece_.set_nothing();
        steps_.between.clear();
        steps_.start_inside(root >= 0);
        if (root == MPI_PROC_NULL) return;
        check_count(count);
        piece_.set(buffer, count, committed(type));
        if (root == MPI_ROOT)
            steps_.between.send(piece_.memory(), piece_.bytes(), 0);
        else if (comm().rank() == 0)
            steps_.between.receive(piece_.memory(), piece_.bytes(), root);
    }
    void start() override {
        if (root_ == MPI_ROOT) piece_.pack();
        steps_.start("inter-communicator broadcast", piece_.memory(), piece_.bytes());
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override {
        if (root_ >= 0) piece_.unpack();
    }
    int root_ = MPI_PROC_NULL;
    Piece piece_;
    BroadcastSteps steps_;
};

// ---- allgather: all to the other group's first rank, then inside that group ----

class InterAllgatherCall final : public Call {
  public:
    static constexpr Slot slot = Slot::inter_allgather;
    explicit InterAllgatherCall(Communicator& comm) : Call(comm, steps_), steps_(comm) {}
    void prepare(const void* send, MPI_Count count, MPI_Datatype type, const BlockList& list) {
        check_count(count);
        own_.set(send, count, committed(type));
        check_alias(send, list.base, own_.bytes());
        blocks_.set(list, true);
        steps_.between.clear();
        steps_.start_inside(true);
        if (own_.bytes() > 0) steps_.between.send(own_.memory(), own_.bytes(), 0);
        for (int i = 0; comm().rank() == 0 && i < comm().remote_size(); ++i)
            if (const std::size_t bytes = blocks_.bytes_of(i); bytes > 0)
                steps_.between.receive(blocks_.memory() + blocks_.blocks().offset(i), bytes, i);
    }
    void start() override {
        own_.pack();
        steps_.start("inter-communicator allgather", blocks_.memory(), blocks_.bytes());
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override { blocks_.unpack(); }
    Piece own_;
    BlockPieces blocks_;
    BroadcastSteps steps_;
};

// ---- reductions: to the group's first rank, then to the other group, then inside that group ----

class ReduceSteps final : public collectives::Sequence {
  public:
    explicit ReduceSteps(Communicator& comm)
        : Sequence(SchedulePools::both(comm), 3),
          between(comm),
          reduce_(comm.group()),
          broadcast_(comm.group()),
          scatter_(comm.group()) {
        nest(reduce_, first_part);
        nest(between.exchange, second_part);
        nest(broadcast_, third_part);
        nest(scatter_, third_part);
    }
    enum class Then { nothing, broadcast, scatter };
    struct Plan {
        const std::byte* values = nullptr;  // null if there is nothing to reduce here
        std::byte* sum = nullptr;           // at the group's first rank
        std::size_t count = 0;
        collectives::Operation operation;
        Then then = Then::nothing;
        std::byte* come = nullptr;    // the other group's sum, at the group's first rank
        std::byte* result = nullptr;  // the part of it for this rank
        std::size_t bytes = 0;
        collectives::Blocks blocks;  // of the received data, by rank
    };
    void start(const char* name, const Plan& plan) {
        plan_ = plan;
        rewind();
        begin(name);
    }
    Between between;

  private:
    Schedule* start_part(int number) override {
        if (number == 1) return between.start();
        if (number == 0) {
            if (plan_.values == nullptr) return nullptr;
            reduce_.start(plan_.sum, plan_.values, plan_.count, plan_.operation, 0);
            return &reduce_;
        }
        if (plan_.then == Then::nothing) return nullptr;
        if (plan_.then == Then::broadcast) {
            broadcast_.start(plan_.result, plan_.bytes, 0);
            return &broadcast_;
        }
        scatter_.start(plan_.result, plan_.bytes, plan_.come, plan_.blocks, 0);
        return &scatter_;
    }
    Plan plan_;
    collectives::Reduce reduce_;
    collectives::Broadcast broadcast_;
    collectives::Scatter scatter_;
};

class InterReduceCall final : public Call {
  public:
    static constexpr Slot slot = Slot::inter_reduce;
    explicit InterReduceCall(Communicator& comm) : Call(comm, steps_), steps_(comm) {}

    void begin_with(Op& op, Datatype& type) {
        reduction_.prepare(op, type);
        steps_.between.clear();
        what_ = What::nothing;
        sizes_.clear();
        offsets_.clear();
    }
    // Takes part in the reduction of this group with `count` elements at `send`.
    void contribute(const void* send, std::size_t count) {
        send_ = send;
        count_ = count;
        what_ = What::contribute;
    }
    // The result of the other group is wanted only at the root, which is this rank.
    void be_root(void* receive, std::size_t count) {
        receive_ = receive;
        count_ = own_ = count;
        what_ = What::root;
        sum_.reserve(reduction_.bytes(count));
        steps_.between.receive(come(), reduction_.bytes(count), 0);
    }
    // Sends the sum of this group to that rank of the other group.
    void send_to(int root) {
        if (comm().rank() == 0) steps_.between.send(sum(), reduction_.bytes(count_), root);
    }
    // Both groups want the other's sum.
    void exchange(void* receive) {
        receive_ = receive;
        own_ = count_;
        what_ = What::all;
        if (comm().rank() != 0) return;
        steps_.between.send(sum(), reduction_.bytes(count_), 0);
        steps_.between.receive(come(), reduction_.bytes(count_), 0);
    }
    // Like exchange(), but each rank wants only a block.
    void deal(Numbers counts, MPI_Count count) {
        what_ = What::deal;
        std::size_t offset = 0;
        for (int i = 0; i < comm().size(); ++i) {
            const auto of_rank = std::size_t(counts.given() ? counts[i] : count);
            sizes_.push_back(reduction_.bytes(of_rank));
            offsets_.push_back(offset);
            offset += sizes_.back();
            if (i == comm().rank()) own_ = of_rank;
        }
    }
    void start() override {
        ReduceSteps::Plan plan;
        plan.operation = reduction_.operation();
        plan.count = count_;
        if (what_ != What::root && what_ != What::nothing) {
            plan.values = values();
            plan.sum = comm().rank() == 0 ? sum() : nullptr;
        }
        if (what_ == What::all || what_ == What::deal) {
            plan.then =
                what_ == What::all ? ReduceSteps::Then::broadcast : ReduceSteps::Then::scatter;
            plan.come = come();
            plan.bytes = reduction_.bytes(own_);
            plan.result = what_ == What::all ? come() : block_.reserve(plan.bytes);
            plan.blocks = collectives::Blocks::each(sizes_, offsets_);
        }
        steps_.start("inter-communicator reduction", plan);
    }
    void give_back() override {
        reduction_.forget();
        SchedulePools::give(comm(), *this);
    }

  private:
    enum class What { nothing, contribute, root, all, deal };
    std::byte* sum() { return sum_.reserve(reduction_.bytes(count_)); }
    std::byte* come() { return come_.reserve(reduction_.bytes(count_)); }
    const std::byte* values() {
        if (reduction_.direct() && count_ > 0) return reduction_.memory(send_);
        std::byte* vector = vector_.reserve(reduction_.bytes(count_) + 1);  // never null
        reduction_.load(vector, send_, count_);
        return vector;
    }
    void unstage() override {
        if (what_ == What::nothing || what_ == What::contribute) return;
        const std::byte* vector = what_ == What::deal ? block_.reserve(0) : come();
        if (!reduction_.direct())
            reduction_.store(receive_, vector, own_);
        else if (own_ > 0)
            std::memcpy(reduction_.memory(receive_), vector, reduction_.bytes(own_));
    }

    What what_ = What::nothing;
    Reduction reduction_;
    const void* send_ = nullptr;
    void* receive_ = nullptr;
    std::size_t count_ = 0;  // of the vector
    std::size_t own_ = 0;    // of it, for this rank
    std::vector<std::size_t> sizes_, offsets_;
    Scratch vector_, sum_, come_, block_;
    ReduceSteps steps_;
};

std::size_t elements_of(MPI_Count count, const Datatype& type) {
    check_count(count);
    return type.size() == 0 ? 0 : std::size_t(count);
}

}  // namespace

Call& inter_barrier(Communicator& comm) {
    return Prepared<InterBarrierCall>(comm).done();
}

Call& inter_broadcast(Communicator& comm, void* buffer, MPI_Count count, MPI_Datatype type,
                      int root) {
    check_inter_root(comm, root);
    Prepared<InterBroadcastCall> call(comm);
    call->prepare(buffer, count, type, root);
    return call.done();
}

Call& inter_allgather(Communicator& comm, const void* send, MPI_Count send_count,
                      MPI_Datatype send_type, const BlockList& list) {
    Prepared<InterAllgatherCall> call(comm);
    call->prepare(send, send_count, send_type, list);
    return call.done();
}

// ---- gather, scatter, alltoall: messages between all ranks involved ----

Call& inter_gather(Communicator& comm, const void* send, MPI_Count send_count,
                   MPI_Datatype send_type, const BlockList* list, int root) {
    Prepared<ExchangeCall> call(comm);
    call->prepare("inter-communicator gather");
    for (int i = 0; list != nullptr && i < list->blocks; ++i)
        call->receive(list->address_of(i), list->count_of(i), list->type_of(i), comm.peer(i));
    if (root >= 0) {
        check_count(send_count);
        const Datatype& type = committed(send_type);
        check_buffer(send, send_count, type);
        call->send(send, send_count, type, comm.peer(root));
    }
    return call.done();
}

Call& inter_scatter(Communicator& comm, const BlockList* list, void* receive,
                    MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    Prepared<ExchangeCall> call(comm);
    call->prepare("inter-communicator scatter");
    for (int i = 0; list != nullptr && i < list->blocks; ++i)
        call->send(list->address_of(i), list->count_of(i), list->type_of(i), comm.peer(i));
    if (root >= 0) {
        check_count(receive_count);
        const Datatype& type = committed(receive_type);
        check_buffer(receive, receive_count, type);
        call->receive(receive, receive_count, type, comm.peer(root));
    }
    return call.done();
}

Call& inter_alltoall(Communicator& comm, const BlockList& send, const BlockList& receive) {
    Prepared<ExchangeCall> call(comm);
    call->prepare("inter-communicator alltoall");
    for (int i = 0; i < comm.remote_size(); ++i) {
        call->receive(receive.address_of(i), receive.count_of(i), receive.type_of(i), comm.peer(i));
        call->send(send.address_of(i), send.count_of(i), send.type_of(i), comm.peer(i));
    }
    return call.done();
}

// ---- reductions ----

Call& inter_reduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
                   MPI_Datatype type, MPI_Op op, int root) {
    check_inter_root(comm, root);
    Prepared<InterReduceCall> call(comm);
    if (root == MPI_PROC_NULL) {
        call->begin_with(checked<Op>(MPI_MAX), checked<Datatype>(MPI_INT));
        return call.done();
    }
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    const std::size_t number = elements_of(count, elements);
    call->begin_with(operation, elements);
    if (root == MPI_ROOT) {
        check_buffer(receive, count, elements);
        call->be_root(receive, number);
    } else {
        check_buffer(send, count, elements);
        call->contribute(send, number);
        call->send_to(root);
    }
    return call.done();
}

Call& inter_allreduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
                      MPI_Datatype type, MPI_Op op) {
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    const std::size_t number = elements_of(count, elements);
    check_buffer(send, count, elements);
    check_buffer(receive, count, elements);
    check_alias(send, receive, number * elements.size());
    Prepared<InterReduceCall> call(comm);
    call->begin_with(operation, elements);
    call->contribute(send, number);
    call->exchange(receive);
    return call.done();
}

Call& inter_reduce_scatter(Communicator& comm, const void* send, void* receive, Numbers counts,
                           MPI_Count count, MPI_Datatype type, MPI_Op op) {
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    MPI_Count all = 0;
    for (int i = 0; i < comm.size(); ++i)
        add_count(all, MPI_Count(elements_of(counts.given() ? counts[i] : count, elements)));
    check_buffer(send, all, elements);
    const auto total = std::size_t(all);
    check_buffer(receive, counts.given() ? counts[comm.rank()] : count, elements);
    check_alias(send, receive, total * elements.size());
    Prepared<InterReduceCall> call(comm);
    call->begin_with(operation, elements);
    call->contribute(send, total);
    call->exchange(receive);
    call->deal(counts, count);
    return call.done();
}

}  // namespace torusmp::mpi
