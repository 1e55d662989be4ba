// SPDX-License-Identifier: BSD-3-Clause
// The frames that one end of a session has sent and keeps until they are confirmed, and the one
// that is being filled. Frames and packets over the connection share one sequence of numbers;
// packets over the connection are not kept.
//
// The numbers of the oldest unconfirmed frame and of any later one differ by at most a window, so
// the other end's ring has room for every frame.
//
// Owned by a Session and used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "core/transport/api/memory.h"
#include "core/transport/ethernet/frame.h"

namespace torusmp::transport::ethernet {

class Outbox {
  public:
    // Keeps at most `window` unconfirmed frames, rounded up to a power of two.
    explicit Outbox(unsigned window);
    // Sets the largest size of frames, FrameHeader and records included. Precondition: none is
    // kept.
    void size_frames(std::size_t most_bytes);

    std::uint64_t next() const { return next_; }
    std::uint64_t oldest() const { return oldest_; }  // the oldest unconfirmed
    std::size_t kept() const { return kept_; }
    bool is_filling() const { return filled_ != 0; }

    std::size_t most_bytes() const { return most_; }
    // Whether an empty frame has room for a record of that length.
    bool fits(std::size_t bytes) const { return sizeof(FrameHeader) + bytes <= most_; }
    // Returns room for a record in the frame that is being filled; null if there is not enough or,
    // if no frame is being filled, the window is full.
    std::byte* extend(std::size_t bytes);
    // Begins a frame without a record. Returns false if the window is full.
    bool begin();
    // Ends the frame: it gets its number and is kept.
    std::uint64_t end();
    // Assigns a number to something sent over the connection. Precondition: !is_filling().
    std::uint64_t skip() {
        TORUSMP_ASSERT(!is_filling(), next_, filled_);
        return next_++;
    }

    // Null if that number did not go in a frame, or is confirmed or forgotten.
    std::byte* frame(std::uint64_t number);
    // Everything below is confirmed. Returns false if that is impossible.
    bool confirm(std::uint64_t below);
    // Drops a frame whose records go over the connection after all.
    void forget(std::uint64_t number);
    // Whether a frame that the other end lacks, although it has `newest`, was not resent after
    // `newest` was sent; if so, marks it as resent.
    bool is_lost(std::uint64_t number, std::uint64_t newest);

    // The frame that is being filled; the caller writes its FrameHeader.
    std::byte* filling() { return at(next_); }
    std::size_t filled() const { return filled_; }

    // Each frame has room in front of it for an Ethernet header and a ForwardHeader, so that all
    // parts are aligned.
    static constexpr std::size_t head_room = 32;

  private:
    struct Slot {
        std::uint64_t number = ~std::uint64_t{0};
        std::uint64_t sent_before = 0;  // next number when it was last sent
    };
    std::byte* at(std::uint64_t number) {
        return memory_.get() + (number & mask_) * stride_ + head_room;
    }
    Slot& slot(std::uint64_t number) { return slots_[number & mask_]; }

    const std::uint64_t mask_;
    std::size_t most_ = 0;
    std::size_t stride_ = 0;
    std::unique_ptr<std::byte[]> memory_;
    std::vector<Slot> slots_;
    std::uint64_t next_ = 0;
    std::uint64_t oldest_ = 0;
    std::size_t kept_ = 0;
    std::size_t filled_ = 0;  // bytes of the frame that is being filled; 0 if none
};

}  // namespace torusmp::transport::ethernet
