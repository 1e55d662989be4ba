// SPDX-License-Identifier: BSD-3-Clause
// The sending end of a partitioned message. Any thread may mark partitions as ready; the last one of
// a piece sends it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "mpi11/partitioned/message.h"

namespace torusmp::mpi::partitioned {

class Send final : public Message {
  public:
    Send(const Memory& memory, Communicator& comm, int dest, int tag);
    ~Send() override;

    // Throws Failure for a partition out of range or marked before.
    void ready(int partition);
    int partitions() const { return pieces_.partitions(); }

    void start() override;
    bool complete() const override;
    void finish() override;
    void list(core::Awaited::List& list) const override;
    const char* name() const override { return call; }
    bool settled() const override { return announcing_.complete(); }

    static constexpr char call[] = "MPI_Psend_init";

  private:
    struct Piece {
        core::Buffer memory;
        LayoutHold layout;
        std::atomic<int> missing{0};  // partitions
        core::SendRequest request;
    };
    void announce();
    void send(int piece);

    const Pieces pieces_;
    const std::unique_ptr<Piece[]> piece_;
    const std::unique_ptr<std::atomic<bool>[]> ready_;  // by partition
    std::atomic<int> unsent_{0};                        // pieces
    mutable std::atomic<int> first_{0};                 // those before it are complete
    // The links to the receiver, if it is a neighbour over more than one: pieces take turns.
    std::vector<routing::Direction> links_;
    Announcement announcement_;
    core::SendRequest announcing_;
};

}  // namespace torusmp::mpi::partitioned
