// SPDX-License-Identifier: BSD-3-Clause
// Reduce, allreduce, reduce-scatter and scans of one group (MPI-1.1, sections 4.9 to 4.11).
#include <cstring>

#include "collectives/allreduce/allreduce.h"
#include "collectives/reduce/reduce.h"
#include "collectives/reduce_scatter/reduce_scatter.h"
#include "collectives/scan/scan.h"
#include "mpi11/coll/collective_calls.h"
#include "mpi11/coll/reduction.h"

namespace torusmp::mpi {
namespace {

// The vectors of a call as given by the program.
struct Vectors {
    const void* send;
    void* receive;
    std::size_t count;

    bool stays() const { return in_place(send); }
    const void* values() const { return stays() ? receive : send; }
};

// Checks them if both are significant.
void check_vectors(const void* send, const void* receive, MPI_Count count, const Datatype& type) {
    check_buffer(receive, count, type);
    if (in_place(receive))
        fail(MPI_ERR_BUFFER, "found MPI_IN_PLACE for the receive buffer, expected memory");
    if (in_place(send)) return;
    check_buffer(send, count, type);
    check_alias(send, receive, std::size_t(count) * type.size());
}

// Checks the vectors at a rank without a result. Identical buffers are refused there too: if all
// members make that mistake, all of them get the error, and none begins the call alone.
void check_no_result(const void* send, const void* receive, MPI_Count count, const Datatype& type) {
    check_buffer(send, count, type);
    check_alias(send, receive, std::size_t(count) * type.size());
}

// A reduction whose schedule works on one vector in place.
class ReductionCall : public Call {
  protected:
    using Call::Call;
    ~ReductionCall() = default;

    void hold(const Vectors& vectors, Op& op, Datatype& type) {
        reduction_.prepare(op, type);
        vectors_ = vectors;
    }
    // The memory of the result, filled with this rank's values. With `apart`, it is not in the
    // program's memory.
    std::byte* filled(bool apart = false) {
        const std::size_t bytes = reduction_.bytes(vectors_.count);
        apart_ = apart || !reduction_.direct();
        std::byte* to = apart_ ? vector_.reserve(bytes) : reduction_.memory(vectors_.receive);
        if (!reduction_.direct())
            reduction_.load(to, vectors_.values(), vectors_.count);
        else if (bytes > 0 && (apart || !vectors_.stays()))
            std::memcpy(to, reduction_.memory(vectors_.values()), bytes);
        return to;
    }
    // Copies the result from the memory that filled() returned.
    void take_home() {
        if (apart_) reduction_.store(vectors_.receive, vector_.reserve(0), vectors_.count);
    }
    void let_go() { reduction_.forget(); }

    Reduction reduction_;
    Vectors vectors_{};
    collectives::Scratch vector_;
    bool apart_ = false;
};

class ReduceCall final : public ReductionCall {
  public:
    static constexpr Slot slot = Slot::reduce;
    explicit ReduceCall(Communicator& comm)
        : ReductionCall(comm, schedule_), schedule_(comm.group()) {}
    void prepare(const Vectors& vectors, Op& op, Datatype& type, int root) {
        hold(vectors, op, type);
        root_ = root;
    }
    void start() override {
        const bool here = comm().rank() == root_;
        if (!reduction_.direct()) {
            std::byte* vector = filled();
            return schedule_.start(here ? vector : nullptr, vector, vectors_.count,
                                   reduction_.operation(), root_);
        }
        schedule_.start(here ? reduction_.memory(vectors_.receive) : nullptr,
                        reduction_.memory(vectors_.values()), vectors_.count,
                        reduction_.operation(), root_);
    }
    void give_back() override {
        let_go();
        SchedulePools::give(comm(), *this);
    }

