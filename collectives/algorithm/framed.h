// SPDX-License-Identifier: BSD-3-Clause
// Blocks that travel in frames along the regions of the optimal scatter: the base of the optimal
// scatter and gather.
//
// Each member keeps one receive posted for every stream that comes to it, and a few frames under
// way on every link that it sends to. A block much longer than a frame is only named in a frame: it
// travels apart, as a message of its own, which the core spreads over all shortest paths without a
// copy. As all other blocks are short, what can arrive at a member that is late is bounded.
#pragma once

#include <vector>

#include "collectives/algorithm/apart_blocks.h"
#include "collectives/algorithm/frames.h"
#include "collectives/group/regions.h"

namespace torusmp::collectives {

class Framed : public ApartBlocks {
  protected:
    explicit Framed(Messages& messages);

    // Where frames leave.
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
    // Where frames arrive.
    struct Inlet {
        Regions::Branch from;
        std::size_t request = 0;
        std::byte* slot = nullptr;
        int left = 0;         // members whose last piece has not been taken out of a frame
        bool posted = false;  // the receive
        FrameReader reader;
    };
    enum class Flow { down, up };  // from the root, to the root
    // To be called in start(): first the streams, then how many blocks travel apart at once. Either
    // number may be 0, or both.
    void lay_streams(const Regions& regions, Flow flow);
    void lay_requests(std::size_t sends, std::size_t receives);
    // Takes the frames that have come from an inlet and hands their pieces to deliver(), as far as
    // that can take them.
    void take_frames(Inlet& inlet);
    // Puts a piece of this inlet where it belongs; false: it has to wait. An impossible piece is
    // refused.
    virtual bool deliver(Inlet& inlet, const Piece& piece) = 0;
    // Breaks off with an error that names the sender. Always false.
    bool refuse(const Inlet& inlet);

    bool goes_apart(std::size_t bytes) const { return bytes >= 4 * capacity_; }
    // Puts in a whole piece; false: all frames of the outlet are under way.
    bool put(Outlet& outlet, const Piece& piece, const std::byte* bytes);
    // Puts in a block from `offset` on, and advances `offset`; true when all of it is in.
    bool put_block(Outlet& outlet, int place, const std::byte* block, std::size_t bytes,
                   std::size_t& offset);
    // Sends unfinished frames where nothing else is under way.
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
