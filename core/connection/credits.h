// SPDX-License-Identifier: BSD-3-Clause
// The credits of a connection, by virtual channel: those that the peer has granted us for its
// slots, and those of our own slots that we owe the peer. All of them change only here.
//
// Invariant, for every virtual channel: at most `limit` credits are granted, and at most `limit`
// are owed.
//
// Owned by Connection and used under the Runtime's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "core/transport/api/packet.h"

namespace torusmp::core {

class Credits {
  public:
    using Word = transport::CreditWord;

    // ---- before any traffic ----
    // Gives a virtual channel `count` credits in each direction. Owed credits are returned alone
    // when there are `return_at` of them.
    void add(int virtual_channel, int count, int return_at) {
        TORUSMP_ASSERT(transport::credits_in(limit_, virtual_channel) == 0 && count > 0 &&
                           count <= transport::max_credits && return_at > 0 && return_at <= count,
                       virtual_channel, count, return_at, limit_);
        const Word word = Word(count) * transport::credit_of(virtual_channel);
        limit_ += word;
        granted_ += word;
        return_at_[std::size_t(virtual_channel)] = std::uint8_t(return_at);
    }
    // Lets credits return with packets, too. Links never do this, see PacketSender::grants_for().
    void return_with_packets() { most_by_packet_ = limit_; }
    // A packet that enters a ring leaves a second slot free (bubble flow control).
    void keep_bubble() { to_enter_ = to_turn_ = 2; }

    // ---- granted: the packets that we may send now ----
    Word granted() const { return granted_; }
    Word limit() const { return limit_; }
    unsigned granted(int virtual_channel) const {
        return transport::credits_in(granted_, virtual_channel);
    }
    unsigned limit(int virtual_channel) const {
        return transport::credits_in(limit_, virtual_channel);
    }
    // Credits that packets have taken and that have not returned.
    unsigned taken(int virtual_channel) const {
        return limit(virtual_channel) - granted(virtual_channel);
    }
    // Whether a packet of this rank may enter the network.
    bool may_enter() const { return granted(0) >= to_enter_; }
    // The granted credits that a packet needs to be relayed, if it turns into this dimension or
    // not.
    unsigned to_relay(bool turns) const { return turns ? to_turn_ : 1; }
    void take(int virtual_channel) {
        TORUSMP_ASSERT(granted(virtual_channel) >= 1, virtual_channel, granted_, limit_);
        granted_ -= transport::credit_of(virtual_channel);
    }
    // Credits return alone, or with a packet. Returns false, and changes nothing, if there are more
    // than were taken.
    [[nodiscard]] bool give_back(Word credits) {
        if (!transport::grants_fit(granted_, credits, limit_)) return false;
        granted_ += credits;
        return true;
    }
    [[nodiscard]] bool give_back_with_packet(Word credits) {
        if (!transport::grants_fit(granted_, credits, most_by_packet_)) [[unlikely]]
            return false;
        granted_ += credits;
        return true;
    }
    // Whether all credits have returned, but for those that the peer owes below its threshold.
    bool are_home(int virtual_channels) const {
        for (int k = 0; k < virtual_channels; ++k)
            if (taken(k) >= return_at_[std::size_t(k)]) return false;
        return true;
    }
    // The connection could not be made: no packet may leave.
    void withdraw() { granted_ = 0; }

    // ---- owed: our slots that are free again and whose credits have not been returned ----
    Word owed() const { return owed_; }
    // Returns true if the owed credits have to be returned now.
    bool owe(int virtual_channel) {
        TORUSMP_ASSERT(transport::credits_in(owed_, virtual_channel) < limit(virtual_channel),
                       virtual_channel, owed_, limit_);
        owed_ += transport::credit_of(virtual_channel);
        return transport::credits_in(owed_, virtual_channel) >=
               return_at_[std::size_t(virtual_channel)];
    }
    // Takes the owed credits, all or those of `lanes`, in order to return them.
    Word take_owed() { return std::exchange(owed_, 0); }
    Word take_owed(Word lanes) {
        const Word word = owed_ & lanes;
        owed_ &= ~lanes;
        return word;
    }

    // ---- the virtual channels of a link's cable ----
    // The cable is gone, and with it the slots of all virtual channels but those of `lanes`.
    void lose_cable(Word lanes) {
        granted_ &= lanes;
        owed_ &= lanes;
    }
    // A new cable has fresh slots for them.
    void gain_cable(Word lanes) {
        TORUSMP_ASSERT((granted_ & ~lanes) == 0 && (owed_ & ~lanes) == 0, granted_, owed_, lanes);
        granted_ |= limit_ & ~lanes;
    }

    bool hold_invariant() const {
        return transport::grants_fit(granted_, 0, limit_) &&
               transport::grants_fit(0, owed_, limit_) &&
               (limit_ & transport::credit_guard_bits) == 0;
    }

  private:
    Word granted_ = 0;
    Word owed_ = 0;
    unsigned to_enter_ = 1;
    unsigned to_turn_ = 1;  // the same limit for packets that turn into this dimension
    Word limit_ = 0;
    Word most_by_packet_ = 0;  // the most credits after some have returned with a packet
    std::array<std::uint8_t, transport::max_virtual_channels> return_at_{};
};

}  // namespace torusmp::core
