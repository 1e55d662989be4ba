// SPDX-License-Identifier: BSD-3-Clause
// Access below QMP for torus-bench: the Runtime and the settings of this rank, and short messages
// that do not disturb the measurement.
//
// Used inside a Session, by one thread. QMP's public interface does not expose links; their
// counters, and the devices that a bare socket is bound to, are only known here.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/group/policy.h"
#include "config/settings.h"
#include "core/api.h"

namespace torusmp::bench {

core::Runtime& runtime();
const config::Settings& settings();
const collectives::Policy& collective_policy();

// Whether the path to `other` has no relay, as inside a host.
bool reached_directly(int other);
inline constexpr std::string_view nothing_relayed =
    "These ranks reach each other directly, so nothing was relayed; with --set "
    "transport.local=links they use the links.";

// Sends a message outside QMP; returns when the buffer may be reused.
void send_bytes(int dest, core::Tag tag, std::span<const std::byte> bytes);
// Returns the next message from `source`. Throws std::runtime_error if it is longer than `most`.
std::vector<std::byte> receive_bytes(int source, core::Tag tag, std::size_t most);

}  // namespace torusmp::bench
