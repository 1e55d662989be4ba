// SPDX-License-Identifier: BSD-3-Clause
// The receiving end of a partitioned message. MPI_Start posts one receive for each piece. The first
// time it may have to wait for the announcement; progress then posts the receives, whatever the
// program is waiting for. Any thread may test whether partitions have arrived.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "mpi11/partitioned/message.h"

namespace torusmp::mpi::partitioned {

class Receive final : public Message, public core::Task {
  public:
    Receive(const Memory& memory, Communicator& comm, int source, int tag);

    // Whether a partition of this end is complete. Throws Failure if it is out of range.
    bool arrived(int partition);
    int partitions() const { return partitions_; }

    void start() override;
    bool complete() const override;
    void finish() override;
    void report(MPI_Status* status) override;
    void list(core::Awaited::List& list) const override;
    const char* name() const override { return call; }
    bool advance() override;
    void report(core::Waits&) const override {}  // the announcement is an ordinary receive
    bool announcements_done() const override;
    void give_up() override;

    static constexpr char call[] = "MPI_Precv_init";

  private:
    struct Piece {
        core::ReceiveRequest request;
        core::Buffer memory;
        LayoutHold layout;
        // The buffer is scattered and this piece splits an element: the piece arrives here.
        std::unique_ptr<std::byte[]> aside;
        bool placed = false;  // copied from there to the buffer; guarded by mutex_
    };
    bool posted() const { return posted_.load(std::memory_order_acquire); }
    void describe();
    void post();
    void place(int piece);
    core::Buffer memory_of(int piece, Piece& to) const;
    bool has(int piece) const { return piece_[std::size_t(piece)].request.complete(); }
    int count() const { return piece_ ? pieces_.count() : 0; }

    void* const address_;
    const int partitions_;
    const MPI_Count count_;  // elements of a partition
    const Reference<Datatype> type_;
    const std::size_t partition_bytes_;
    LayoutHold layout_;
    const core::Buffer whole_;

    Announcement announcement_;
    core::ReceiveRequest announced_;

    // The following members are set before posted_, under the Runtime's lock.
    Pieces pieces_;
    std::unique_ptr<Piece[]> piece_;
    std::string wrong_;  // why the two ends do not fit; empty if they do
    std::atomic<bool> posted_{false};
    std::atomic<bool> pending_{false};   // progress waits for the announcement
    std::mutex mutex_;                   // guards the copies from Piece::aside
    mutable std::atomic<int> first_{0};  // all pieces before this one have arrived
};

}  // namespace torusmp::mpi::partitioned
