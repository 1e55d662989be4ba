// SPDX-License-Identifier: BSD-3-Clause
// Messages that no receive has matched yet.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/packets.h"
#include "core/request.h"

namespace torusmp::core {

// One unexpected message. The object is followed in memory by the message's bytes or, for a message
// that waits at its sender, by the RtsBody that asked for a receive.
struct Unexpected {
    Context context;
    Rank source;
    Tag tag;
    bool is_request;
    bool abandoned;         // its sender will not send it; the receive that it matches waits
    std::uint64_t arrival;  // order of arrival
    std::size_t bytes;      // of the message
    Unexpected* next_in_flow;
    struct Link {
        Unexpected* next;
        Unexpected* previous;
    };
    Link links[4];

    const std::byte* payload() const { return reinterpret_cast<const std::byte*>(this + 1); }
    std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
    RtsBody request() const {  // Precondition: is_request.
        RtsBody body;
        std::memcpy(&body, payload(), sizeof body);
        return body;
    }
    Status status() const { return {source, tag, bytes, Error::none}; }
    // The bytes of the object and of what follows it.
    std::size_t size() const { return sizeof *this + (is_request ? sizeof(RtsBody) : bytes); }
};

}  // namespace torusmp::core
