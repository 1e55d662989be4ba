// SPDX-License-Identifier: BSD-3-Clause
// The virtual channels of a connection whose first packet core has been offered and holds in its
// slot: the packet's arrival has been counted, and it will be offered again.
//
// Owned by Connection and used under the Runtime's lock.
#pragma once

#include <cstdint>

#include "base/assert.h"
#include "core/transport/api/packet.h"

namespace torusmp::core {

class HeldPackets {
  public:
    bool any() const { return mask_ != 0; }
    // Whether there are any on this virtual channel or a later one.
    bool any_from(int virtual_channel) const { return (mask_ & ~below(virtual_channel)) != 0; }
    bool on(int virtual_channel) const { return ((mask_ >> virtual_channel) & 1u) != 0; }
    void hold(int virtual_channel) { mask_ |= bit(virtual_channel); }
    void release(int virtual_channel) { mask_ = std::uint8_t(mask_ & ~bit(virtual_channel)); }
    void release_all() { mask_ = 0; }
    // Releases those of the first `virtual_channels` virtual channels, or those of all others.
    void release_below(int virtual_channels) {
        mask_ = std::uint8_t(mask_ & ~below(virtual_channels));
    }
    void release_from(int virtual_channels) {
        mask_ = std::uint8_t(mask_ & below(virtual_channels));
    }

  private:
    static constexpr unsigned below(int virtual_channels) { return (1u << virtual_channels) - 1; }
    static std::uint8_t bit(int virtual_channel) {
        TORUSMP_ASSERT(virtual_channel >= 0 && virtual_channel < transport::max_virtual_channels,
                       virtual_channel);
        return std::uint8_t(1u << virtual_channel);
    }
    std::uint8_t mask_ = 0;
};

}  // namespace torusmp::core
