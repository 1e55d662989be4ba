// SPDX-License-Identifier: BSD-3-Clause
// Messages without a receive yet.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>

#include "core/packets.h"
#include "core/pool.h"
#include "core/request.h"

namespace torusmp::core {

// One such message: its bytes, or the RTS of one that waits at its sender. The payload follows the
// object in memory.
struct Unexpected {
    Context context;
    Rank source;
    Tag tag;
    std::uint64_t arrival;  // order of arrival
    std::size_t bytes;      // payload behind this object
    bool is_request;
    RtsBody request;
    Unexpected* next_in_flow;
    struct Link {
        Unexpected* next;
        Unexpected* previous;
    };
    Link links[4];
    const std::byte* payload() const { return reinterpret_cast<const std::byte*>(this + 1); }
    std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
    Status status() const {
        return {source, tag, is_request ? std::size_t(request.bytes) : bytes, Error::none};
    }
};

inline Unexpected& make_unexpected(Pool& pool, Rank source, Context context, Tag tag,
                                   const std::byte* payload, std::size_t bytes) {
    auto* message = ::new (pool.take(sizeof(Unexpected) + bytes)) Unexpected{};
    message->context = context;
    message->source = source;
    message->tag = tag;
    message->bytes = bytes;
    if (bytes != 0) std::memcpy(message->payload(), payload, bytes);
    return *message;
}

inline Unexpected& make_unexpected(Pool& pool, Rank source, Context context, Tag tag,
                                   const RtsBody& request) {
    Unexpected& message = make_unexpected(pool, source, context, tag, nullptr, 0);
    message.is_request = true;
    message.request = request;
    return message;
}

inline void give_back(Pool& pool, Unexpected& message) {
    pool.give(&message, sizeof(Unexpected) + message.bytes);
}

}  // namespace torusmp::core
