// SPDX-License-Identifier: BSD-3-Clause
// The collective call in progress: one gather followed by one broadcast. Pure bookkeeping, no I/O.
//
// A rank waits inside its call, so at most one collective is open at any time, and each rank
// contributes to it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "programs/torus_run/streams/channel.h"

namespace torusmp::torus_run {

class Gathering {
  public:
    explicit Gathering(int ranks)
        : bytes_(std::size_t(ranks)), joined_(std::size_t(ranks)), gone_(std::size_t(ranks)) {}

    // Adds a rank's call. Returns an error text if the call contradicts the others.
    std::optional<std::string> join(int rank, launch::FrameKind kind, std::uint32_t sequence,
                                    std::vector<std::byte> bytes);
    // Removes a rank that is gone: the call completes without it, and an exchange holds no bytes
    // from it.
    void leave(int rank);
    bool open() const { return count_ > 0; }
    // Whether the open call is an exchange: ranks wait in it for the job to begin.
    bool exchanges() const { return open() && kind_ == launch::FrameKind::exchange; }
    bool complete() const { return open() && count_ + absent_ == int(joined_.size()); }
    bool joined(int rank) const { return joined_[std::size_t(rank)]; }
    std::uint32_t sequence() const { return sequence_; }

    // The waiting rank and its call, for example "rank 0 waits in MPI_Barrier". Precondition:
    // open().
    std::string describe_waiting() const;

    // Returns the answer for all ranks and closes the call. Precondition: complete().
    struct Answer {
        launch::FrameHeader header;
        SharedBytes bytes;
    };
    Answer finish();

  private:
    int first_joined() const;

    launch::FrameKind kind_{};
    std::uint32_t sequence_ = 0;
    int count_ = 0;   // ranks that have joined the open call
    int absent_ = 0;  // ranks that are gone and had not joined it
    std::vector<std::vector<std::byte>> bytes_;
    std::vector<bool> joined_, gone_;
};

}  // namespace torusmp::torus_run
