// SPDX-License-Identifier: BSD-3-Clause
// One end of a shortcut, as core's channel of it: keeps a copy of each packet until its credit has
// come home, which says that the far end has taken it. What is left when the shortcut is lost goes
// by relay.
//
// Owned by Shortcuts, used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/connection/connection.h"
#include "core/connection/nowhere.h"
#include "core/link/retained.h"

namespace torusmp::core {

class ShortcutEnd final : public transport::Channel {
  public:
    // clock: counts what goes by all shortcuts of this rank.
    ShortcutEnd(Connection& connection, std::uint64_t& clock)
        : Channel(connection.interface->can()), connection_(connection), clock_(clock) {}

    // The connection has been made, or made anew; slot_bytes: of the longest packet.
    void begin(std::size_t slot_bytes) {
        channel_ = connection_.cable;
        retained_.emplace(1, connection_.all_credits, slot_bytes);
        connection_.channel = this;
        connection_.shortcut = this;
        connection_.virtual_channels = 0;
    }
    // Nothing goes by it any more.
    void end() {
        channel_ = &nowhere_;
        retained_.reset();
    }
    bool is_open() const { return retained_.has_value(); }
    bool carried_by(const transport::Channel& channel) const { return channel_ == &channel; }
    Connection& connection() const { return connection_; }

    // How many packets the far end is not known to have taken, and the one sent `back` packets ago:
    // 1 is the last.
    unsigned unconfirmed() const {
        return transport::credits_in(connection_.all_credits - connection_.credits, 0);
    }
    const Retained::Packet& back(unsigned back) const { return retained_->back(0, back); }

    // --- transport::Channel ---
    bool connecting() const override { return channel_->connecting(); }
    void send(const transport::PacketHeader& header, transport::ConstBytes payload) override {
        retained_->keep(header, payload);
        connection_.used = ++clock_;
        channel_->send(header, payload);
    }
    std::byte* reserve(int virtual_channel, std::size_t /*bytes*/) override {
        return retained_->room(virtual_channel);
    }
    void commit(const transport::PacketHeader& header) override {
        connection_.used = ++clock_;
        channel_->send(header, retained_->keep_packed(header));
    }
    void grant(transport::CreditWord credits) override { channel_->grant(credits); }
    transport::CreditWord collect_grants() override { return channel_->collect_grants(); }
    void cork() override { channel_->cork(); }
    void close(std::string_view why) override { channel_->close(why); }
    void wake_peer() override { channel_->wake_peer(); }

  private:
    Connection& connection_;
    std::uint64_t& clock_;
    Nowhere nowhere_;
    transport::Channel* channel_ = &nowhere_;  // the transport's
    std::optional<Retained> retained_;         // while it is open
};

}  // namespace torusmp::core
