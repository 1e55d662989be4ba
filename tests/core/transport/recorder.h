// SPDX-License-Identifier: BSD-3-Clause
// A sink that records the calls of a transport, and accepts or holds packets as the test requests.
#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/transport/api/interface.h"

namespace torusmp::transport::testing {

struct Seen {
    Channel* channel;
    PacketHeader header;
    std::vector<std::byte> payload;
};

class Recorder final : public Sink {
  public:
    Verdict on_packet(Channel& channel, const PacketHeader& header,
                      const std::byte* payload) override {
        ++offered;
        if (decide && decide(header) == Verdict::held) return Verdict::held;
        packets.push_back({&channel, header, {payload, payload + header.length}});
        return Verdict::taken;
    }
    void on_notice(Channel&, std::uint64_t notice) override { notices.push_back(notice); }
    void on_transfer(Channel&, std::uint64_t cookie, bool ok) override {
        transfers.emplace_back(cookie, ok);
    }
    void on_connect(std::uint32_t port) override {
        connects.push_back(port);
        if (connect) connect(port);
    }
    void on_down(Channel& channel, std::string_view why) override {
        downs.emplace_back(&channel, std::string(why));
    }

    int offered = 0;
    std::vector<Seen> packets;
    std::vector<std::pair<std::uint64_t, bool>> transfers;
    std::vector<std::uint64_t> notices;
    std::vector<std::uint32_t> connects;
    std::vector<std::pair<Channel*, std::string>> downs;
    std::function<Verdict(const PacketHeader&)> decide;
    std::function<void(std::uint32_t)> connect;
};

// One piece of local memory.
inline Transfer write(Channel& channel, const RemoteMemory& remote, std::size_t offset,
                      ConstBytes local, std::uint64_t cookie,
                      std::optional<std::uint64_t> notice = std::nullopt) {
    return channel.write(remote, offset, {&local, 1}, cookie, notice);
}
inline Transfer read(Channel& channel, const RemoteMemory& remote, std::size_t offset, Bytes local,
                     std::uint64_t cookie) {
    return channel.read(remote, offset, {&local, 1}, cookie);
}

inline PacketHeader header_of(int virtual_channel, std::uint32_t number, std::size_t bytes) {
    PacketHeader header{};
    header.length = std::uint32_t(bytes);
    header.virtual_channel = std::uint8_t(virtual_channel);
    header.sequence = number;
    header.source = 0x01020304;
    header.destination = ~number;
    header.context = 77 + number;
    header.tag = std::int32_t(number) - 5;
    header.kind = 3;
    header.hops = 9;
    return header;
}

inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
    std::vector<std::byte> data(bytes);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (std::byte& byte : data) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = std::byte(state >> 56);
    }
    return data;
}

// Everything but the transport's own stamp.
inline bool same_header(PacketHeader a, PacketHeader b) {
    a.stamp = b.stamp = 0;
    a.transport_byte = b.transport_byte = 0;
    return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace torusmp::transport::testing
