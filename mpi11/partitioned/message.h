// SPDX-License-Identifier: BSD-3-Clause
// What both ends of a partitioned message share (MPI-4.1, chapter 4).
//
// The object belongs to its request. When the request ends, it outlives it until its announcement
// has been sent or received. One thread at a time starts and completes it; any thread marks
// partitions or looks for them meanwhile.
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
    // The announcement is out, or in: the object may end.
    virtual bool settled() const = 0;
    // At the end of MPI: what can no longer arrive is given up.
    virtual void give_up() {}

  protected:
    Message(Communicator& comm, int peer, int tag);

    // Throws Failure unless 0 <= partition < partitions.
    static void check_partition(int partition, int partitions);

    Communicator& comm_;  // held by the request, then by hold_
    const int peer_;
    const int tag_;

  private:
    Reference<Communicator> hold_;
};

// For MPI_Finalize, after the program's last request.
void finish();

}  // namespace torusmp::mpi::partitioned
