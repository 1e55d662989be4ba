// SPDX-License-Identifier: BSD-3-Clause
// The sending end of a partitioned message. Any thread may mark partitions as ready. A piece is
// sent by the thread that marks its last partition.
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

    // Marks a partition as ready. Throws Failure if it is out of range or already marked.
    void ready(int partition);
    int partitions() const { return pieces_.partitions(); }

    void start() override;
    bool complete() const override;
    void finish() override;
    void list(core::Awaited::List& list) const override;
    const char* name() const override { return call; }
    bool announcements_done() const override { return announcing_.complete(); }

    static constexpr char call[] = "MPI_Psend_init";

  private:
    struct Piece {
        core::Buffer memory;
        LayoutHold layout;
        std::atomic<int> missing{0};  // partitions that are not ready
        core::SendRequest request;
    };
    void announce();
    void send(int piece);

    const Pieces pieces_;
    const std::unique_ptr<Piece[]> piece_;
    const std::unique_ptr<std::atomic<bool>[]> ready_;  // by partition
    std::atomic<int> unsent_{0};                        // pieces that are not sent
    mutable std::atomic<int> first_{0};                 // all pieces before this one are complete
    // The links to the receiver, if there are several. Pieces are spread over them in turn.
    std::vector<routing::Direction> links_;
    Announcement announcement_;
    core::SendRequest announcing_;
};

}  // namespace torusmp::mpi::partitioned
