// SPDX-License-Identifier: BSD-3-Clause
// A device's datagram queue pair, by which the queue pairs of channels find each other. It carries
// hellos to and from any peer, each small enough for one packet. They may be lost; senders repeat
// them.
//
// Owned by the VerbsInterface and used under the Runtime's lock.
#pragma once

#include <array>
#include <functional>

#include "core/transport/verbs/device.h"
#include "core/transport/verbs/frame.h"

namespace torusmp::transport::verbs {

class Greeter {
  public:
    // Throws std::runtime_error that names the device.
    explicit Greeter(Device& device);

    std::uint32_t number() const { return queue_pair_->qp_num; }
    void send(ibv_ah* to, std::uint32_t number, const Hello& hello);
    // Calls hear(hello) for each hello that has arrived, unchecked.
    void poll(const std::function<void(const Hello&)>& hear);

  private:
    static constexpr int slots = 64;
    static constexpr std::size_t route_bytes = 40;  // size of the header in front of each datagram
    using Slot = std::array<std::byte, 192>;

    void post(std::size_t slot);

    Device& device_;
    std::array<Slot, slots> memory_{};
    MemoryRegion region_;
    QueuePair queue_pair_;
};

}  // namespace torusmp::transport::verbs
