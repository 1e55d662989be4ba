// SPDX-License-Identifier: BSD-3-Clause
// The channel of a rank to itself, so that messages to itself take the same path as all others.
//
// Packets wait in a queue until the next poll, for which Progress wakes a sleeping thread. The
// remote memory is our own, so remote reads and writes are copies.
#pragma once

#include <cstddef>
#include <vector>

#include "base/assert.h"
#include "core/transport/api/channel.h"

namespace torusmp::core {

class Loopback final : public transport::Channel {
  public:
    explicit Loopback(int credits);

    bool empty() const { return head_ == tail_; }
    int poll(transport::Sink& sink);

    void send(const transport::PacketHeader& header, transport::ConstBytes payload) override;
    std::byte* reserve(int virtual_channel, std::size_t bytes) override;
    void commit(const transport::PacketHeader& header) override;
    void grant(transport::CreditWord credits) override {
        granted_ += credits;
        TORUSMP_ASSERT(granted_ <= slots_.size(), granted_, slots_.size());
    }
    transport::CreditWord collect_grants() override;
    bool can_write(const transport::RemoteMemory& remote) const override;
    bool can_read(const transport::RemoteMemory& remote) const override;
    transport::Transfer write(const transport::RemoteMemory& remote, std::size_t offset,
                              std::span<const transport::ConstBytes> local, std::uint64_t cookie,
                              std::optional<std::uint64_t> notice) override;
    transport::Transfer read(const transport::RemoteMemory& remote, std::size_t offset,
                             std::span<const transport::Bytes> local,
                             std::uint64_t cookie) override;
    std::byte* map(const transport::RemoteMemory& remote, std::size_t offset,
                   std::size_t bytes) override;

    static transport::RemoteMemory register_memory(transport::Bytes memory);

  private:
    struct Slot {
        transport::PacketHeader header;
        std::vector<std::byte> payload;
    };
    std::vector<Slot> slots_;
    std::size_t head_ = 0;  // next to fill
    std::size_t tail_ = 0;  // next to deliver
    transport::CreditWord granted_ = 0;
};

}  // namespace torusmp::core
