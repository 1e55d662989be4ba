// SPDX-License-Identifier: BSD-3-Clause
// Settings of TCP.
#pragma once

#include "config/setting.h"
#include "config/types.h"

namespace torusmp::transport::tcp::setting {

using namespace config::literals;

inline const config::Setting<std::size_t> socket_buffer{
    "transport.socket_buffer", config::size_between(4_KiB, 1_GiB), 4_MiB,
    "Size of the kernel's send and receive buffers of each TCP connection."};

inline const config::Table table{&socket_buffer};

}  // namespace torusmp::transport::tcp::setting
