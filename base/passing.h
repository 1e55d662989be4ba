// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that processes of a host pass each other, with a message over a Unix socket
// (SCM_RIGHTS, unix(7)).
//
// Any thread may call.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/descriptor.h"

namespace torusmp::base {

inline constexpr std::size_t most_passed = 2;  // with a message

// At most most_passed of them; the caller's stay open. False: errno says why it was not sent.
bool pass(int socket, std::span<const std::byte> message, std::span<const int> descriptors);

// Those that came with a message of exactly that size, which is put there. Nothing: no such
// message came.
std::optional<std::vector<Descriptor>> take_passed(int socket, std::span<std::byte> message);

}  // namespace torusmp::base
