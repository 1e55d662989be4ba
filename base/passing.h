// SPDX-License-Identifier: BSD-3-Clause
// Passes descriptors between processes of a host, with a message over a Unix socket (SCM_RIGHTS,
// unix(7)).
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

// Passes at most most_passed descriptors; the caller's stay open. Returns false, with errno set, on
// failure.
bool pass(int socket, std::span<const std::byte> message, std::span<const int> descriptors);

// The descriptors that came with a message of exactly that size, which is stored in the buffer.
// Empty: no such message came.
std::optional<std::vector<Descriptor>> take_passed(int socket, std::span<std::byte> message);

}  // namespace torusmp::base