  private:
    void unstage() override {
        if (comm().rank() == root_ && !reduction_.direct()) take_home();
    }
    int root_ = 0;
    collectives::Reduce schedule_;
};

class AllreduceCall final : public ReductionCall {
  public:
    static constexpr Slot slot = Slot::allreduce;
    explicit AllreduceCall(Communicator& comm)
        : ReductionCall(comm, schedule_), schedule_(comm.group()) {}
    void prepare(const Vectors& vectors, Op& op, Datatype& type) { hold(vectors, op, type); }
    void start() override {
        if (!reduction_.direct())
            return schedule_.start(filled(), vectors_.count, reduction_.operation());
        schedule_.start(reduction_.memory(vectors_.receive), reduction_.memory(vectors_.values()),
                        vectors_.count, reduction_.operation());
    }
    void give_back() override {
        let_go();
        SchedulePools::give(comm(), *this);
    }

  private:
    void unstage() override {
        if (!reduction_.direct()) take_home();
    }
    collectives::Allreduce schedule_;
};

class ScanCall final : public ReductionCall {
  public:
    static constexpr Slot slot = Slot::scan;
    explicit ScanCall(Communicator& comm)
        : ReductionCall(comm, schedule_), schedule_(comm.group()) {}
    void prepare(const Vectors& vectors, Op& op, Datatype& type, collectives::ScanKind kind) {
        hold(vectors, op, type);
        kind_ = kind;
    }
    void start() override {
        // An exclusive scan has no result at the first rank, and no memory for one.
        schedule_.start(filled(no_result()), vectors_.count, reduction_.operation(), kind_);
    }
    void give_back() override {
        let_go();
        SchedulePools::give(comm(), *this);
    }

  private:
    bool no_result() const {
        return kind_ == collectives::ScanKind::exclusive && comm().rank() == 0;
    }
    void unstage() override {
        if (!no_result()) take_home();
    }
    collectives::ScanKind kind_ = collectives::ScanKind::inclusive;
    collectives::Scan schedule_;
};

class ReduceScatterCall final : public ReductionCall {
  public:
    static constexpr Slot slot = Slot::reduce_scatter;
    explicit ReduceScatterCall(Communicator& comm)
        : ReductionCall(comm, schedule_), schedule_(comm.group()) {}
    std::vector<std::size_t>& counts() { return counts_; }
    // vectors.count: of all blocks.
    void prepare(const Vectors& vectors, Op& op, Datatype& type) { hold(vectors, op, type); }
    void start() override {
        const std::byte* values = nullptr;
        std::byte* result = nullptr;
        if (reduction_.direct()) {
            values = reduction_.memory(vectors_.values());
            result = reduction_.memory(vectors_.receive);
        } else {
            values = filled();
            result = block_.reserve(reduction_.bytes(own_count()));
        }
        schedule_.start(result, values, counts_, reduction_.operation());
    }
    void give_back() override {
        let_go();
        SchedulePools::give(comm(), *this);
    }

  private:
    std::size_t own_count() const { return counts_[std::size_t(comm().rank())]; }
    void unstage() override {
        if (!reduction_.direct())
            reduction_.store(vectors_.receive, block_.reserve(0), own_count());
    }
    std::vector<std::size_t> counts_;
    collectives::Scratch block_;
    collectives::ReduceScatter schedule_;
};

// A vector of elements without data counts as a vector without elements.
Vectors vectors_of(const void* send, void* receive, std::size_t count, const Datatype& type) {
    return {send, receive, type.size() == 0 ? 0 : count};
}

Call& scan_of(Communicator& comm, const void* send, void* receive, MPI_Count count,
              MPI_Datatype type, MPI_Op op, collectives::ScanKind kind) {
    if (comm.inter())
        fail(MPI_ERR_COMM,
             "found an inter-communicator, which does not support "
             "scans");
    check_count(count);
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    if (kind == collectives::ScanKind::inclusive || comm.rank() != 0 || in_place(send))
        check_vectors(send, receive, count, elements);
    else
        check_no_result(send, receive, count, elements);
    Prepared<ScanCall> call(comm);
    call->prepare(vectors_of(send, receive, std::size_t(count), elements), operation, elements,
                  kind);
    return call.done();
}

}  // namespace

Call& reduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
             MPI_Datatype type, MPI_Op op, int root) {
    refuse_inter_in_place(comm, send, receive);
    if (comm.inter()) return inter_reduce(comm, send, receive, count, type, op, root);
    check_count(count);
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    check_root(comm, root);
    if (comm.rank() == root) {
        check_vectors(send, receive, count, elements);
    } else {
        if (in_place(send))
            fail(MPI_ERR_BUFFER, "found MPI_IN_PLACE, which only the root (rank {}) may pass",
                 root);
        check_buffer(send, count, elements);
    }
    Prepared<ReduceCall> call(comm);
    call->prepare(vectors_of(send, receive, std::size_t(count), elements), operation, elements,
                  root);
    return call.done();
}

