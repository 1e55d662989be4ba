// SPDX-License-Identifier: BSD-3-Clause
// Barrier, broadcast, gather, scatter, allgather and alltoall of one group (MPI-1.1, chapter 4).
#include "collectives/allgather/allgather.h"
#include "collectives/allreduce/allreduce.h"
#include "collectives/alltoall/alltoall.h"
#include "collectives/broadcast/broadcast.h"
#include "collectives/gather/gather.h"
#include "collectives/scatter/scatter.h"
#include "mpi11/coll/collective_calls.h"
#include "mpi11/coll/operation.h"

#include <cstring>

namespace torusmp::mpi {
namespace {

class BarrierCall final : public Call {
  public:
    static constexpr Slot slot = Slot::barrier;
    explicit BarrierCall(Communicator& comm) : Call(comm, schedule_), schedule_(comm.group()) {}
    void start() override { schedule_.start_barrier(); }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    collectives::Allreduce schedule_;
};

class BroadcastCall final : public Call {
  public:
    static constexpr Slot slot = Slot::broadcast;
    explicit BroadcastCall(Communicator& comm) : Call(comm, schedule_), schedule_(comm.group()) {}
    void prepare(void* buffer, MPI_Count count, const Datatype& type, int root) {
        piece_.set(buffer, count, type);
        root_ = root;
        schedule_.set_elements(elements_of(type), type.basic() == Basic::none ? 0 : type.size());
    }
    void start() override {
        if (comm().rank() == root_) piece_.pack();
        schedule_.start(piece_.memory(), piece_.bytes(), root_);
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override {
        if (comm().rank() != root_) piece_.unpack();
    }
    Piece piece_;
    int root_ = 0;
    collectives::Broadcast schedule_;
};

class GatherCall final : public Call {
  public:
    static constexpr Slot slot = Slot::gather;
    explicit GatherCall(Communicator& comm) : Call(comm, schedule_), schedule_(comm.group()) {}
    // `list` is used at the root only.
    void prepare(const void* send, MPI_Count count, MPI_Datatype type, const BlockList* list,
                 int root) {
        root_ = root;
        in_place_ = list != nullptr && in_place(send);
        own_.set_nothing();
        if (!in_place_) {
            check_count(count);
            own_.set(send, count, committed(type));
        }
        if (list == nullptr) return;
        blocks_.set(*list);
        if (in_place_) return;
        check_alias(send, list->address_of(root), own_.bytes());
    }
    void start() override {
        if (comm().rank() == root_ && in_place_)
            return schedule_.start(blocks_.memory(), blocks_.blocks(), nullptr, 0, root_);
        own_.pack();
        schedule_.start(blocks_.memory(), blocks_.blocks(), own_.memory(), own_.bytes(), root_);
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override {
        if (comm().rank() != root_) return;
        if (in_place_)
            blocks_.unpack_but(root_);
        else
            blocks_.unpack();
    }
    Piece own_;
    BlockPieces blocks_;
    bool in_place_ = false;
    int root_ = 0;
    collectives::Gather schedule_;
};

class ScatterCall final : public Call {
  public:
    static constexpr Slot slot = Slot::scatter;
    explicit ScatterCall(Communicator& comm) : Call(comm, schedule_), schedule_(comm.group()) {}
    // `list` is used at the root only.
    void prepare(const BlockList* list, void* receive, MPI_Count count, MPI_Datatype type,
                 int root) {
        root_ = root;
        stays_ = list != nullptr && in_place(receive);
        own_.set_nothing();
        if (!stays_) {
            check_count(count);
            own_.set(receive, count, committed(type));
        }
        if (list == nullptr) return;
        blocks_.set(*list);
        if (stays_) return;
        check_alias(list->address_of(root), receive, own_.bytes());
    }
    void start() override {
        if (comm().rank() == root_) {
            if (!stays_ && blocks_.bytes_of(root_) != own_.bytes()) [[unlikely]]
                return schedule_.refuse(blocks_.bytes_of(root_), own_.bytes());
            blocks_.pack();
        }
        schedule_.start(own_.memory(), own_.bytes(), blocks_.memory(), blocks_.blocks(), root_);
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override { own_.unpack(); }
    Piece own_;
    BlockPieces blocks_;
    bool stays_ = false;  // the root's own block
    int root_ = 0;
    collectives::Scatter schedule_;
};

class AllgatherCall final : public Call {
  public:
    static constexpr Slot slot = Slot::allgather;
    explicit AllgatherCall(Communicator& comm) : Call(comm, schedule_), schedule_(comm.group()) {}
    void prepare(const void* send, MPI_Count count, MPI_Datatype type, const BlockList& list) {
        in_place_ = in_place(send);
        blocks_.set(list);
        own_.set_nothing();
        if (in_place_) return;
        check_count(count);
        own_.set(send, count, committed(type));
        check_alias(send, list.address_of(comm().rank()), own_.bytes());
    }
    void start() override {
        if (in_place_) {
            blocks_.pack(comm().rank());
        } else if (own_.bytes() != blocks_.bytes_of(comm().rank())) [[unlikely]] {
            return schedule_.refuse(blocks_.blocks(), own_.bytes());
        } else {
            own_.pack();
        }
        schedule_.start(blocks_.memory(), blocks_.blocks(), own_.memory());
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override {
        if (in_place_)
            blocks_.unpack_but(comm().rank());
        else
            blocks_.unpack();
    }
    Piece own_;
    BlockPieces blocks_;
    bool in_place_ = false;
    collectives::Allgather schedule_;
};

class AlltoallCall final : public Call {
  public:
    static constexpr Slot slot = Slot::alltoall;
    explicit AlltoallCall(Communicator& comm) : Call(comm, schedule_), schedule_(comm.group()) {}
    void prepare(const BlockList& send, const BlockList& receive) {
        in_place_ = false;
        check_alias(send.base, receive.base, receive.blocks > 0 ? receive.bytes_of(0) : 0);
        in_.set(receive);
        out_.set(send);
    }
    // The data sent is taken from the receive buffer.
    void prepare_in_place(const BlockList& receive) {
        in_place_ = true;
        in_.set(receive);
        if (!receive.even()) out_.set(receive, true);
    }
    void start() override {
        if (in_place_ && in_.blocks().is_even()) {
            in_.pack();
            std::byte* copy = copy_.reserve(in_.bytes());
            if (in_.bytes() > 0) std::memcpy(copy, in_.memory(), in_.bytes());
            return schedule_.start(in_.memory(), in_.blocks(), copy, in_.blocks());
        }
        const int rank = comm().rank();
        if (!in_place_ && out_.bytes_of(rank) != in_.bytes_of(rank)) [[unlikely]]
            return schedule_.refuse(in_.blocks(), out_.blocks());
        out_.pack();
        schedule_.start(in_.memory(), in_.blocks(), out_.memory(), out_.blocks());
    }
    void give_back() override { SchedulePools::give(comm(), *this); }

