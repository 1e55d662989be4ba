// SPDX-License-Identifier: BSD-3-Clause
// Memory of one process as other processes refer to it. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace torusmp::transport {

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

// A stretch of a process's memory, as its peers refer to it. Interface::register_memory() creates
// it, packets carry it, and the channel's other end interprets it and checks it before use.
struct RemoteMemory {
    std::uint64_t address;
    std::uint64_t length;  // bytes
    std::uint64_t handle;  // the owner's own name for it, which peers do not use
    // Private to the transport: how its peers reach the memory.
    std::array<std::uint64_t, 6> opaque;

    // The opaque part in the layout of its transport.
    template <class Form>
    Form as() const {
        static_assert(sizeof(Form) <= sizeof opaque && std::is_trivially_copyable_v<Form>);
        Form form{};
        std::memcpy(&form, opaque.data(), sizeof form);
        return form;
    }
    template <class Form>
    void set(const Form& form) {
        static_assert(sizeof(Form) <= sizeof opaque && std::is_trivially_copyable_v<Form>);
        std::memcpy(opaque.data(), &form, sizeof form);
    }
};
static_assert(sizeof(RemoteMemory) == 72);

inline constexpr std::uint32_t most_link_ports = 12;

// The opaque part of transports that place packets (Capabilities::places). Any rank may have to
// pass the memory's key to the last relay, so all these transports use this layout.
struct PortKeys {
    std::array<std::uint32_t, most_link_ports> by_port;  // link port of the owner; 0 if none
};

// A place in the memory of the process at a channel's other end; valid on that channel only.
struct RemoteAddress {
    std::uint64_t address;
    std::uint32_t key;  // from PortKeys, for the owner's end of that link
};

}  // namespace torusmp::transport
