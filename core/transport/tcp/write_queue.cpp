// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/write_queue.h"

#include <algorithm>

#include "base/assert.h"
#include "core/transport/common/crc32c.h"

namespace torusmp::transport::tcp {

std::size_t WriteQueue::Write::bytes() const {
    std::size_t sum = left.size();
    for (std::size_t i = next; i < behind.size(); ++i) sum += behind[i].size();
    return sum;
}

std::size_t WriteQueue::Write::stretches_left() const {
    return 1 + behind.size() - next;
}

void WriteQueue::Write::advance(std::size_t bytes) {
    offset += bytes;
    while (bytes >= left.size() && next < behind.size()) {
        bytes -= left.size();
        left = behind[next++];
    }
    left = left.subspan(bytes);
}

template <class Visit>
void WriteQueue::Write::stretches(std::size_t skip, std::size_t bytes, Visit&& visit) const {
    ConstBytes stretch = left;
    for (std::size_t i = next; bytes != 0; ++i) {
        const std::size_t over = std::min(skip, stretch.size());
        const std::size_t part = std::min(stretch.size() - over, bytes);
        if (part != 0) visit(stretch.data() + over, part);
        skip -= over;
        bytes -= part;
        if (bytes != 0) stretch = behind[i];
    }
}

void WriteQueue::clear() {
    writes_.clear();
    first_ = 0;
}

// The piece that begins `skip` bytes into the rest of a write.
WriteQueue::Piece WriteQueue::piece_at(const Write& write, std::size_t skip) const {
    TORUSMP_ASSERT(skip <= write.bytes(), skip, write.bytes(), write.offset);
    const std::size_t left = write.bytes() - skip;
    const std::size_t bytes = std::min(left, write_piece);
    WriteFrame frame{.length = std::uint32_t(bytes),
                     .offset = write.offset + skip,
                     .generation = std::uint32_t(write.memory >> 32),
                     .index = std::uint32_t(write.memory)};
    if (write.notice && bytes == left) {
        frame.notifies = 1;
        frame.notice = *write.notice;
    }
    if (checksum_)
        write.stretches(skip, bytes, [&](const std::byte* from, std::size_t stretch) {
            frame.checksum = crc32c(from, stretch, frame.checksum);
        });
    Piece piece{{as_header(frame), 0}, bytes, 0};
    if (checksum_) piece.head.checksum = checksum_of(piece.head.header);
    return piece;
}

// Adds what has not been sent of a piece that begins `skip` bytes into the rest of its write.
void WriteQueue::add_piece(Parts& parts, const Piece& piece, const Write& write,
                           std::size_t skip) const {
    const std::size_t head = std::min(piece.sent, head_bytes(checksum_));
    const std::size_t body = piece.sent - head;
    parts.add(reinterpret_cast<const std::byte*>(&piece.head) + head, head_bytes(checksum_) - head);
    write.stretches(skip + body, piece.bytes - body,
                    [&](const std::byte* from, std::size_t bytes) { parts.add(from, bytes); });
}

void WriteQueue::add_rest(Parts& parts) const {
    if (begun_) add_piece(parts, piece_, writes_[first_], 0);
}

void WriteQueue::add_pieces(Parts& parts) {
    std::size_t at = first_;
    std::size_t skip = 0;
    const auto pass = [&](std::size_t bytes) {
        skip += bytes;
        if (skip != writes_[at].bytes()) return;
        ++at;
        skip = 0;
    };
    if (begun_) pass(piece_.bytes);
    // The checksum of a piece that the socket does not take would have to be computed again.
    const std::size_t most = checksum_ ? 1 : pieces_.size();
    added_ = 0;
    while (added_ < most && at < writes_.size() &&
           1 + writes_[at].stretches_left() <= parts.room()) {
        Piece& piece = pieces_[added_++] = piece_at(writes_[at], skip);
        add_piece(parts, piece, writes_[at], skip);
        pass(piece.bytes);
    }
}

// `bytes` more of the present piece have been sent. Returns true if the first write has now left
// completely.
bool WriteQueue::advance(std::size_t bytes) {
    TORUSMP_ASSERT(begun_ && first_ < writes_.size(), begun_, first_, writes_.size());
    piece_.sent += bytes;
    TORUSMP_ASSERT(piece_.sent <= piece_.bytes_with(checksum_), piece_.sent, piece_.bytes, bytes);
    if (piece_.sent < piece_.bytes_with(checksum_)) return false;
    begun_ = false;
    writes_[first_].advance(piece_.bytes);
    return writes_[first_].left.empty();
}

}  // namespace torusmp::transport::tcp
