// SPDX-License-Identifier: BSD-3-Clause
// One end of a shortcut, which core uses as its channel. It keeps a copy of each packet until the
// packet's credit has returned, which shows that the far end has taken it. Packets that are left
// when the shortcut is lost are sent by relay.
//
// Owned by Shortcuts and used under the Runtime's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/assert.h"
#include "core/connection/connection.h"
#include "core/connection/nowhere.h"
#include "core/link/retained.h"

namespace torusmp::core {

class ShortcutEnd final : public transport::Channel {
  public:
    // `clock` counts the packets over all shortcuts of this rank.
    ShortcutEnd(Connection& connection, std::uint64_t& clock)
        : Channel(connection.interface->can()), connection_(connection), clock_(clock) {}

    // The connection has been made, or remade. `slot_bytes` is the size of the longest packet.
    void begin(std::size_t slot_bytes) {
        TORUSMP_ASSERT(!is_open(), connection_.peer);
        channel_ = connection_.cable;
        retained_.emplace(1, connection_.credits.limit(), slot_bytes);
        connection_.channel = this;
        connection_.shortcut = this;
        connection_.virtual_channels = 0;
    }
    // Stops all traffic over the shortcut.
    void end() {
        channel_ = &nowhere_;
        retained_.reset();
    }
    bool is_open() const { return retained_.has_value(); }
    bool carried_by(const transport::Channel& channel) const { return channel_ == &channel; }
    Connection& connection() const { return connection_; }

    // The number of packets that the far end is not known to have taken, and the packet that was
    // sent `back` packets ago: 1 is the last.
    unsigned unconfirmed() const { return connection_.credits.taken(0); }
    const Retained::Packet& back(unsigned back) const { return retained_->back(0, back); }

    // --- transport::Channel ---
    bool connecting() const override { return channel_->connecting(); }
    void send(const transport::PacketHeader& header, transport::ConstBytes payload) override {
        TORUSMP_ASSERT(is_open(), connection_.peer, header.kind);
        retained_->keep(header, payload);
        check_unconfirmed();
        connection_.used = ++clock_;
        channel_->send(header, payload);
    }
    std::byte* reserve(int virtual_channel, std::size_t /*bytes*/) override {
        return retained_->room(virtual_channel);
    }
    void commit(const transport::PacketHeader& header) override {
        connection_.used = ++clock_;
        const transport::ConstBytes payload = retained_->keep_packed(header);
        check_unconfirmed();
        channel_->send(header, payload);
    }
    void grant(transport::CreditWord credits) override { channel_->grant(credits); }
    transport::CreditWord collect_grants() override { return channel_->collect_grants(); }
    void cork() override { channel_->cork(); }
    void close(std::string_view why) override { channel_->close(why); }
    void wake_peer() override { channel_->wake_peer(); }

  private:
    // Every packet that the far end has not confirmed has its copy.
    void check_unconfirmed() const {
        TORUSMP_ASSERT(unconfirmed() >= 1 && unconfirmed() <= connection_.credits.limit(0),
                       connection_.peer, connection_.credits.granted(),
                       connection_.credits.limit());
    }

    Connection& connection_;
    std::uint64_t& clock_;
    Nowhere nowhere_;
    transport::Channel* channel_ = &nowhere_;  // the transport's
    std::optional<Retained> retained_;         // set while it is open
};

}  // namespace torusmp::core
