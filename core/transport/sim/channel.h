// SPDX-License-Identifier: BSD-3-Clause
// One end of a simulated link as core sees it. Owned by its sim::Interface; the packets and the
// faults belong to the World. One thread, like the rest of the World.
#pragma once

#include <memory>

#include "core/transport/sim/world.h"

namespace torusmp::transport::sim::detail {

class Channel final : public transport::Channel {
  public:
    Channel(World& world, End& end)
        : transport::Channel(end.interface->can()), world_(world), end_(end) {}

    bool connecting() const override {
        return (end_.peer->channel == nullptr || end_.link->cut || world_.paused(end_)) &&
               !end_.link->dead;
    }
    bool has_met() const override { return !end_.link->waited; }
    void send(const PacketHeader& header, ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const PacketHeader& header) override;
    void grant(CreditWord credits) override;
    CreditWord collect_grants() override;
    bool can_write(const RemoteMemory& remote) const override;
    bool can_read(const RemoteMemory& remote) const override;
    bool write_arriving() const override;
    Transfer write(const RemoteMemory& remote, std::size_t offset,
                   std::span<const ConstBytes> local, std::uint64_t cookie,
                   std::optional<std::uint64_t> notice) override;
    Transfer read(const RemoteMemory& remote, std::size_t offset, std::span<const Bytes> local,
                  std::uint64_t cookie) override;
    std::byte* map(const RemoteMemory& remote, std::size_t offset, std::size_t bytes) override;
    void send_placed(const PacketHeader& header, ConstBytes front, ConstBytes payload,
                     const RemoteAddress& target) override;
    void close(std::string_view why) override;
    void wake_peer() override;

    const End& end() const { return end_; }

  private:
    void check_send(const PacketHeader& header, ConstBytes payload) const;

    World& world_;
    End& end_;
    std::unique_ptr<std::byte[]> reserved_;
    std::size_t reserved_bytes_ = 0;
    int reserved_class_ = 0;
};

}  // namespace torusmp::transport::sim::detail