  private:
    void unstage() override { in_.unpack(); }
    BlockPieces in_, out_;
    bool in_place_ = false;
    collectives::Scratch copy_;
    collectives::Alltoall schedule_;
};

// Whether this rank's arguments about all blocks are significant.
bool has_blocks(const Communicator& comm, int root) {
    if (comm.inter())
        check_inter_root(comm, root);
    else
        check_root(comm, root);
    return comm.inter() ? root == MPI_ROOT : comm.rank() == root;
}

Call& gather_of(Communicator& comm, const void* send, MPI_Count count, MPI_Datatype type,
                const BlockList* list, int root) {
    if (comm.inter()) return inter_gather(comm, send, count, type, list, root);
    Prepared<GatherCall> call(comm);
    call->prepare(send, count, type, list, root);
    return call.done();
}

Call& scatter_of(Communicator& comm, const BlockList* list, void* receive, MPI_Count count,
                 MPI_Datatype type, int root) {
    if (comm.inter()) return inter_scatter(comm, list, receive, count, type, root);
    Prepared<ScatterCall> call(comm);
    call->prepare(list, receive, count, type, root);
    return call.done();
}

Call& allgather_of(Communicator& comm, const void* send, MPI_Count count, MPI_Datatype type,
                   const BlockList& list) {
    refuse_inter_in_place(comm, send, nullptr);
    if (comm.inter()) return inter_allgather(comm, send, count, type, list);
    Prepared<AllgatherCall> call(comm);
    call->prepare(send, count, type, list);
    return call.done();
}

Call& alltoall_of(Communicator& comm, const BlockList& send, const BlockList& receive) {
    if (comm.inter()) return inter_alltoall(comm, send, receive);
    Prepared<AlltoallCall> call(comm);
    call->prepare(send, receive);
    return call.done();
}

Call& alltoall_in_place(Communicator& comm, const BlockList& receive) {
    Prepared<AlltoallCall> call(comm);
    call->prepare_in_place(receive);
    return call.done();
}

}  // namespace

Call& barrier(Communicator& comm) {
    if (comm.inter()) return inter_barrier(comm);
    return Prepared<BarrierCall>(comm).done();
}

Call& broadcast(Communicator& comm, void* buffer, MPI_Count count, MPI_Datatype type, int root) {
    refuse_inter_in_place(comm, nullptr, buffer);
    if (comm.inter()) return inter_broadcast(comm, buffer, count, type, root);
    check_count(count);
    const Datatype& elements = committed(type);
    check_root(comm, root);
    Prepared<BroadcastCall> call(comm);
    call->prepare(buffer, count, elements, root);
    return call.done();
}

Call& gather(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
             void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    refuse_inter_in_place(comm, send, receive);
    if (!has_blocks(comm, root)) return gather_of(comm, send, send_count, send_type, nullptr, root);
    const auto list = BlockList::even(receive, receive_count, receive_type, comm.remote_size());
    return gather_of(comm, send, send_count, send_type, &list, root);
}

Call& gatherv(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
              void* receive, Numbers counts, Numbers displacements, MPI_Datatype receive_type,
              int root) {
    refuse_inter_in_place(comm, send, receive);
    if (!has_blocks(comm, root)) return gather_of(comm, send, send_count, send_type, nullptr, root);
    const auto list = BlockList::each(receive, counts, displacements, receive_type,
                                      comm.remote_size(), "receive");
    return gather_of(comm, send, send_count, send_type, &list, root);
}

Call& scatter(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
              void* receive, MPI_Count receive_count, MPI_Datatype receive_type, int root) {
    refuse_inter_in_place(comm, send, receive);
    if (!has_blocks(comm, root))
        return scatter_of(comm, nullptr, receive, receive_count, receive_type, root);
    const auto list = BlockList::even(send, send_count, send_type, comm.remote_size());
    return scatter_of(comm, &list, receive, receive_count, receive_type, root);
}

Call& scatterv(Communicator& comm, const void* send, Numbers counts, Numbers displacements,
               MPI_Datatype send_type, void* receive, MPI_Count receive_count,
               MPI_Datatype receive_type, int root) {
    refuse_inter_in_place(comm, send, receive);
    if (!has_blocks(comm, root))
        return scatter_of(comm, nullptr, receive, receive_count, receive_type, root);
    const auto list =
        BlockList::each(send, counts, displacements, send_type, comm.remote_size(), "send");
    return scatter_of(comm, &list, receive, receive_count, receive_type, root);
}

Call& allgather(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                void* receive, MPI_Count receive_count, MPI_Datatype receive_type) {
    return allgather_of(comm, send, send_count, send_type,
                        BlockList::even(receive, receive_count, receive_type, comm.remote_size()));
}

Call& allgatherv(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
                 void* receive, Numbers counts, Numbers displacements, MPI_Datatype receive_type) {
    return allgather_of(comm, send, send_count, send_type,
                        BlockList::each(receive, counts, displacements, receive_type,
                                        comm.remote_size(), "receive"));
}

Call& alltoall(Communicator& comm, const void* send, MPI_Count send_count, MPI_Datatype send_type,
               void* receive, MPI_Count receive_count, MPI_Datatype receive_type) {
    refuse_inter_in_place(comm, send, receive);
    const int blocks = comm.remote_size();
    const auto in = BlockList::even(receive, receive_count, receive_type, blocks);
    if (in_place(send)) return alltoall_in_place(comm, in);
    return alltoall_of(comm, BlockList::even(send, send_count, send_type, blocks), in);
}

Call& alltoallv(Communicator& comm, const void* send, Numbers send_counts,
                Numbers send_displacements, MPI_Datatype send_type, void* receive,
                Numbers receive_counts, Numbers receive_displacements, MPI_Datatype receive_type) {
    refuse_inter_in_place(comm, send, receive);
    const int blocks = comm.remote_size();
    const auto in = BlockList::each(receive, receive_counts, receive_displacements, receive_type,
                                    blocks, "receive");
    if (in_place(send)) return alltoall_in_place(comm, in);
    return alltoall_of(
        comm, BlockList::each(send, send_counts, send_displacements, send_type, blocks, "send"),
        in);
}

Call& alltoallw(Communicator& comm, const void* send, Numbers send_counts,
                Numbers send_displacements, const MPI_Datatype send_types[], void* receive,
                Numbers receive_counts, Numbers receive_displacements,
                const MPI_Datatype receive_types[]) {
    refuse_inter_in_place(comm, send, receive);
    const int blocks = comm.remote_size();
    const auto in = BlockList::with_types(receive, receive_counts, receive_displacements,
                                          receive_types, blocks, "receive");
    if (in_place(send)) return alltoall_in_place(comm, in);
    return alltoall_of(
        comm,
        BlockList::with_types(send, send_counts, send_displacements, send_types, blocks, "send"),
        in);
}

}  // namespace torusmp::mpi
