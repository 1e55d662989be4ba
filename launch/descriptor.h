// The owner of a file descriptor, under the name that the launcher's code uses.
#pragma once

#include "config/descriptor.h"

namespace torusmp::launch {

using config::Descriptor;

}  // namespace torusmp::launch
