// SPDX-License-Identifier: BSD-3-Clause
// Blocks that travel separately, one message each, between a root and the other members: the base
// of the algorithms of scatter and gather.
#pragma once

#include <vector>

#include "collectives/algorithm/algorithm.h"

namespace torusmp::collectives {

class ApartBlocks : public Algorithm {
  protected:
    explicit ApartBlocks(Messages& messages) : Algorithm(messages) {}

    // The number of such blocks that a root keeps in flight. Few, so that a block has the paths to
    // its member to itself.
    static constexpr std::size_t apart_window = 16;
    // The stream that these blocks use.
    static constexpr int apart_stream = max_streams - 1;

    // Blocks to or from these members, in this order.
    struct Apart {
        std::vector<int> members;
        std::size_t window = 0;   // in flight
        std::size_t request = 0;  // the first of `window`
        std::size_t posted = 0;
        std::size_t done = 0;
        bool complete() const { return done == members.size(); }
    };

    // To be called first in start(): clears the members and errors of the last call.
    void begin_blocks() {
        apart_.members.clear();
        cut_short_ = -1;
    }
    // To be called in start() by algorithms without frames: lays out all blocks between the root
    // and the other members, in member order, with `window` of them in flight.
    void lay_all_apart(int root, bool from_root, std::size_t window);
    void lay_apart(std::size_t first_request, std::size_t window) {
        apart_.posted = apart_.done = 0;
        apart_.window = window;
        apart_.request = first_request;
    }
    template <class BlockOf>
    void send_apart(BlockOf&& block_of);
    template <class BlockOf>
    void receive_apart(BlockOf&& block_of);

    // A block is longer than its receive buffer. This concerns only the member that owns the
    // buffer: its call continues to the end and then fails.
    void cut_short(int member) {
        if (cut_short_ < 0) cut_short_ = member;
    }
    // To be called when everything is done; always returns true.
    bool end_well();

    Apart apart_;

  private:
    bool take_apart(std::size_t index, int member);
    // Calls post(request, member) as far as the window allows, and is_done(request, member) for
    // every posted request.
    template <class Retire, class Post>
    void keep_posting(Retire&& is_done, Post&& post);

    int cut_short_ = -1;  // the first member whose block was truncated; -1 if none
};

template <class Retire, class Post>
void ApartBlocks::keep_posting(Retire&& is_done, Post&& post) {
    const auto retire = [&] {
        while (apart_.done < apart_.posted &&
               is_done(apart_.request + apart_.done % apart_.window, apart_.members[apart_.done]))
            ++apart_.done;
    };
    retire();
    while (apart_.posted < apart_.members.size() && apart_.posted < apart_.done + apart_.window &&
           !failed()) {
        const int member = apart_.members[apart_.posted];
        post(apart_.request + apart_.posted++ % apart_.window, member);
        retire();
    }
}

template <class BlockOf>
void ApartBlocks::send_apart(BlockOf&& block_of) {
    keep_posting([this](std::size_t request, int) { return sent(request); },
                 [&](std::size_t request, int member) {
                     send(request, block_of(member), group().rank_of(member), apart_stream);
                 });
}

template <class BlockOf>
void ApartBlocks::receive_apart(BlockOf&& block_of) {
    keep_posting([this](std::size_t request, int member) { return take_apart(request, member); },
                 [&](std::size_t request, int member) {
                     receive(request, block_of(member), group().rank_of(member), apart_stream);
                 });
}

}  // namespace torusmp::collectives
