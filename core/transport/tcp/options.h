// SPDX-License-Identifier: BSD-3-Clause
// The options of a TcpInterface.
#pragma once

#include <cstddef>

#include "core/transport/common/network.h"
#include "core/transport/tcp/companion.h"
#include "core/transport/tcp/settings.h"

namespace torusmp::transport::tcp {

// Ports without a device take any route.
struct InterfaceOptions : NetworkOptions {
    Companion* companion = nullptr;  // sends packets of its connections by another path as well
    std::size_t socket_buffer = setting::socket_buffer.initial();  // bytes, each way
};

}  // namespace torusmp::transport::tcp
