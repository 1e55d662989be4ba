// SPDX-License-Identifier: BSD-3-Clause
// The frames that one end of a session has sent and keeps until they are confirmed, and the one
// that is being filled. Frames and what goes over the connection share one sequence of numbers;
// what goes over the connection is not kept.
//
// At most a window of numbers lies between the oldest that is not confirmed and a frame, so the
// other end's ring has room for every frame.
//
// Owned by a Session, used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/transport/api/memory.h"
#include "core/transport/ethernet/frame.h"

namespace torusmp::transport::ethernet {

class Outbox {
  public:
    // `most_bytes`: of a frame, its FrameHeader included.
    explicit Outbox(unsigned window);
    // Frames of up to so many bytes from now on, of which none is kept: FrameHeader and records.
    void size_frames(std::size_t most_bytes);

    std::uint64_t next() const { return next_; }
    std::uint64_t oldest() const { return oldest_; }  // that is not confirmed
    std::size_t kept() const { return kept_; }
    bool is_filling() const { return filled_ != 0; }

    std::size_t most_bytes() const { return most_; }
    // Whether a frame has room for a record of that length at all.
    bool fits(std::size_t bytes) const { return sizeof(FrameHeader) + bytes <= most_; }
    // Room for a record in the frame that is being filled; null: it has none, or, if none is being
    // filled, the window is full.
    std::byte* extend(std::size_t bytes);
    // Begins one without a record. False: the window is full.
    bool begin();
    // Ends it: it has a number now, and is kept.
    std::uint64_t end();
    // The number of something that goes over the connection. Precondition: !is_filling().
    std::uint64_t skip() { return next_++; }

    // Null: that number did not go in a frame, or is confirmed or forgotten.
    std::byte* frame(std::uint64_t number);
    // Everything below is confirmed. False: it cannot be.
    bool confirm(std::uint64_t below);
    // It goes over the connection after all.
    void forget(std::uint64_t number);
    // Whether a frame that the other end has not got, while it has got `newest`, was not sent again
    // since `newest`; then it is marked as sent again.
    bool is_lost(std::uint64_t number, std::uint64_t newest);

    // Of the frame that is being filled; its FrameHeader is the caller's to write.
    std::byte* filling() { return at(next_); }
    std::size_t filled() const { return filled_; }

    // In front of each frame there is room for an Ethernet header and a ForwardHeader, so that all
    // are aligned.
    static constexpr std::size_t head_room = 32;

  private:
    struct Slot {
        std::uint64_t number = ~std::uint64_t{0};
        std::uint64_t sent_before = 0;  // the next number when it was last sent
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
    std::size_t filled_ = 0;  // bytes of the frame that is being filled; 0: none is
};

}  // namespace torusmp::transport::ethernet