Call& allreduce(Communicator& comm, const void* send, void* receive, MPI_Count count,
                MPI_Datatype type, MPI_Op op) {
    refuse_inter_in_place(comm, send, receive);
    if (comm.inter()) return inter_allreduce(comm, send, receive, count, type, op);
    check_count(count);
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    check_vectors(send, receive, count, elements);
    Prepared<AllreduceCall> call(comm);
    call->prepare(vectors_of(send, receive, std::size_t(count), elements), operation, elements);
    return call.done();
}

namespace {

// Without `counts`, each member has `count`.
Call& reduce_scatter_of(Communicator& comm, const void* send, void* receive, Numbers counts,
                        MPI_Count count, MPI_Datatype type, MPI_Op op) {
    refuse_inter_in_place(comm, send, receive);
    if (comm.inter()) return inter_reduce_scatter(comm, send, receive, counts, count, type, op);
    Datatype& elements = committed(type);
    Op& operation = checked<Op>(op);
    Prepared<ReduceScatterCall> call(comm);
    MPI_Count total = 0;
    call->counts().clear();
    for (int i = 0; i < comm.size(); ++i) {
        const MPI_Count of_rank = counts.given() ? counts[i] : count;
        if (of_rank < 0)
            fail(MPI_ERR_COUNT, "found count {} for rank {}, expected 0 or more", of_rank, i);
        call->counts().push_back(elements.size() == 0 ? 0 : std::size_t(of_rank));
        add_count(total, of_rank);
    }
    const MPI_Count own = counts.given() ? counts[comm.rank()] : count;
    if (in_place(receive))
        fail(MPI_ERR_BUFFER, "found MPI_IN_PLACE for the receive buffer, expected memory");
    check_buffer(receive, in_place(send) ? total : own, elements);
    if (!in_place(send)) {
        check_buffer(send, total, elements);
        check_alias(send, receive, std::size_t(total) * elements.size());
    }
    call->prepare(vectors_of(send, receive, std::size_t(total), elements), operation, elements);
    return call.done();
}

}  // namespace

Call& reduce_scatter(Communicator& comm, const void* send, void* receive, Numbers counts,
                     MPI_Datatype type, MPI_Op op) {
    if (!counts.given()) fail(MPI_ERR_ARG, "found a null array of receive counts");
    return reduce_scatter_of(comm, send, receive, counts, 0, type, op);
}

Call& reduce_scatter_block(Communicator& comm, const void* send, void* receive, MPI_Count count,
                           MPI_Datatype type, MPI_Op op) {
    check_count(count);
    return reduce_scatter_of(comm, send, receive, Numbers(), count, type, op);
}

Call& scan(Communicator& comm, const void* send, void* receive, MPI_Count count, MPI_Datatype type,
           MPI_Op op) {
    return scan_of(comm, send, receive, count, type, op, collectives::ScanKind::inclusive);
}

Call& exclusive_scan(Communicator& comm, const void* send, void* receive, MPI_Count count,
                     MPI_Datatype type, MPI_Op op) {
    return scan_of(comm, send, receive, count, type, op, collectives::ScanKind::exclusive);
}

}  // namespace torusmp::mpi
