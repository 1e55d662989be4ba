// SPDX-License-Identifier: BSD-3-Clause
// Settings of the receive slots, the same for all transports.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/api/packet.h"

namespace torusmp::transport::setting {

using namespace config::literals;

inline const config::Setting<std::size_t> eager_limit{
    "transport.eager_limit", config::size_between(64, 4_MiB), 16_KiB,
    "Messages of this size and more are written straight into the receiver's buffer; smaller ones "
    "are copied through slots that stand ready. It is also the payload of a packet."};
inline const config::Setting<int> tokens{
    "transport.tokens", config::integer_between(2, max_credits), 64,
    "Packets that may be on their way over one connection before the receiver must have taken one "
    "off."};
inline const config::Setting<int> relay_tokens{"transport.relay_tokens",
                                               config::integer_between(2, max_credits), 16,
                                               "The same for packets that are relayed, for each "
                                               "virtual channel (the number of dimensions that "
                                               "a packet has finished)."};

inline const config::Table slots{&eager_limit, &tokens, &relay_tokens};

}  // namespace torusmp::transport::setting
