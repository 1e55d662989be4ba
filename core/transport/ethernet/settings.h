// SPDX-License-Identifier: BSD-3-Clause
// Settings of Ethernet frames.
#pragma once

#include "config/setting.h"
#include "config/types.h"

namespace torusmp::transport::ethernet::setting {

using namespace config::literals;

inline const config::Setting<std::size_t> frame{
    "ethernet.frame", config::size_between(256, 1500), 1500,
    "The longest frame, without its Ethernet header, if the MTU of the link allows as much. Longer "
    "packets and remote writes go over TCP."};

inline const config::Table table{&frame};

}  // namespace torusmp::transport::ethernet::setting
