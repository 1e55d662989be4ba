// The transports that this build has. The one list: core/transport/list.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.h"
#include "config/types.h"
#include "core/transport/api/descriptor.h"

namespace torusmp::transport {

// By rank, the highest first.
std::span<const Descriptor* const> transports();
// Null: there is none of that name here.
const Descriptor* find_transport(std::string_view name);
// Their names, and what stands for none of them: what transport.use may be.
std::vector<std::string> transport_names();

// Stands for none of them: the best that a link has.
inline constexpr const char* any_transport = "auto";

namespace setting {

inline const config::Setting<std::string> use{
    "transport.use", config::one_of(transport_names), any_transport,
    "What carries messages. auto: shared memory between ranks of a host, and the best that the "
    "links offer between hosts."};

}  // namespace setting

// The settings of all transports, and of those that the build leaves out with how to have them.
std::vector<config::Table> transport_settings();
std::vector<config::AbsentTable> absent_transport_settings();

// The one that the settings ask for; null: whatever fits.
const Descriptor* wanted_transport(const config::Settings& settings);
// The best inside a host, and the best between hosts of those that need no devices.
const Descriptor& host_transport();
const Descriptor& fallback_transport();
// What joins ranks of one host that have no device between them.
const Descriptor& transport_inside_host(const config::Settings& settings);

}  // namespace torusmp::transport
