// SPDX-License-Identifier: BSD-3-Clause
// Frames between the head and one node that outlive the connections which carry them. Each is
// numbered and kept until the peer has confirmed it. When connections were lost, both ends exchange
// the numbers of the last frames received, and resend all missing frames in order. A receiver only
// accepts the next number, so no frame is lost or duplicated.
//
// The head has two streams to a node, one common to all nodes and one for this node alone; a node
// has one stream to the head. Pure bookkeeping; used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "programs/torus_run/streams/messages.h"

namespace torusmp::torus_run {

// The sending end of one direction of one stream.
class LastingSender {
  public:
    explicit LastingSender(bool for_all) : for_all_(for_all) {}

    // Returns the body of the DaemonFrame::lasting that carries this frame.
    SharedBytes add(DaemonFrame kind, const SharedBytes& bytes);
    // Drops frames up to this number. Returns false if it was never sent.
    bool confirmed(std::uint64_t number);
    std::uint64_t last() const { return first_ + kept_.size() - 1; }
    // Sends all bodies after that number, oldest first.
    template <class Send>
    void again(std::uint64_t number, Send&& send) const {
        const std::uint64_t skipped = number > first_ - 1 ? number - (first_ - 1) : 0;
        for (std::size_t i = std::size_t(skipped); i < kept_.size(); ++i) send(kept_[i]);
    }
    std::size_t kept() const { return kept_.size(); }

  private:
    const bool for_all_;
    std::uint64_t first_ = 1;  // number of the oldest frame that is kept
    std::deque<SharedBytes> kept_;
};

// The content of a lasting frame.
struct LastingFrame {
    DaemonFrame kind{};
    bool for_all = false;
    std::uint64_t number = 0;
    std::vector<std::byte> bytes;
};
LastingFrame decode_lasting(std::span<const std::byte> bytes);  // throws PackingError

// The receiving end, whose take() returns true for the next frame in order, false for a frame to be
// dropped.
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

// The streams at a node.
class NodeStreams {
  public:
    SharedBytes add(DaemonFrame kind, const SharedBytes& bytes) { return up_.add(kind, bytes); }
    // The frame that the head sent; nullopt for a duplicate, or one that will be resent.
    std::optional<Frame> take(std::span<const std::byte> lasting);
    // Numbers of the last frames received: for DaemonFrame::alive, and as the answer to
    // DaemonFrame::resume.
    SharedBytes taken() const;
    // The head's confirmation, from DaemonFrame::taken or DaemonFrame::resume. Throws PackingError.
    void confirmed(std::span<const std::byte> word);
    // Sends all frames that are not confirmed.
    template <class Send>
    void again(Send&& send) const {
        up_.again(0, send);
    }
    std::size_t kept() const { return up_.kept(); }

  private:
    LastingSender up_{false};
    LastingTaker own_, all_;
};

// The streams at the head, to all nodes.
class HeadStreams {
  public:
    explicit HeadStreams(int nodes) : nodes_(std::size_t(nodes)) {}

    // Adds a frame for one node, or for every_node.
    SharedBytes add(std::uint32_t node, DaemonFrame kind, const SharedBytes& bytes);
    std::optional<Frame> take(int node, std::span<const std::byte> lasting);
    // The confirmation for DaemonFrame::taken, and for DaemonFrame::resume to a node that may have
    // lost frames.
    SharedBytes taken(int node);
    // Whether enough was received since the last confirmation to send another.
    bool should_confirm(int node) const {
        return nodes_[std::size_t(node)].unconfirmed >= most_unconfirmed;
    }
    bool owes_confirmation(int node) const { return nodes_[std::size_t(node)].unconfirmed > 0; }
    // The node's confirmation. Throws PackingError.
    void confirmed(int node, std::span<const std::byte> word);
    // Resends all unconfirmed frames, after the node's answer to DaemonFrame::resume.
    template <class Send>
    void again(int node, Send&& send) const {
        const Node& it = nodes_[std::size_t(node)];
        all_.again(it.all_confirmed, send);
        it.own.again(0, send);
    }
    // Drops the frames of a node that is gone for good.
    void drop(int node);
    std::size_t kept() const;

  private:
    static constexpr std::uint64_t most_unconfirmed = 64 * 1024;  // bytes

    struct Node {
        LastingSender own{false};
        LastingTaker up;
        std::uint64_t all_confirmed = 0;
        std::uint64_t unconfirmed = 0;  // bytes received since the last confirmation
        bool gone = false;
    };
    void drop_delivered();

    LastingSender all_{true};
    std::vector<Node> nodes_;
};

}  // namespace torusmp::torus_run
