// Blocks that travel in frames along the regions of the optimal scatter: the base of scatter and
// gather.
//
// Each member keeps one receive posted for every stream that comes to it and a few frames under way
// on every link that it sends to. A block much longer than a frame is only named in a frame: it
// goes apart, as a message of its own, which the core spreads over all shortest paths without a
// copy. As long as blocks are that short, what can arrive at a member that is late is bounded.
#pragma once

#include <vector>

#include "collectives/frames.h"
#include "collectives/regions.h"
#include "collectives/schedule.h"

namespace torusmp::collectives {

class Framed : public Schedule {
  protected:
    explicit Framed(Group& group);
    ~Framed() = default;

    // Where frames leave.
    struct Outlet {
        Regions::Branch to;
        std::size_t request = 0;  // the first of `frame_window`
        std::byte* slots = nullptr;
        std::size_t posted = 0;  // frames
        std::size_t done = 0;
        int left = 0;       // members whose last piece has not been put in
        bool open = false;  // `writer` has a frame in the making
        FrameWriter writer;
    };
    // Where frames arrive.
    struct Inlet {
        Regions::Branch from;
        std::size_t request = 0;
        std::byte* slot = nullptr;
        int left = 0;         // members whose last piece has not been taken out
        bool posted = false;  // the receive
        FrameReader reader;
    };
    // Messages that carry a block each, to or from these nodes in this order.
    struct Apart {
        std::vector<int> nodes;
        std::size_t window = 0;   // under way at once
        std::size_t request = 0;  // the first of `window`
        std::size_t posted = 0;
        std::size_t done = 0;
        bool complete() const { return done == nodes.size(); }
    };

    enum class Flow { down, up };  // from the root, to the root
    // Called before begin(): what start() lays out anew.
    void lay_streams(const Regions* regions, Flow flow);
    void lay_apart(std::size_t sends, std::size_t receives);
    // Takes what has come from an inlet and hands it to deliver(), as far as that can go.
    void take_frames(Inlet& inlet);
    // Where a piece of this inlet goes; false: it has to wait. A piece that cannot be is refused.
    virtual bool deliver(Inlet& inlet, const Piece& piece) = 0;
    // Breaks off with an error that names the sender. Always false.
    bool refuse(const Inlet& inlet);

    bool goes_apart(std::size_t bytes) const { return bytes >= 4 * capacity_; }
    // A whole piece; false: all frames of the outlet are under way.
    bool put(Outlet& outlet, const Piece& piece, const std::byte* bytes);
    // A block from `offset` on, which moves on; true when all of it is in.
    bool put_block(Outlet& outlet, int place, const std::byte* block, std::size_t bytes,
                   std::size_t& offset);
    // Sends frames that are not full yet where nothing else is under way.
    void flush_idle();
    bool streams_complete();

    // Blocks by themselves that a root has under way at once. Each has the paths of its node to
    // itself only as long as they are few.
    static constexpr std::size_t apart_window = 16;
    // Blocks that go by themselves: of this stream, and posted as far as the window goes.
    static constexpr int apart_stream = max_streams - 1;
    template <class Post>
    void send_apart(Post&& block_of);
    template <class Post>
    void receive_apart(Post&& block_of);

    // A block is longer than its place. That concerns who wanted it alone: the call ends with an
    // error here, and goes on until then.
    void cut_short(int node) {
        if (cut_short_ < 0) cut_short_ = node;
    }
    // To be called at the end, true: all is done.
    bool end_well();

    std::vector<Outlet> outlets_;
    std::vector<Inlet> inlets_;
    Apart apart_;

  private:
    bool take_apart(std::size_t index, int node);
    void retire(Outlet& outlet);
    bool open(Outlet& outlet);
    void close(Outlet& outlet);

    std::size_t capacity_;  // of a frame, in bytes
    int cut_short_ = -1;    // the first node whose block was; -1: none
    Scratch scratch_;
};

template <class BlockOf>
void Framed::send_apart(BlockOf&& block_of) {
    const auto retire = [&] {
        while (apart_.done < apart_.posted && sent(apart_.request + apart_.done % apart_.window))
            ++apart_.done;
    };
    retire();
    while (apart_.posted < apart_.nodes.size() && apart_.posted < apart_.done + apart_.window &&
           !failed()) {
        const int node = apart_.nodes[apart_.posted];
        send(apart_.request + apart_.posted++ % apart_.window, block_of(node),
             group().rank_of(node), apart_stream);
        retire();
    }
}

template <class BlockOf>
void Framed::receive_apart(BlockOf&& block_of) {
    const auto retire = [&] {
        while (apart_.done < apart_.posted &&
               take_apart(apart_.request + apart_.done % apart_.window, apart_.nodes[apart_.done]))
            ++apart_.done;
    };
    retire();
    while (apart_.posted < apart_.nodes.size() && apart_.posted < apart_.done + apart_.window &&
           !failed()) {
        const int node = apart_.nodes[apart_.posted];
        receive(apart_.request + apart_.posted++ % apart_.window, block_of(node),
                group().rank_of(node), apart_stream);
        retire();
    }
}

}  // namespace torusmp::collectives
