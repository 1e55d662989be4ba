// SPDX-License-Identifier: BSD-3-Clause
// Frames between the head and one node that outlive the connections which carry them. Each is
// numbered and kept until the other end has confirmed it. When connections were lost on the way,
// the ends tell each other what they have taken, and all that is missing leaves once more, in
// order. An end takes the next number and no other: so nothing is lost, and nothing comes twice.
//
// The head has two streams to a node, what is for all of them and what is for it alone, and a node
// has one to the head. Pure bookkeeping; used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "programs/torus_run/streams/messages.h"

namespace torusmp::launch {

// One direction of one stream: the end that sends.
class LastingSender {
  public:
    explicit LastingSender(bool for_all) : for_all_(for_all) {}

    // The body of the DaemonFrame::lasting that carries this frame.
    SharedBytes add(DaemonFrame kind, const SharedBytes& bytes);
    // Frames up to this number need not be kept any longer. False: it was never sent.
    bool confirmed(std::uint64_t number);
    std::uint64_t last() const { return first_ + kept_.size() - 1; }
    // All bodies behind that number, oldest first.
    template <class Send>
    void again(std::uint64_t number, Send&& send) const {
        const std::uint64_t skipped = number > first_ - 1 ? number - (first_ - 1) : 0;
        for (std::size_t i = std::size_t(skipped); i < kept_.size(); ++i) send(kept_[i]);
    }
    std::size_t kept() const { return kept_.size(); }

  private:
    const bool for_all_;
    std::uint64_t first_ = 1;  // number of the first one that is kept
    std::deque<SharedBytes> kept_;
};

// What a lasting frame carries.
struct LastingFrame {
    DaemonFrame kind{};
    bool for_all = false;
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
};
LastingFrame decode_lasting(std::span<const std::byte> bytes);  // throws PackingError

// The end that takes: true for the next frame in order, false for one to throw away.
class LastingTaker {
  public:
    bool take(std::uint64_t number) {
        if (number != taken_ + 1) return false;
        ++taken_;
        return true;
    }
    std::uint64_t taken() const { return taken_; }

  private:
    std::uint64_t taken_ = 0;
};

// The end of a node.
class NodeStreams {
  public:
    SharedBytes add(DaemonFrame kind, const SharedBytes& bytes) { return up_.add(kind, bytes); }
    // What a frame of the head carries; nothing: it has been taken before, or will come again.
    std::optional<Frame> take(std::span<const std::byte> lasting);
    // What has been taken: for DaemonFrame::alive, and as the answer to DaemonFrame::resume.
    SharedBytes taken() const;
    // The head's word of what it has taken: in DaemonFrame::taken and DaemonFrame::resume.
    // Throws PackingError.
    void confirmed(std::span<const std::byte> word);
    // All frames that it has not.
    template <class Send>
    void again(Send&& send) const {
        up_.again(0, send);
    }
    std::size_t kept() const { return up_.kept(); }

  private:
    LastingSender up_{false};
    LastingTaker own_, all_;
};

// The end of the head, with all nodes.
class HeadStreams {
  public:
    explicit HeadStreams(int nodes) : nodes_(std::size_t(nodes)) {}

    // To one node, or every_node.
    SharedBytes add(std::uint32_t node, DaemonFrame kind, const SharedBytes& bytes);
    std::optional<Frame> take(int node, std::span<const std::byte> lasting);
    // For DaemonFrame::taken, and for DaemonFrame::resume to a node that may have lost frames.
    SharedBytes taken(int node);
    // Whether so much was taken since the last one that it should be told.
    bool should_tell(int node) const { return nodes_[std::size_t(node)].untold >= most_untold; }
    bool owes_word(int node) const { return nodes_[std::size_t(node)].untold > 0; }
    // The node's word of what it has taken. Throws PackingError.
    void confirmed(int node, std::span<const std::byte> word);
    // Behind a node's answer to DaemonFrame::resume: all that it has not taken.
    template <class Send>
    void again(int node, Send&& send) const {
        const Node& it = nodes_[std::size_t(node)];
        all_.again(it.all_confirmed, send);
        it.own.again(0, send);
    }
    // It is gone for good: nothing is kept for it.
    void drop(int node);
    std::size_t kept() const;

  private:
    static constexpr std::uint64_t most_untold = 64 * 1024;  // bytes

    struct Node {
        LastingSender own{false};
        LastingTaker up;
        std::uint64_t all_confirmed = 0;
        std::uint64_t untold = 0;  // bytes taken since it was told
        bool gone = false;
    };
    void forget_what_all_have();

    LastingSender all_{true};
    std::vector<Node> nodes_;
};

}  // namespace torusmp::launch
