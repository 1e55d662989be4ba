// Shared memory between the processes of a host, as the list of transports knows it.
#pragma once

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::shm {

extern const Descriptor descriptor;

}  // namespace torusmp::transport::shm
