// SPDX-License-Identifier: BSD-3-Clause
// The descriptor of Ethernet frames; see core/transport/api/descriptor.h.
#pragma once

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::ethernet {

extern const Descriptor descriptor;

}  // namespace torusmp::transport::ethernet
