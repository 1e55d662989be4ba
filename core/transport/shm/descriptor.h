// SPDX-License-Identifier: BSD-3-Clause
// The descriptor of shared memory between the processes of a host.
#pragma once

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::shm {

extern const Descriptor descriptor;

}  // namespace torusmp::transport::shm
