// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel at the other end of a cable for an answer, whatever processes do there: it
// refuses a TCP call to a port at which nobody listens. For transports whose own packets processes
// have to answer.
//
// Owned by a channel and used under the Runtime's lock.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "core/transport/common/address.h"

namespace torusmp::transport {

class Knock {
  public:
    // Whether the last call was answered. Calls again.
    bool answered(const Pair& pair, const std::string& device);

  private:
    base::Descriptor socket_;
};

}  // namespace torusmp::transport
