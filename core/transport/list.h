// SPDX-License-Identifier: BSD-3-Clause
// The transports that this build has; core/transport/list.cpp is the only place that names them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "config/types.h"
#include "core/transport/api/descriptor.h"

namespace torusmp::transport {

// All of them, highest rank first.
std::span<const Descriptor* const> transports();
// Null if this build has no transport of that name.
const Descriptor* find_transport(std::string_view name);
// Their names and any_transport: the values that transport.use may have.
std::vector<std::string> transport_names();
// "auto, tcp or verbs": the values that may be used where only transports that satisfy `fit` can
// be.
std::string those_that(bool (*fit)(const Descriptor&));

// Names no transport: each link takes the best that it can use.
inline constexpr const char* any_transport = "auto";

namespace setting {

inline const config::Setting<std::string> use{
    "transport.use", config::one_of(transport_names), any_transport,
    "Transport of messages. auto: shared memory between ranks of a host, and the best transport of "
    "each link between hosts."};

}  // namespace setting

// The settings of all transports, and of transports that this build leaves out, with instructions
// how to get them.
std::vector<config::Table> transport_settings();
std::vector<config::AbsentTable> absent_transport_settings();

// The transport that the settings request; null if they leave it open.
const Descriptor* wanted_transport(const config::Settings& settings);
// The best transport inside a host, and the one that can carry every link between hosts: the lowest
// rank of those that need no devices.
const Descriptor& host_transport();
const Descriptor& fallback_transport();
// The fallback among a list, highest rank first.
const Descriptor& fallback_among(std::span<const Descriptor* const> list);
// The forwarding of the transport whose far connections need more than the kernels' routes.
const Forwarding& forwarding();
// The transport between ranks of one host, which needs no devices.
const Descriptor& transport_inside_host(const config::Settings& settings);

}  // namespace torusmp::transport
