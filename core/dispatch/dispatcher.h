// SPDX-License-Identifier: BSD-3-Clause
// Dispatches arrived packets: credits, checks, order, and handlers.
//
// Modules register the packet kinds they handle; a packet goes to its handler when its turn comes,
// or to the relay if it is for another rank.
#pragma once

#include <array>

#include "base/assert.h"
#include "core/connection/packet_sender.h"
#include "core/connection/shortcuts.h"
#include "core/connection/transfer_listener.h"
#include "core/dispatch/reorder_buffer.h"
#include "core/far/far_end.h"
#include "core/fault/faults.h"
#include "core/link/link_manager.h"
#include "core/relay/relay.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Dispatcher final : public transport::Sink {
  public:
    Dispatcher(Commons& commons, Connections& connections, PacketSender& sender, Relay& relay,
               Faults& faults, TransferListener& transfers, LinkManager& links,
               Shortcuts& shortcuts)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          relay_(relay),
          faults_(faults),
          transfers_(transfers),
          links_(links),
          shortcuts_(shortcuts),
          self_(std::uint32_t(commons.rank())),
          ranks_(std::uint32_t(connections.size())),
          early_(connections.size()) {}

    // Registers module.*method as the handler of that kind. The method returns false if the packet
    // violates the protocol.
    template <auto method, class Module>
    void handle(PacketKind kind, Module& module) {
        TORUSMP_ASSERT(handlers_[std::size_t(kind)].module == nullptr, kind);
        handlers_[std::size_t(kind)] = {
            &module, [](void* to, Peer& peer, const transport::PacketHeader& header,
                        const std::byte* payload) {
                return (static_cast<Module*>(to)->*method)(peer, header, payload);
            }};
    }

    void report(Waits& waits) const;

  private:
    struct Handler {
        void* module = nullptr;
        bool (*take)(void* module, Peer& peer, const transport::PacketHeader& header,
                     const std::byte* payload) = nullptr;
    };

    transport::Verdict on_packet(transport::Channel& channel, const transport::PacketHeader& header,
                                 const std::byte* payload) override;
    void on_notice(transport::Channel& channel, std::uint64_t notice) override;
    void on_transfer(transport::Channel& channel, std::uint64_t cookie, bool ok) override;
    void on_connect(std::uint32_t port) override;
    void on_down(transport::Channel& channel, std::string_view why) override;

    transport::Verdict on_link_packet(Connection& connection, const transport::Channel& channel,
                                      const transport::PacketHeader& header,
                                      const std::byte* payload);
    bool dispatch(Connection& connection, const transport::PacketHeader& header,
                  const std::byte* payload);
    bool note_arrival(Connection& connection, const transport::PacketHeader& header);
    bool take_next(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    [[gnu::noinline]] bool take_far(FarEnd& end, const transport::PacketHeader& header,
                                    const std::byte* payload);
    [[gnu::noinline]] bool take_unordered(Peer& peer, const transport::PacketHeader& header,
                                          const std::byte* payload);
    transport::Verdict on_shortcut_packet(Connection& connection,
                                          const transport::PacketHeader& header,
                                          const std::byte* payload);
    bool take(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool take_early(Peer& peer);
    void refuse(Connection& connection, const transport::PacketHeader& header);

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Relay& relay_;
    Faults& faults_;
    TransferListener& transfers_;
    LinkManager& links_;
    Shortcuts& shortcuts_;
    const std::uint32_t self_;
    const std::uint32_t ranks_;
    ReorderBuffer early_;
    std::array<Handler, std::size_t(PacketKind::last_kind) + 1> handlers_{};
};

}  // namespace torusmp::core
