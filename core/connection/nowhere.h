// The channel of a connection that could not be made: it swallows what is sent until core has ended
// the connection with an error.
#pragma once

#include <vector>

#include "core/transport/transport.h"

namespace torusmp::core {

class Nowhere final : public transport::Channel {
  public:
    void send(const transport::PacketHeader& /*header*/,
              transport::ConstBytes /*payload*/) override {}
    std::byte* reserve(int /*slot_class*/, std::size_t bytes) override {
        reserved_.resize(bytes);
        return reserved_.data();
    }
    void commit(const transport::PacketHeader& /*header*/) override {}
    void grant(transport::TokenWord /*tokens*/) override {}
    transport::TokenWord collect_grants() override { return 0; }
    bool can_write(const transport::RemoteMemory& /*remote*/) const override { return false; }
    bool can_read(const transport::RemoteMemory& /*remote*/) const override { return false; }
    transport::Transfer write(const transport::RemoteMemory& /*remote*/, std::size_t /*offset*/,
                              transport::ConstBytes /*local*/, std::uint64_t /*cookie*/) override {
        return transport::Transfer::refused;
    }
    transport::Transfer read(const transport::RemoteMemory& /*remote*/, std::size_t /*offset*/,
                             transport::Bytes /*local*/, std::uint64_t /*cookie*/) override {
        return transport::Transfer::refused;
    }
    void ring() override {}

  private:
    std::vector<std::byte> reserved_;
};

}  // namespace torusmp::core
