// SPDX-License-Identifier: BSD-3-Clause
// Settings of the receive slots, the same for all transports.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/api/packet.h"

namespace torusmp::transport::setting {

using namespace config::literals;

inline const config::Setting<std::size_t> eager_limit{
    "transport.eager_limit", config::size_between(64, 4_MiB), default_eager_limit,
    "Messages up to this size are copied through receive slots. Longer ones are written directly "
    "into the receiver's buffer. It is also the largest payload of a packet."};
inline const config::Setting<int> tokens{
    "transport.tokens", config::integer_between(2, max_credits), default_credits,
    "Tokens (credits) of a connection: the largest number of packets in flight before the receiver "
    "has taken one."};
inline const config::Setting<int> relay_tokens{"transport.relay_tokens",
                                               config::integer_between(2, max_credits),
                                               default_relay_credits,
                                               "Tokens of each virtual channel for relayed "
                                               "packets. The virtual channel of a packet is the "
                                               "number of dimensions that it has finished (on a "
                                               "graph: of its turns from down to up)."};

inline const config::Table slots{&eager_limit, &tokens, &relay_tokens};

}  // namespace torusmp::transport::setting
