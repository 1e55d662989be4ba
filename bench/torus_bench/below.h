// SPDX-License-Identifier: BSD-3-Clause
// What torus-bench needs from below QMP: the Runtime and the settings of this rank, and small
// messages that do not disturb what is measured.
//
// Used inside a Session, by one thread. Public QMP knows no links; their counters, and the devices
// that a bare socket is bound to, are only known down here.
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

// Whether no relay lies between this rank and that one, as inside a host.
bool reached_directly(int other);
inline constexpr std::string_view nothing_relayed =
    "These ranks reach each other directly, so nothing was relayed: --set transport.local=links "
    "makes them use the links.";

// A message of our own beside QMP's; returns when the buffer may be reused.
void tell(int dest, core::Tag tag, std::span<const std::byte> bytes);
// The next one from there; throws std::runtime_error when it is longer than `most`.
std::vector<std::byte> hear(int source, core::Tag tag, std::size_t most);

}  // namespace torusmp::bench
