// SPDX-License-Identifier: BSD-3-Clause
// Traces the packets that arrive. It stands between the interfaces and the dispatcher, if log.level
// asks for packets when the Runtime is made; otherwise it is not there and costs nothing.
#pragma once

#include <string_view>

#include "core/commons.h"
#include "core/transport/api/channel.h"

namespace torusmp::core {

// "eager"; "link frame" or "unknown" for numbers that are not a PacketKind.
std::string_view kind_name(std::uint8_t kind);

class PacketTrace final : public transport::Sink {
  public:
    PacketTrace(const Commons& commons, transport::Sink& next) : commons_(commons), next_(next) {}

    // The sink for the interfaces: this object if packets are traced, else the next one.
    transport::Sink& sink();

  private:
    transport::Verdict on_packet(transport::Channel& channel, const transport::PacketHeader& header,
                                 const std::byte* payload) override;
    void on_notice(transport::Channel& channel, std::uint64_t notice) override;
    void on_transfer(transport::Channel& channel, std::uint64_t cookie, bool ok) override;
    void on_connect(std::uint32_t port) override;
    void on_down(transport::Channel& channel, std::string_view why) override;

    const Commons& commons_;
    transport::Sink& next_;
};

}  // namespace torusmp::core
