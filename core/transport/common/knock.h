// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel at the other end of a cable for an answer, regardless of its processes: the
// kernel refuses a TCP call to a port without a listener. For transports whose own packets are
// answered by processes.
//
// Owned by a channel and used under the Runtime's lock.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "core/transport/common/address.h"

namespace torusmp::transport {

class Knock {
  public:
    // Whether the last call was answered. Starts another call.
    bool answered(const Pair& pair, const std::string& device);

  private:
    base::Descriptor socket_;
};

}  // namespace torusmp::transport
