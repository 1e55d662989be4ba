// SPDX-License-Identifier: BSD-3-Clause
// The descriptor of TCP, over the links and wherever routes lead.
#pragma once

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::tcp {

extern const Descriptor descriptor;

}  // namespace torusmp::transport::tcp
