// SPDX-License-Identifier: BSD-3-Clause
// The remote writes of a TCP connection that have not been sent completely, in order. They leave in
// pieces, each of which is one frame. A piece may be sent in part; nothing else can be sent before
// the rest of it.
//
// For one system call: add_rest() and add_pieces() add what may be sent, sent_rest() and
// sent_pieces() record what the socket has taken.
//
// Owned by a TcpChannel and used under the Runtime's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/transport/tcp/frame.h"
#include "core/transport/tcp/parts.h"

namespace torusmp::transport::tcp {

// The opaque part of RemoteMemory: the id in Exposures.
using MemoryId = std::uint64_t;

class WriteQueue {
  public:
    struct Write {
        MemoryId memory;  // the peer's
        std::uint64_t offset;
        ConstBytes left;  // of the present stretch of memory
        std::uint64_t cookie;
        std::optional<std::uint64_t> notice;
        std::vector<ConstBytes> behind;  // further stretches of memory, in order
        std::size_t next = 0;            // index of the next of these

        std::size_t bytes() const;  // in all
        std::size_t stretches_left() const;
        void advance(std::size_t bytes);
        // Calls visit(from, bytes) for the stretches that make up [skip, skip + bytes) of it.
        template <class Visit>
        void stretches(std::size_t skip, std::size_t bytes, Visit&& visit) const;
    };

    // `checksum` is true if frames carry checksums.
    explicit WriteQueue(bool checksum) : checksum_(checksum) {}

    bool empty() const { return writes_.empty(); }
    bool inside_piece() const { return begun_; }  // a piece has been sent in part
    void push(Write write) { writes_.push_back(std::move(write)); }
    // Removes all writes, and calls visit(cookie) for each.
    template <class Visit>
    void drop(Visit&& visit) {
        for (; first_ < writes_.size(); ++first_) visit(writes_[first_].cookie);
        clear();
    }
    void clear();

    // The rest of the piece that has been sent in part, if there is one.
    void add_rest(Parts& parts) const;
    // The pieces after it, as many as are worth one system call.
    void add_pieces(Parts& parts);
    // The socket has taken `bytes` of what was added. Calls finished(cookie) for each write that
    // has now left completely.
    template <class Finished>
    void sent_rest(std::size_t bytes, Finished&& finished) {
        if (begun_) record(bytes, finished);
    }
    template <class Finished>
    void sent_pieces(std::size_t bytes, Finished&& finished) {
        // Packets may still overtake a piece of which nothing has been sent.
        for (std::size_t i = 0; i < added_ && bytes != 0; ++i) {
            piece_ = pieces_[i];
            begun_ = true;
            const std::size_t part = std::min(bytes, piece_.bytes_with(checksum_));
            record(part, finished);
            bytes -= part;
        }
    }

  private:
    // Pieces sent in one system call: in measurements, longer calls carried more.
    static constexpr std::size_t pieces_a_call = 4;

    // The part of a write that makes one frame.
    struct Piece {
        FrameHead head;
        std::size_t bytes;  // of payload
        std::size_t sent;   // of both

        std::size_t bytes_with(bool checksum) const { return head_bytes(checksum) + bytes; }
    };

    Piece piece_at(const Write& write, std::size_t skip) const;
    void add_piece(Parts& parts, const Piece& piece, const Write& write, std::size_t skip) const;
    bool advance(std::size_t bytes);
    template <class Finished>
    void record(std::size_t bytes, Finished&& finished) {
        if (!advance(bytes)) return;
        const std::uint64_t cookie = writes_[first_].cookie;
        if (++first_ == writes_.size()) clear();
        finished(cookie);
    }

    const bool checksum_;
    std::vector<Write> writes_;
    std::size_t first_ = 0;  // those before it have left
    Piece piece_{};          // of the first write; valid while begun_
    bool begun_ = false;
    std::array<Piece, pieces_a_call> pieces_{};  // added last
    std::size_t added_ = 0;
};

}  // namespace torusmp::transport::tcp
