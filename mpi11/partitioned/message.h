// SPDX-License-Identifier: BSD-3-Clause
// The common base of both ends of a partitioned message (MPI-4.1, chapter 4).
//
// The object belongs to its request, and outlives it until its announcement has been sent or
// received. One thread at a time may start and complete the message; meanwhile any thread may mark
// partitions as ready, or test whether they have arrived.
#pragma once

#include <atomic>
#include <memory>

#include "mpi11/partitioned/pieces.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi::partitioned {

// The memory of a message, as the program describes it.
struct Memory {
    void* address;
    int partitions;
    MPI_Count count;  // elements of a partition
    const Datatype& type;
};

class Message : public Work {
  public:
    virtual ~Message() = default;
    void give_back() final;
    // Whether the announcement has been sent or received, so that the object may be destroyed.
    virtual bool announcements_done() const = 0;
    // Called when MPI or a joined job ends: cancels receives that can no longer be matched.
    virtual void give_up() {}
    const Communicator& communicator() const { return comm_; }
    core::Runtime& runtime() const { return runtime_; }

  protected:
    Message(Communicator& comm, int peer, int tag);

    // Throws Failure unless 0 <= partition < partitions.
    static void check_partition(int partition, int partitions);

    Communicator& comm_;  // kept alive by the request, and afterwards by hold_
    core::Runtime& runtime_;
    const int peer_;
    const int tag_;

  private:
    Reference<Communicator> hold_;
};

// Cancels what can no longer be matched, and waits until all announcements are sent or received.
// Called by MPI_Finalize.
void finish();
// The same for one communicator, by MPI_Comm_disconnect: the first call cancels, the second waits.
void give_up(const Communicator& comm);
bool announcements_done(const Communicator& comm);

}  // namespace torusmp::mpi::partitioned
