// SPDX-License-Identifier: BSD-3-Clause
// The channel of a connection that could not be made: it discards everything that is sent until
// core has ended the connection with an error.
#pragma once

#include <vector>

#include "core/transport/api/channel.h"

namespace torusmp::core {

class Nowhere final : public transport::Channel {
  public:
    Nowhere() : Channel(nothing) {}
    void send(const transport::PacketHeader& /*header*/,
              transport::ConstBytes /*payload*/) override {}
    std::byte* reserve(int /*virtual_channel*/, std::size_t bytes) override {
        reserved_.resize(bytes);
        return reserved_.data();
    }
    void commit(const transport::PacketHeader& /*header*/) override {}
    void grant(transport::CreditWord /*credits*/) override {}
    transport::CreditWord collect_grants() override { return 0; }

  private:
    static constexpr transport::Capabilities nothing{};
    std::vector<std::byte> reserved_;
};

}  // namespace torusmp::core
