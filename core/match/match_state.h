// SPDX-License-Identifier: BSD-3-Clause
// The state that announcing receives to senders needs for each peer: the messages sent and
// received, and the announcements held.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/request.h"

namespace torusmp::core {

// A receive that the peer has posted and announced: the memory to which our next matching large
// message may be written.
struct Announcement {
    Context context;
    Tag tag;
    std::uint32_t receive_handle;
    std::uint64_t bytes;
    transport::RemoteMemory memory;
    bool converging;  // large messages of many ranks arrive there
};

struct MatchState {
    // The last messages sent, to detect whether one of them crosses an announcement.
    static constexpr std::uint32_t log_size = 64;
    struct Sent {
        Context context;
        Tag tag;
        bool taken;  // an announcement that it crossed has been voided by it
    };
    std::array<Sent, log_size> log{};
    std::uint32_t sent = 0;  // matched messages sent so far
    std::uint32_t seen = 0;  // matched messages received so far, in order

    std::vector<Announcement> held;  // the peer's announcements, oldest first
    std::uint32_t held_epoch = 0;    // announcements of earlier epochs are void

    bool crossed = false;  // the last announcement came just after its message had left

    std::uint32_t announced = 0;  // our announcements that the peer may hold
    std::uint32_t epoch = 0;      // the epoch of the announcements we make
};

// One state for each peer, made with the first message that is matched by tag.
class MatchStates {
  public:
    explicit MatchStates(int ranks) : states_(std::size_t(ranks)) {}

    MatchState& operator[](Rank peer) {
        MatchState* const state = states_[std::size_t(peer)].get();
        return state != nullptr ? *state : make(peer);
    }

  private:
    [[gnu::noinline, gnu::cold]] MatchState& make(Rank peer) {
        auto& state = states_[std::size_t(peer)];
        state = std::make_unique<MatchState>();
        return *state;
    }

    std::vector<std::unique_ptr<MatchState>> states_;
};

}  // namespace torusmp::core
