// SPDX-License-Identifier: BSD-3-Clause
// Blocks that travel in frames along the regions of the optimal scatter: the base of the optimal
// scatter and gather.
//
// Each member keeps one receive posted for every incoming stream, and a few frames in flight on
// every outgoing link. A block much longer than a frame is only announced in a frame: it travels
// separately, as its own message, which the core spreads over all shortest paths without a copy.
// All other blocks are short, so the data that can arrive at a late member is bounded.
#pragma once

#include <vector>

#include "collectives/algorithm/apart_blocks.h"
#include "collectives/algorithm/frames.h"
#include "collectives/group/regions.h"

namespace torusmp::collectives {

class Framed : public ApartBlocks {
  protected:
    explicit Framed(Messages& messages);

    // An outgoing stream of frames.
    struct Outlet {
        Regions::Branch to;
        std::size_t request = 0;  // the first of `frame_window`
        std::byte* slots = nullptr;
        std::size_t posted = 0;  // frames
        std::size_t done = 0;
        int left = 0;       // members whose last piece has not been put into a frame
        bool open = false;  // `writer` holds a frame that is not full yet
        FrameWriter writer;
    };
    // An incoming stream of frames.
    struct Inlet {
        Regions::Branch from;
        std::size_t request = 0;
        std::byte* slot = nullptr;
        int left = 0;         // members whose last piece has not been taken out of a frame
        bool posted = false;  // the receive
        FrameReader reader;
    };
    enum class Flow { down, up };  // from the root, to the root
    // To be called in start(): lay_streams() first, then lay_requests() for the blocks that travel
    // separately. Either number may be 0.
    void lay_streams(const Regions& regions, Flow flow);
    void lay_requests(std::size_t sends, std::size_t receives);
    // Takes the frames that have arrived at an inlet and passes their pieces to deliver() until it
    // returns false.
    void take_frames(Inlet& inlet);
    // Delivers a piece of this inlet to its destination; false if the piece has to wait. Refuses an
    // invalid piece.
    virtual bool deliver(Inlet& inlet, const Piece& piece) = 0;
    // Breaks off with an error that names the sender. Always false.
    bool refuse(const Inlet& inlet);

    bool goes_apart(std::size_t bytes) const { return bytes >= 4 * capacity_; }
    // Puts in a whole piece; false if all frames of the outlet are in flight.
    bool put(Outlet& outlet, const Piece& piece, const std::byte* bytes);
    // Puts in a block from `offset` on, and advances `offset`; true when the whole block is in.
    bool put_block(Outlet& outlet, int place, const std::byte* block, std::size_t bytes,
                   std::size_t& offset);
    // Sends unfinished frames on outlets with no other frame in flight.
    void flush_idle();
    bool streams_complete();

    std::vector<Outlet> outlets_;
    std::vector<Inlet> inlets_;

  private:
    void retire(Outlet& outlet);
    bool open(Outlet& outlet);
    void close(Outlet& outlet);

    std::size_t capacity_;  // of a frame, in bytes
    Scratch scratch_;
};

}  // namespace torusmp::collectives
