// TCP connections over the links, and wherever routes lead, as the list of transports knows it.
#pragma once

#include "core/transport/api/descriptor.h"

namespace torusmp::transport::tcp {

extern const Descriptor descriptor;

}  // namespace torusmp::transport::tcp
