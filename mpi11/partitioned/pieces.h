// SPDX-License-Identifier: BSD-3-Clause
// How the partitions of a message are grouped into pieces. A piece is sent as soon as all its
// partitions are ready. The sender chooses the pieces and announces them. The receiver may have a
// different number of partitions, so it computes which pieces overlap each of its own.
//
// Pure values; any thread may read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace torusmp::mpi::partitioned {

// With more pieces, the requests would cost more time than an earlier start gains.
inline constexpr int most_pieces = 1024;

class Pieces {
  public:
    Pieces() = default;
    // Precondition: partitions >= 1.
    Pieces(int partitions, std::size_t partition_bytes)
        : partitions_(partitions),
          partition_bytes_(partition_bytes),
          each_((partitions + most_pieces - 1) / most_pieces) {}

    int partitions() const { return partitions_; }
    std::size_t partition_bytes() const { return partition_bytes_; }
    std::size_t bytes() const { return partition_bytes_ * std::size_t(partitions_); }
    int count() const { return (partitions_ + each_ - 1) / each_; }

    // The piece of a partition, and its partitions: [first, end).
    int piece_of(int partition) const { return partition / each_; }
    int first(int piece) const { return piece * each_; }
    int end(int piece) const { return std::min(partitions_, (piece + 1) * each_); }
    // The place of a piece in the message.
    std::size_t offset(int piece) const { return partition_bytes_ * std::size_t(first(piece)); }
    std::size_t bytes(int piece) const {
        return partition_bytes_ * std::size_t(end(piece) - first(piece));
    }

    struct Range {
        int first, end;
    };
    // The pieces that contain any of the bytes [from, from + bytes). All pieces if that is empty.
    Range overlapping(std::size_t from, std::size_t bytes) const {
        if (bytes == 0 || partition_bytes_ == 0) return {0, count()};
        const auto piece = [&](std::size_t at) { return piece_of(int(at / partition_bytes_)); };
        return {piece(from), piece(from + bytes - 1) + 1};
    }

  private:
    int partitions_ = 1;
    std::size_t partition_bytes_ = 0;
    int each_ = 1;  // partitions of a piece; the last may have fewer
};

// The announcement that MPI_Psend_init sends to the receiver. Announcements are matched by
// communicator, source and tag, in the order of the calls. Pieces are matched by the context and
// the tags that the sender has chosen here.
struct Announcement {
    std::uint64_t partition_bytes = 0;
    std::int32_t partitions = 0;
    std::uint32_t context = 0;
    std::int32_t first_tag = 0;  // of piece 0; the others follow
    std::uint32_t reserved = 0;
};

}  // namespace torusmp::mpi::partitioned
