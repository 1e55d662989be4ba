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

// All of them by rank, the highest first.
std::span<const Descriptor* const> transports();
// Null: this build has no transport of that name.
const Descriptor* find_transport(std::string_view name);
// Their names and any_transport: the values that transport.use may have.
std::vector<std::string> transport_names();
// "auto, tcp or verbs": those of these values that may be asked for where only such transports fit.
std::string those_that(bool (*fit)(const Descriptor&));

// Stands for none of them: each link takes the best that it can.
inline constexpr const char* any_transport = "auto";

namespace setting {

inline const config::Setting<std::string> use{
    "transport.use", config::one_of(transport_names), any_transport,
    "What carries messages. auto: shared memory between ranks of a host, and the best that the "
    "links offer between hosts."};

}  // namespace setting

// The settings of all transports, and those of transports that this build leaves out, with how to
// get them.
std::vector<config::Table> transport_settings();
std::vector<config::AbsentTable> absent_transport_settings();

// The one that the settings ask for; null: they leave it open.
const Descriptor* wanted_transport(const config::Settings& settings);
// The best inside a host, and the best between hosts that needs no devices.
const Descriptor& host_transport();
const Descriptor& fallback_transport();
// Of the transport whose far connections take more than the kernels' routes.
const Forwarding& forwarding();
// The transport between ranks of one host, for which there are no devices.
const Descriptor& transport_inside_host(const config::Settings& settings);

}  // namespace torusmp::transport
