// What a user may set of all transports together: which of them is taken, and what those over a
// network share.
#pragma once

#include <string>
#include <vector>

#include "config/setting.h"
#include "config/types.h"

namespace torusmp::transport {

// What transport.use may be: transports by name, or the best that a link has.
inline constexpr const char* any_transport = "auto";
inline std::vector<std::string> transport_names() {
    return {any_transport, "shm", "tcp", "verbs"};
}

namespace setting {

using namespace config::literals;

inline const config::Setting<std::string> use{
    "transport.use", config::one_of(transport_names), any_transport,
    "What carries messages. auto: shared memory between ranks of a host, and the best that the "
    "links offer between hosts."};
inline const config::Setting<config::Duration> timeout{
    "transport.timeout", config::time_between(100ms, 1h), 10s,
    "A link by which no host or device answers for this long is dead, and so is a rank that is "
    "stopped for this long. A rank that computes may take any time."};
inline const config::Setting<bool> checksum{
    "transport.checksum", config::boolean(), false,
    "Whether every packet and write over a network carries a CRC-32C of header and payload, made "
    "where it starts and checked at every hop."};

inline const config::Table table{&use, &timeout, &checksum};

}  // namespace setting
}  // namespace torusmp::transport
